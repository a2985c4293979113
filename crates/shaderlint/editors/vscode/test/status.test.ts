import assert from "node:assert/strict";
import { test } from "node:test";

import { reasonIn, status } from "../src/status";

test("the item says what the server does, and what it did not understand", () => {
  const told = (...[server, isWorking, reason]: Parameters<typeof status>): string => {
    const { detail, isWarning, isBusy } = status(server, isWorking, reason);
    return `${detail}${isWarning ? " !" : ""}${isBusy ? " …" : ""}`;
  };
  assert.equal(told("starting", false, undefined), "starting …");
  assert.equal(told("running", false, undefined), "running");
  assert.equal(told("running", true, undefined), "checking …");
  assert.equal(told("running", true, "not understood"), "not understood ! …");
  assert.equal(told("stopped", false, "not understood"), "stopped !");
  assert.equal(told("missing", true, undefined), "no program !");
});

test("the reason is the first of the server's hint", () => {
  const message = "not understood in full: findings may be missing\na.hlsl:1: cannot find `b.h`\na.hlsl:3: more";
  const hint = { source: "shaderlint", code: "not-understood", severity: 3, message };
  assert.equal(
    reasonIn([{ ...hint, severity: 2 }, { ...hint, code: "configuration" }, hint], 3),
    "not understood in full: a.hlsl:1: cannot find `b.h`",
  );
  assert.equal(reasonIn([{ ...hint, message: "not understood in full: why" }], 3), "not understood in full");
  assert.equal(reasonIn([{ ...hint, source: "dxc" }], 3), undefined);
});
