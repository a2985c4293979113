/** What the status item says of the server and of the file in front. */

export type ServerState = "starting" | "running" | "stopped" | "missing";

export interface Status {
  readonly text: string;
  readonly detail: string;
  readonly isWarning: boolean;
  readonly isBusy: boolean;
}

/** `reasons` is why the file in front was not understood in full, if that is so. */
export function status(server: ServerState, isWorking: boolean, reasons: string | undefined): Status {
  if (server !== "running") {
    const detail = { starting: "starting", stopped: "stopped", missing: "no program" }[server];
    return { text: "shaderlint", detail, isWarning: server !== "starting", isBusy: server === "starting" };
  }
  const detail = reasons ?? (isWorking ? "checking" : "running");
  return { text: "shaderlint", detail, isWarning: reasons !== undefined, isBusy: isWorking };
}

/** The parts of an editor's diagnostic that count here. */
export interface Shown {
  readonly source?: string | undefined;
  readonly code?: unknown;
  readonly severity: number;
  readonly message: string;
}

/** Why a file was not understood in full: the server's hint on its first line. */
export function reasonsIn(diagnostics: readonly Shown[], hint: number): string | undefined {
  return diagnostics.find(
    ({ source, code, severity }) => source === "shaderlint" && code === "not-understood" && severity === hint,
  )?.message;
}
