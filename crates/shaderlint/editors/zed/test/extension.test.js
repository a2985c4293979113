// The extension as Zed gets it, with stand-ins for what Zed gives it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { transpile, writeFiles } from "@bytecodealliance/jco-transpile";
import { WASIShim } from "@bytecodealliance/preview2-shim/instantiation";

// Node runs no components; as JavaScript around the WebAssembly inside, it runs them.
const built = fileURLToPath(new URL("../target/wasm32-wasip2/release/zed_shaderlint.wasm", import.meta.url));
const { files } = await transpile(built, { name: "extension", instantiation: "async" });
await writeFiles(files, { baseDir: fileURLToPath(new URL("../out", import.meta.url)) });
const { instantiate } = await import("../out/extension.js");

/** What the worktree has on its `PATH` and in its environment. */
class Worktree {
  constructor(programs, environment) {
    this.programs = programs;
    this.environment = environment;
  }
  id() {
    return 7n;
  }
  which(name) {
    return this.programs[name];
  }
  shellEnv() {
    return this.environment;
  }
}

/** The extension in a Zed whose settings say this of `lsp.shaderlint`; Zed fills up with nulls. */
async function started(settings = {}) {
  const nothing = { binary: null, initialization_options: null, settings: null };
  const imports = {
    ...new WASIShim().getImportObject(),
    "get-settings": {
      default(location, category, key) {
        assert.deepEqual([location.worktreeId, category, key], [7n, "lsp", "shaderlint"]);
        return JSON.stringify({ ...nothing, ...settings });
      },
    },
    "key-value-store": { default: class {} },
    project: { default: class {} },
    worktree: { default: Worktree },
  };
  const extension = await instantiate((name) => WebAssembly.compile(files[name]), imports);
  extension.initExtension();
  return extension;
}

const environment = [["HOME", "/home/me"]];
const found = new Worktree({ shaderlint: "/usr/bin/shaderlint" }, environment);
const nowhere = new Worktree({}, environment);
const binary = { path: null, arguments: null, env: null };

test("the program on the PATH is started", async () => {
  const command = (await started()).languageServerCommand("shaderlint", found);
  assert.deepEqual(command, { command: "/usr/bin/shaderlint", args: ["server"], env: environment });
});

test("the settings have the last word", async () => {
  const named = { path: "/opt/shaderlint", arguments: ["--color", "never", "server"], env: { NAME: "value" } };
  const command = (await started({ binary: named })).languageServerCommand("shaderlint", nowhere);
  assert.deepEqual(command, {
    command: "/opt/shaderlint",
    args: named.arguments,
    env: [...environment, ["NAME", "value"]],
  });
  const more = { ...binary, arguments: ["server"] };
  const other = (await started({ binary: more })).languageServerCommand("shaderlint", found);
  assert.equal(other.command, "/usr/bin/shaderlint");
});

test("what is missing is said", async () => {
  const extension = await started({ binary });
  assert.throws(
    () => extension.languageServerCommand("shaderlint", nowhere),
    (error) => error ===
      "no `shaderlint` on the PATH: install it, or name it in the settings as `lsp.shaderlint.binary.path`",
  );
});

test("settings and options reach the server", async () => {
  const said = { initialization_options: { unsafeFixes: true }, settings: { profile: "cs_6_6" } };
  const extension = await started(said);
  const options = extension.languageServerInitializationOptions("shaderlint", found);
  assert.deepEqual(JSON.parse(options), { unsafeFixes: true });
  // Under the name that the server asks for.
  const settings = extension.languageServerWorkspaceConfiguration("shaderlint", found);
  assert.deepEqual(JSON.parse(settings), { shaderlint: { profile: "cs_6_6" } });
  const silent = await started();
  assert.equal(silent.languageServerInitializationOptions("shaderlint", found), undefined);
  assert.equal(silent.languageServerWorkspaceConfiguration("shaderlint", found), undefined);
});

test("the command starts a server", { skip: !process.env.SHADERLINT && "SHADERLINT names no program" }, async () => {
  const worktree = new Worktree({ shaderlint: process.env.SHADERLINT }, Object.entries(process.env));
  const { command, args, env } = (await started()).languageServerCommand("shaderlint", worktree);
  const messages = [
    { id: 1, method: "initialize", params: { capabilities: {} } },
    { method: "initialized", params: {} },
    { id: 2, method: "shutdown" },
    { method: "exit" },
  ];
  const input = messages.map((message) => {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    return `Content-Length: ${text.length}\r\n\r\n${text}`;
  });
  const server = spawnSync(command, args, { env: Object.fromEntries(env), input: input.join(""), encoding: "utf8" });
  assert.equal(server.status, 0, server.stderr);
  assert.match(server.stdout, /"serverInfo":\{"name":"shaderlint"/);
});
