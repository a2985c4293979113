/** The extension itself, in an editor that only notes what it is told: there is no program to start. */

import assert from "node:assert/strict";
import Module from "node:module";
import { test } from "node:test";

/** What the library takes from the editor while it loads: classes to extend, enumerations, and whatever else. */
const anything: object = new Proxy(class {}, {
  get: (target, key) => (key === "prototype" ? target.prototype : anything),
});

const told: string[] = [];
const commands = new Map<string, () => unknown>();
let answer: string | undefined;
const item: { detail?: string } = {};

const editor: Record<string, unknown> = {
  window: {
    createOutputChannel: () => ({
      info: () => undefined,
      error: () => undefined,
      show: () => told.push("output is shown"),
    }),
    onDidChangeActiveTextEditor: () => undefined,
    showErrorMessage: async (message: string, ...buttons: string[]) => {
      told.push(message.replace(/\. Install.*/, ""), ...buttons);
      return answer;
    },
  },
  languages: { createLanguageStatusItem: () => item, onDidChangeDiagnostics: () => undefined },
  workspace: {
    getConfiguration: () => ({ get: (name: string, other: unknown) => (name === "path" ? "/there/is/none" : other) }),
    onDidChangeConfiguration: () => undefined,
    onDidGrantWorkspaceTrust: () => undefined,
  },
  commands: {
    registerCommand: (name: string, run: () => unknown) => commands.set(name, run),
    executeCommand: async (...words: string[]) => told.push(words.join(" ")),
  },
  env: { openExternal: async (address: unknown) => told.push(String(address)) },
  Uri: { parse: (address: string) => address },
  DiagnosticSeverity: { Hint: 3 },
  LanguageStatusSeverity: { Information: 0, Warning: 1 },
};

interface Loader {
  _load: (request: string, ...rest: unknown[]) => unknown;
}

test("who has no program is told so, and what to do", async () => {
  const loader = Module as unknown as Loader;
  const load = loader._load;
  loader._load = (request, ...rest) =>
    request === "vscode"
      ? new Proxy(editor, { get: (target, key) => target[String(key)] ?? anything })
      : load(request, ...rest);
  const extension = await import("../src/extension");
  const context = { subscriptions: [] } as unknown as Parameters<typeof extension.activate>[0];
  const complaint = ['shaderlint: there is no program "/there/is/none"', "Open Settings", "How to Get It"];

  await extension.activate(context);
  assert.deepEqual(told.splice(0), complaint);
  assert.deepEqual([...commands.keys()], ["shaderlint.restart", "shaderlint.showOutput"]);
  assert.equal(context.subscriptions.length, 6);
  assert.equal(item.detail, "no program");

  answer = "Open Settings";
  await commands.get("shaderlint.restart")?.();
  await new Promise(setImmediate);
  assert.deepEqual(told.splice(0), [...complaint, "workbench.action.openSettings shaderlint.path"]);

  answer = "How to Get It";
  await commands.get("shaderlint.restart")?.();
  await new Promise(setImmediate);
  assert.deepEqual(told.splice(0), [
    ...complaint,
    "https://github.com/shaderlint/shaderlint/blob/main/docs/start.md",
  ]);

  commands.get("shaderlint.showOutput")?.();
  assert.deepEqual(told.splice(0), ["output is shown"]);
  await extension.deactivate();
  loader._load = load;
});
