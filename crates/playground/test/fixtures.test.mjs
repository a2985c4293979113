// The module says of every fixture what the command line says. `SHADERLINT` names the program.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const program = process.env.SHADERLINT || path.join(root, "target/debug/shaderlint");
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(path.join(root, "docs/playground/shaderlint.wasm"))), {});

function ask(question) {
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const at = exports.question(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = exports.answer();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.answered(), length)));
}

const fixtures = path.join(root, "fixtures/rules");
const files = fs.readdirSync(fixtures, { recursive: true }).filter((name) => name.endsWith(".hlsl")).sort();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "fixtures-"));
// Each in a folder of its own, under the name that the playground gives it.
const kernel = (index) => path.join(folder, String(index), "kernel.hlsl");
for (const [index, file] of files.entries()) {
  fs.mkdirSync(path.join(folder, String(index)));
  fs.copyFileSync(path.join(fixtures, file), kernel(index));
}
const text = (index) => fs.readFileSync(path.join(fixtures, files[index]), "utf8");
const run = (...args) => spawnSync(program, ["--isolated", "--no-cache", ...args, folder], { encoding: "utf8", maxBuffer: 1 << 28 });

test("findings, messages and fixes are those of the command line", () => {
  const all = JSON.parse(run("--output-format", "json").stdout);
  let findings = 0;
  for (const [index, file] of files.entries()) {
    const of = (list) => list.filter((one) => one.path === kernel(index)).map((one) => ({ ...one, path: "kernel.hlsl" }));
    const { json } = ask({ text: text(index), ask: "check" }).check;
    assert.deepEqual(json.findings, of(all.findings), file);
    assert.deepEqual(json.problems, of(all.problems), file);
    findings += json.findings.length;
  }
  assert.ok(findings > 100, `${findings} findings in ${files.length} files`);
});

test("fixed files are those of the command line", () => {
  run("--fix-only", "--unsafe-fixes");
  let changed = 0;
  for (const [index, file] of files.entries()) {
    const fixed = ask({ text: text(index), ask: { fix: { unsafe: true } } }).fix.text;
    assert.equal(fixed, fs.readFileSync(kernel(index), "utf8"), file);
    changed += fixed !== text(index);
  }
  assert.ok(changed > 30, `${changed} changed`);
  fs.rmSync(folder, { recursive: true });
});

test("settings hold, and what is wrong in them has a place", () => {
  const question = { text: text(files.indexOf("hillis-steele-scan/bad.hlsl")), ask: "check" };
  const off = ask({ ...question, settings: "[levels]\nhillis-steele-scan = \"off\"\n" });
  assert.deepEqual(off.check.json.findings, []);
  const { message, place } = ask({ ...question, settings: "[levels]\nhillis = \"off\"\n" }).error;
  assert.match(message, /hillis/);
  assert.deepEqual(place, [9, 15]);
});

test("what is verified is proved, and has both kernels in WGSL", () => {
  const { kernels } = ask({ text: text(files.indexOf("blelloch-scan/bad.hlsl")), ask: "verify" }).verify;
  assert.equal(kernels.length, 1);
  assert.equal(kernels[0].verdict.kind, "proved");
  assert.match(kernels[0].suggested.wgsl, /subgroup/);
  assert.ok(kernels[0].browser.cases.length > 0);
});

test("nothing in the module asks for anything outside of it", () => {
  const module = new WebAssembly.Module(fs.readFileSync(path.join(root, "docs/playground/shaderlint.wasm")));
  assert.deepEqual(WebAssembly.Module.imports(module), []);
});
