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
} from "vscode-languageclient/node";

import { command, type Configuration, missing, SELECTOR, serverSettings } from "./server";

const HOW_TO_GET_IT = "https://github.com/shaderlint/shaderlint/blob/main/docs/start.md";

let client: LanguageClient | undefined;
/** Starts and stops come one after the other. */
let turn: Promise<void> = Promise.resolve();

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("shaderlint");
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    turn = turn.then(work, work);
    return turn;
  };
  const restart = (): Promise<void> =>
    inTurn(async () => {
      await stop();
      await start(output);
    });
  context.subscriptions.push(
    output,
    vscode.commands.registerCommand("shaderlint.restart", restart),
    vscode.commands.registerCommand("shaderlint.showOutput", () => output.show()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      // The server asks for all the others by itself.
      if (event.affectsConfiguration("shaderlint.path") || event.affectsConfiguration("shaderlint.args")) {
        void restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  await inTurn(() => start(output));
}

export async function deactivate(): Promise<void> {
  turn = turn.then(stop, stop);
  await turn;
}

async function start(output: vscode.OutputChannel): Promise<void> {
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
    void complain(missing(configuration), output);
    return;
  }
  output.appendLine(`starting ${[executable.command, ...executable.args].join(" ")}`);
  client = new LanguageClient("shaderlint", "shaderlint", executable, {
    documentSelector: SELECTOR,
    outputChannel: output,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: serverSettings(settings),
    synchronize: { configurationSection: "shaderlint" },
    middleware: {
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
  try {
    await client.start();
  } catch (error) {
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

async function complain(message: string, output: vscode.OutputChannel): Promise<void> {
  output.appendLine(message);
  const answer = await vscode.window.showErrorMessage(message, "Open Settings", "How to Get It");
  if (answer === "Open Settings") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "shaderlint.path");
  } else if (answer === "How to Get It") {
    await vscode.env.openExternal(vscode.Uri.parse(HOW_TO_GET_IT));
  }
}
