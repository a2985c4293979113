import assert from "node:assert/strict";
import { test } from "node:test";

import { reasonsIn, status } from "../src/status";

test("the item says what the server does, and what it did not understand", () => {
  const told = (...[server, isWorking, reasons]: Parameters<typeof status>): string => {
    const { detail, isWarning, isBusy } = status(server, isWorking, reasons);
    return `${detail}${isWarning ? " !" : ""}${isBusy ? " …" : ""}`;
  };
  assert.equal(told("starting", false, undefined), "starting …");
  assert.equal(told("running", false, undefined), "running");
  assert.equal(told("running", true, undefined), "checking …");
  assert.equal(told("running", true, "not understood"), "not understood ! …");
  assert.equal(told("stopped", false, "not understood"), "stopped !");
  assert.equal(told("missing", true, undefined), "no program !");
});

test("the reasons are those of the server's hint", () => {
  const hint = { source: "shaderlint", code: "not-understood", severity: 3, message: "not understood in full" };
  assert.equal(reasonsIn([{ ...hint, severity: 2 }, { ...hint, code: "configuration" }, hint], 3), hint.message);
  assert.equal(reasonsIn([{ ...hint, source: "dxc" }], 3), undefined);
});
