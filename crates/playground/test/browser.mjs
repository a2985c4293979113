// Chromium, spoken to through two pipes (`--remote-debugging-pipe`) in messages of the DevTools protocol.

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const PATIENCE_MS = 60_000;

// What Debian and others call it.
export const chromium = ["chromium", "chromium-browser", "google-chrome"]
  .find((name) => spawnSync(name, ["--version"]).status === 0);

export async function openBrowser() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "playground-"));
  const flags = ["--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--disable-extensions", "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader", `--user-data-dir=${profile}`, "about:blank"];
  const process = spawn(chromium, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const waiting = new Map();
  const events = [];
  let [session, sent, text] = [undefined, 0, ""];
  process.stdio[4].on("data", (data) => {
    text += data;
    const messages = text.split("\0");
    text = messages.pop();
    for (const { id, result, error, method, params } of messages.map((message) => JSON.parse(message))) {
      if (method) events.push({ method, params });
      else if (error) waiting.get(id).reject(new Error(error.message));
      else waiting.get(id).resolve(result);
    }
  });
  const call = (method, params = {}) => new Promise((resolve, reject) => {
    sent += 1;
    waiting.set(sent, { resolve, reject });
    process.stdio[3].write(`${JSON.stringify({ id: sent, method, params, sessionId: session })}\0`);
  });
  const { targetInfos } = await call("Target.getTargets");
  const page = targetInfos.find(({ type }) => type === "page");
  session = (await call("Target.attachToTarget", { targetId: page.targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await call(`${domain}.enable`);

  // The value of an expression in the page.
  const value = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
    return result.value;
  };
  const until = async (expression, patience = PATIENCE_MS) => {
    const start = Date.now();
    while (!(await value(expression))) {
      if (Date.now() - start > patience) throw new Error(`${expression} is not so: ${await value("document.body.innerText")}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return {
    call,
    value,
    until,
    events: (method) => events.filter((event) => event.method === method).map(({ params }) => params),
    async close() {
      session = undefined;
      const ended = new Promise((resolve) => { process.on("exit", resolve); });
      await call("Browser.close");
      await ended;
      fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
