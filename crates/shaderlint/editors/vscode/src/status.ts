/** What the status item says of the server and of the file in front. */

export type ServerState = "starting" | "running" | "stopped" | "missing";

export interface Status {
  readonly text: string;
  readonly detail: string;
  readonly isWarning: boolean;
  readonly isBusy: boolean;
}

/** `reason` is why the file in front was not understood in full, if that is so. */
export function status(server: ServerState, isWorking: boolean, reason: string | undefined): Status {
  if (server !== "running") {
    const detail = { starting: "starting", stopped: "stopped", missing: "no program" }[server];
    return { text: "shaderlint", detail, isWarning: server !== "starting", isBusy: server === "starting" };
  }
  const detail = reason ?? (isWorking ? "checking" : "running");
  return { text: "shaderlint", detail, isWarning: reason !== undefined, isBusy: isWorking };
}

/** The parts of an editor's diagnostic that count here. */
export interface Shown {
  readonly source?: string | undefined;
  readonly code?: unknown;
  readonly severity: number;
  readonly message: string;
}

/** Why a file was not understood in full, in a line: the first reason in the server's hint on its first line. */
export function reasonIn(diagnostics: readonly Shown[], hint: number): string | undefined {
  const isHint = ({ source, code, severity }: Shown): boolean =>
    source === "shaderlint" && code === "not-understood" && severity === hint;
  const [title, first] = diagnostics.find(isHint)?.message.split("\n") ?? [];
  const what = title?.replace(/:.*/, "");
  return first === undefined ? what : `${what}: ${first}`;
}
