/** shaderlint in Visual Studio Code: starts `shaderlint server` and speaks with it. */

import * as fs from "node:fs";
import * as os from "node:os";
import * as vscode from "vscode";
import {
  type ConfigurationParams,
  type CancellationToken,
  LanguageClient,
  type LSPAny,
  RevealOutputChannelOn,
  State,
} from "vscode-languageclient/node";

import { command, type Configuration, missing, SELECTOR, serverSettings } from "./server";
import { reasonIn, type ServerState, status } from "./status";

const HOW_TO_GET_IT = "https://github.com/shaderlint/shaderlint/blob/main/docs/start.md";

let client: LanguageClient | undefined;
/** Starts and stops come one after the other. */
let turn: Promise<void> = Promise.resolve();

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("shaderlint", { log: true });
  const item = new StatusItem();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    turn = turn.then(work, work);
    return turn;
  };
  const restart = (): Promise<void> =>
    inTurn(async () => {
      await stop();
      await start(output, item);
    });
  context.subscriptions.push(
    output,
    item,
    vscode.commands.registerCommand("shaderlint.restart", restart),
    vscode.commands.registerCommand("shaderlint.showOutput", () => output.show()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      // The server asks for all the others by itself.
      const atStart = ["path", "args", "workspaceDiagnostics"];
      if (atStart.some((name) => event.affectsConfiguration(`shaderlint.${name}`))) {
        void restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  await inTurn(() => start(output, item));
}

export async function deactivate(): Promise<void> {
  turn = turn.then(stop, stop);
  await turn;
}

/** The item that shows what the server does, beside the language of the file in front. */
class StatusItem implements vscode.Disposable {
  private readonly item = vscode.languages.createLanguageStatusItem("shaderlint", SELECTOR);
  private readonly listeners: vscode.Disposable[];
  private server: ServerState = "starting";
  private readonly works = new Set<unknown>();

  constructor() {
    this.item.name = "shaderlint";
    this.item.command = { title: "Show Output", command: "shaderlint.showOutput" };
    const show = (): void => this.show();
    this.listeners = [vscode.window.onDidChangeActiveTextEditor(show), vscode.languages.onDidChangeDiagnostics(show)];
    this.show();
  }

  set(server: ServerState): void {
    this.server = server;
    this.works.clear();
    this.show();
  }

  work(token: unknown, goesOn: boolean): void {
    if (goesOn) {
      this.works.add(token);
    } else {
      this.works.delete(token);
    }
    this.show();
  }

  private show(): void {
    const file = vscode.window.activeTextEditor?.document.uri;
    const diagnostics = file === undefined ? [] : vscode.languages.getDiagnostics(file);
    const codes = diagnostics.map((one) => ({ ...one, code: typeof one.code === "object" ? one.code.value : one.code }));
    const reason = reasonIn(codes, vscode.DiagnosticSeverity.Hint);
    const { text, detail, isWarning, isBusy } = status(this.server, this.works.size > 0, reason);
    this.item.text = text;
    this.item.detail = detail;
    this.item.busy = isBusy;
    this.item.severity = isWarning ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
  }

  dispose(): void {
    this.item.dispose();
    for (const listener of this.listeners) {
      listener.dispose();
    }
  }
}

async function start(output: vscode.LogOutputChannel, item: StatusItem): Promise<void> {
  const settings = vscode.workspace.getConfiguration("shaderlint");
  const configuration: Configuration = {
    path: settings.get("path", "shaderlint"),
    args: settings.get<string[]>("args", []),
  };
  const executable = command(configuration, vscode.workspace.workspaceFolders?.[0]?.uri.fsPath, {
    platform: process.platform,
    environment: process.env,
    home: os.homedir(),
    isFile,
  });
  if (executable === undefined) {
    item.set("missing");
    void complain(missing(configuration), output);
    return;
  }
  output.info(`starting ${[executable.command, ...executable.args].join(" ")}`);
  item.set("starting");
  client = new LanguageClient("shaderlint", "shaderlint", executable, {
    documentSelector: SELECTOR,
    outputChannel: output,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: serverSettings(settings),
    synchronize: { configurationSection: "shaderlint" },
    middleware: {
      handleWorkDoneProgress: (token, params, next) => {
        item.work(token, params.kind !== "end");
        next(token, params);
      },
      workspace: {
        configuration: async (
          params: ConfigurationParams,
          token: CancellationToken,
          next: (params: ConfigurationParams, token: CancellationToken) => unknown,
        ): Promise<LSPAny[]> => {
          const values = await next(params, token);
          return Array.isArray(values) ? values.map((value) => serverSettings(value) as LSPAny) : [];
        },
      },
    },
  });
  client.onDidChangeState(({ newState }) => {
    item.set(newState === State.Running ? "running" : newState === State.Starting ? "starting" : "stopped");
  });
  try {
    await client.start();
  } catch (error) {
    item.set("stopped");
    void complain(`shaderlint: the server did not start: ${String(error)}`, output);
  }
}

function isFile(file: string): boolean {
  try {
    return fs.statSync(file).isFile();
  } catch {
    // What may not be looked at cannot be started either.
    return false;
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  try {
    await running?.dispose();
  } catch {
    // It was gone already.
  }
}

async function complain(message: string, output: vscode.LogOutputChannel): Promise<void> {
  output.error(message);
  const answer = await vscode.window.showErrorMessage(message, "Open Settings", "How to Get It");
  if (answer === "Open Settings") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "shaderlint.path");
  } else if (answer === "How to Get It") {
    await vscode.env.openExternal(vscode.Uri.parse(HOW_TO_GET_IT));
  }
}
