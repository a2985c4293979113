/**
 * The server, spoken to as the extension does: its command, its settings, the library that Visual Studio Code speaks
 * the protocol with. `SHADERLINT` names the program; without one the test is skipped, and with
 * `SHADERLINT_REQUIRE_SERVER=1` it fails.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  CodeActionRequest,
  ConfigurationRequest,
  createProtocolConnection,
  DidChangeConfigurationNotification,
  DidOpenTextDocumentNotification,
  DocumentDiagnosticRequest,
  ExitNotification,
  type FullDocumentDiagnosticReport,
  HoverRequest,
  InitializedNotification,
  InitializeRequest,
  type ProtocolConnection,
  ShutdownRequest,
} from "vscode-languageserver-protocol/node";

import { command, serverSettings } from "../src/server";

const RACE = `groupshared uint g_Sum[64];
[numthreads(64, 1, 1)]
void main(uint gi : SV_GroupIndex)
{
    g_Sum[gi] = gi;
    g_Sum[gi] += g_Sum[(gi + OFFSET) % 64];
    GroupMemoryBarrierWithGroupSync();
}
`;

const executable = command({ path: process.env["SHADERLINT"] ?? "shaderlint", args: [] }, process.cwd(), {
  platform: process.platform,
  environment: process.env,
  home: homedir(),
  isFile: (file) => statSync(file, { throwIfNoEntry: false })?.isFile() ?? false,
});
const isRequired = process.env["SHADERLINT_REQUIRE_SERVER"] !== undefined;

function start(folder: string): { server: ChildProcess; connection: ProtocolConnection } {
  assert(executable !== undefined, "no shaderlint to test with");
  const server = spawn(executable.command, executable.args, {
    ...executable.options,
    cwd: folder,
    stdio: ["pipe", "pipe", "inherit"],
  });
  assert(server.stdin !== null && server.stdout !== null);
  const connection = createProtocolConnection(server.stdout, server.stdin);
  connection.listen();
  return { server, connection };
}

test("the server answers what the extension asks", { skip: executable === undefined && !isRequired }, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "shaderlint-"));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "shaderlint.toml"), "");
  const root = pathToFileURL(folder).href;
  const uri = `${root}/a.hlsl`;
  const { server, connection } = start(folder);
  context.after(() => server.kill());

  // As the editor has them where nothing is configured but a macro.
  let configured: Record<string, unknown> = {
    path: "shaderlint",
    args: [],
    trace: { server: "off" },
    profile: null,
    hlslVersion: null,
    config: null,
    defines: ["OFFSET=1"],
    includeDirs: [],
    unsafeFixes: false,
  };
  const isAsked = (): Promise<void> =>
    new Promise((resolve) => {
      connection.onRequest(ConfigurationRequest.type, (params) => {
        resolve();
        return params.items.map(() => serverSettings(configured));
      });
    });
  let asked = isAsked();
  const { capabilities, serverInfo } = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: root,
    workspaceFolders: [{ uri: root, name: "test" }],
    initializationOptions: serverSettings(configured),
    capabilities: {
      textDocument: { diagnostic: { dynamicRegistration: true } },
      workspace: { configuration: true, workspaceEdit: { documentChanges: true } },
    },
  });
  assert.equal(serverInfo?.name, "shaderlint");
  assert.ok(capabilities.diagnosticProvider && capabilities.codeActionProvider && capabilities.hoverProvider);
  await connection.sendNotification(InitializedNotification.type, {});
  await asked;

  await connection.sendNotification(DidOpenTextDocumentNotification.type, {
    textDocument: { uri, languageId: "hlsl", version: 1, text: RACE },
  });
  const diagnostics = async (): Promise<string[]> => {
    const report = await connection.sendRequest(DocumentDiagnosticRequest.type, { textDocument: { uri } });
    return (report as FullDocumentDiagnosticReport).items.map(
      ({ code, message, range }) => `${range.start.line}:${range.start.character} ${code}: ${message.split("\n")[0]}`,
    );
  };
  assert.deepEqual(await diagnostics(), ["5:17 groupshared-race: data race on g_Sum[1]"]);

  const position = { line: 5, character: 20 };
  const hover = await connection.sendRequest(HoverRequest.type, { textDocument: { uri }, position });
  assert.match(JSON.stringify(hover?.contents), /\*\*data race on g_Sum\[1\]\*\*/);
  const actions = await connection.sendRequest(CodeActionRequest.type, {
    textDocument: { uri },
    range: { start: position, end: position },
    context: { diagnostics: [] },
  });
  assert.deepEqual(
    actions?.map(({ title }) => title),
    [
      "put the missing barriers before this statement and between the reads and the write (unsafe)",
      "Allow groupshared-race here",
      "Allow groupshared-race in this file",
      "Turn off groupshared-race in shaderlint.toml",
    ],
  );

  // Every thread reads its own element.
  configured = { ...configured, defines: ["OFFSET=64"] };
  asked = isAsked();
  await connection.sendNotification(DidChangeConfigurationNotification.type, { settings: null });
  await asked;
  assert.deepEqual(await diagnostics(), []);

  await connection.sendRequest(ShutdownRequest.type);
  const gone = new Promise<number | null>((resolve) => server.on("exit", resolve));
  await connection.sendNotification(ExitNotification.type);
  assert.equal(await gone, 0);
  connection.dispose();
});
