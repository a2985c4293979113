/** What is started and what it is told: all of the extension that needs no editor. */

import * as path from "node:path";

/** What the editor is configured to do, under `shaderlint`. */
export interface Configuration {
  readonly path: string;
  readonly args: readonly string[];
}

/** What the server reads of the settings; see `docs/editors.md`. */
export interface ServerSettings {
  profile?: string;
  hlslVersion?: string;
  defines?: string[];
  includeDirs?: string[];
  config?: string;
  unsafeFixes?: boolean;
  workspaceDiagnostics?: boolean;
}

export interface Command {
  readonly command: string;
  readonly args: string[];
  /** A script is started by the shell. */
  readonly options: { readonly shell: boolean };
}

/** What differs between machines. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly isFile: (file: string) => boolean;
}

/**
 * What to start, or `undefined` where there is no such program. Whether there is one is looked at before it is
 * started: an editor says of a program that it cannot start little that helps.
 */
export function command(
  configuration: Configuration,
  folder: string | undefined,
  machine: Machine,
): Command | undefined {
  const program = find(expanded(configuration.path, folder, machine), folder, machine);
  if (program === undefined) {
    return undefined;
  }
  const args = [...configuration.args, "server"];
  if (machine.platform === "win32" && /\.(cmd|bat)$/i.test(program)) {
    return { command: quoted(program), args: args.map(quoted), options: { shell: true } };
  }
  return { command: program, args, options: { shell: false } };
}

/** A word as the shell of Windows takes it. */
function quoted(word: string): string {
  return /^[\w.:\\/-]+$/.test(word) ? word : `"${word.replaceAll('"', '""')}"`;
}

function expanded(text: string, folder: string | undefined, machine: Machine): string {
  const name = text.trim() === "" ? "shaderlint" : text.trim();
  const inFolder = name.replace("${workspaceFolder}", folder ?? "${workspaceFolder}");
  return inFolder.replace(/^~(?=[/\\]|$)/, () => machine.home);
}

function find(program: string, folder: string | undefined, machine: Machine): string | undefined {
  const paths = machine.platform === "win32" ? path.win32 : path.posix;
  // On Windows a program is found without its ending; package managers put scripts in the place of programs.
  const hasEnding = /\.(exe|cmd|bat)$/i.test(program);
  const endings = machine.platform === "win32" && !hasEnding ? [".exe", ".cmd", ".bat"] : [""];
  const isPath = program.includes("/") || (machine.platform === "win32" && program.includes("\\"));
  const searched = machine.environment["PATH"] ?? machine.environment["Path"] ?? "";
  const candidates = isPath
    ? [folder === undefined ? program : paths.resolve(folder, program)]
    : searched
        .split(paths.delimiter)
        .filter((entry) => paths.isAbsolute(entry))
        .map((entry) => paths.join(entry, program));
  return candidates.flatMap((file) => endings.map((ending) => file + ending)).find(machine.isFile);
}

/** What to say where there is no such program. */
export function missing(configuration: Configuration): string {
  return (
    `shaderlint: there is no program "${configuration.path}". Install it by ` +
    "`cargo install --path crates/shaderlint`, or say in the setting shaderlint.path where it is."
  );
}

/**
 * The part of the settings that is the server's. What is empty is left out, for the server would take an empty profile
 * for one.
 */
export function serverSettings(settings: unknown): ServerSettings {
  const all = typeof settings === "object" && settings !== null ? (settings as Record<string, unknown>) : {};
  const made: ServerSettings = {};
  for (const key of ["profile", "hlslVersion", "config"] as const) {
    const text = all[key];
    if (typeof text === "string" && text.trim() !== "") {
      made[key] = text.trim();
    }
  }
  for (const key of ["defines", "includeDirs"] as const) {
    const list = all[key];
    if (Array.isArray(list)) {
      made[key] = list.filter((item): item is string => typeof item === "string" && item !== "");
    }
  }
  for (const key of ["unsafeFixes", "workspaceDiagnostics"] as const) {
    const flag = all[key];
    if (typeof flag === "boolean") {
      made[key] = flag;
    }
  }
  return made;
}

/** The documents that the server checks. */
export const SELECTOR = ["file", "untitled", "vscode-vfs"].map((scheme) => ({ scheme, language: "hlsl" }));
