// The page in Chromium, from a server of files that knows nothing else.

import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium, openBrowser } from "./browser.mjs";

const folder = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../docs/playground");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };
if (!chromium && process.env.SHADERLINT_REQUIRE_BROWSER === "1") throw new Error("SHADERLINT_REQUIRE_BROWSER=1, and there is no Chromium");
const skip = chromium ? false : "no Chromium";

const server = http.createServer((request, response) => {
  const name = path.basename(new URL(request.url, "http://localhost").pathname) || "index.html";
  const type = types[path.extname(name)] || "text/plain";
  fs.readFile(path.join(folder, name), (error, data) => {
    response.writeHead(error ? 404 : 200, { "content-type": type });
    response.end(data);
  });
});

let browser;
let address;
before(async () => {
  if (skip) return;
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  address = `http://127.0.0.1:${server.address().port}/`;
  browser = await openBrowser();
});
after(async () => {
  if (skip) return;
  server.close();
  await browser.close();
});

const status = "(document.getElementById('status')?.textContent ?? '')";
const open = async (hash = "") => {
  await browser.call("Page.navigate", { url: "about:blank" });
  await browser.call("Page.navigate", { url: address + hash });
  await browser.until("document.readyState === 'complete' && document.getElementById('status') !== null");
};
// Types a text in place of what is there, as a key would.
const type = async (text, panel = "kernel") => {
  const content = `document.getElementById("${panel}").shadowRoot.querySelector(".cm-content")`;
  await browser.value(`document.getElementById("tab-${panel}").click(); ${content}.focus()`);
  await browser.call("Input.dispatchKeyEvent", { type: "keyDown", key: "a", code: "KeyA", windowsVirtualKeyCode: 65, modifiers: 2, commands: ["selectAll"] });
  await browser.call("Input.insertText", { text });
};

test("the first finding is there, and the fix mends it", { skip }, async () => {
  await open();
  await browser.until(`${status}.startsWith("1 finding in")`);
  assert.equal(await browser.value("document.querySelector('#findings h2').textContent"), "Hillis–Steele inclusive scan of 64 uints");
  await browser.value("document.querySelector('#findings .fix button').click()");
  await browser.until(`${status}.startsWith("0 findings")`);
  assert.equal(await browser.value("document.querySelector('#findings').innerText"), "Nothing was found.");
});

test("each example is found fault with", { skip }, async () => {
  await open();
  const names = await browser.value("[...document.querySelectorAll('#examples option')].map((option) => option.value)");
  assert.ok(names.length >= 12, names.join());
  for (const name of names) {
    await browser.value(`location.hash = "example=${name}"`);
    await browser.until(`[...document.querySelectorAll('#findings a')].some((a) => a.textContent === "${name}")`);
  }
});

test("a link holds the kernel and the settings", { skip }, async () => {
  await open("#example=groupshared-race");
  await browser.until(`${status}.includes("finding")`);
  await type("[levels]\ncorrectness = \"info\"\n", "settings");
  await browser.until("document.querySelector('#findings .chip')?.textContent === 'info'");
  await browser.value("document.getElementById('share').click()");
  await browser.until("location.hash.startsWith('#k=')");
  const hash = await browser.value("location.hash");
  await open(hash);
  await browser.until("document.querySelector('#findings .chip')?.textContent === 'info'");
  await open("#k=notalink");
  await browser.until(`${status}.startsWith("0 findings")`);
});

test("what is wrong in the settings is told with its line", { skip }, async () => {
  await open();
  await browser.until(`${status}.includes("finding")`);
  await type("[levels]\nhillis = \"off\"\n", "settings");
  await browser.until(`${status}.startsWith("shaderlint.toml, line 2: ")`);
});

test("both kernels are proved equal and run here", { skip }, async () => {
  await open();
  await browser.until(`${status}.includes("finding")`);
  await browser.value("document.getElementById('tab-fixed').click()");
  await browser.until("document.querySelector('#fixed .diff').shadowRoot?.textContent.includes('WavePrefixSum')");
  await browser.value("document.getElementById('tab-verified').click()");
  const inFrame = "document.querySelector('#verified iframe')?.contentDocument";
  await browser.until(`${inFrame}?.querySelector('.verdict strong')?.textContent === "Proved equal"`);
  await browser.value(`${inFrame}.querySelector('.run button').click()`);
  await browser.until(`/^(Done|This browser|It failed)/.test(${inFrame}.querySelector('.status').textContent)`);
  const said = await browser.value(`${inFrame}.querySelector('.run .status').textContent`);
  assert.equal(said, "Done: the last row is this device.");
  assert.equal(await browser.value(`${inFrame}.querySelector('.device.here .chip').textContent`), "alike");
});

test("no text keeps the page from answering", { skip }, async () => {
  const group = "[numthreads(64, 1, 1)] void Main(uint gi : SV_GroupIndex)";
  const hostile = [
    `RWStructuredBuffer<uint> Out; groupshared uint g[64]; ${group} { for (;;) { g[gi] += Out[gi]; GroupMemoryBarrierWithGroupSync(); } }`,
    `${Array.from({ length: 60 }, (_, at) => `#define M${at + 1} M${at} M${at}\n`).join("")}#define M0 x\n${group} { M60 GroupMemoryBarrierWithGroupSync(); }`,
    `${group} { uint a = ${"(".repeat(20_000)}1${")".repeat(20_000)}; GroupMemoryBarrierWithGroupSync(); }`,
  ];
  await open();
  await browser.until(`${status}.includes("finding")`);
  for (const text of hostile) {
    await type(text);
    const start = Date.now();
    await browser.value("1");
    assert.ok(Date.now() - start < 1000, "the page itself does not wait");
  }
  await type(`groupshared uint g[64]; ${group} { g[gi] = gi; }`);
  await browser.until(`${status}.startsWith("0 findings")`);
});

test("nothing is asked of any other place, and nothing goes wrong on the way", { skip }, () => {
  const asked = browser.events("Network.requestWillBeSent").map(({ request }) => request.url);
  const elsewhere = asked.filter((url) => !url.startsWith(address) && !/^(data|blob|about):/.test(url));
  assert.deepEqual(elsewhere, []);
  assert.ok(asked.some((url) => url.endsWith("shaderlint.wasm")));
  // When a key replaces a selection, Chromium inserts styles of its own. The editor reads only the text.
  const refused = browser.events("Log.entryAdded").map(({ entry }) => entry.text);
  const isRefused = (text) => /Content.Security.Policy/i.test(text) && !text.startsWith("Applying inline style");
  assert.deepEqual(refused.filter(isRefused), []);
  assert.deepEqual(browser.events("Runtime.exceptionThrown"), []);
});

// A build without optimising across crates is quicker and larger.
const isQuick = process.env.CARGO_PROFILE_PAGE_LTO === "off";

test("what is loaded is small", { skip: isQuick }, () => {
  const size = (name) => gzipSync(fs.readFileSync(path.join(folder, name)), { level: 9 }).length;
  const names = fs.readdirSync(folder);
  const all = names.reduce((sum, name) => sum + size(name), 0);
  const first = ["index.html", "style.css", "main.js", "worker.js"].reduce((sum, name) => sum + size(name), 0);
  assert.ok(all < 2_500_000, `${all} bytes`);
  assert.ok(first < 300_000, `${first} bytes`);
});
