import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { test } from "node:test";

import { command, type Machine, missing, serverSettings } from "../src/server";

function machine(platform: NodeJS.Platform, search: string, ...files: string[]): Machine {
  return {
    platform,
    environment: { PATH: search },
    home: platform === "win32" ? "C:\\Users\\ann" : "/home/ann",
    isFile: (file) => files.includes(file),
  };
}

test("a name is looked for on the path, in its order", () => {
  const unix = machine("linux", "/usr/bin:/opt/bin:", "/opt/bin/shaderlint", "/usr/bin/wsl");
  assert.deepEqual(command({ path: "shaderlint", args: [] }, "/project", unix), {
    command: "/opt/bin/shaderlint",
    args: ["server"],
    options: { shell: false },
  });
  assert.deepEqual(command({ path: " wsl ", args: ["shaderlint"] }, undefined, unix), {
    command: "/usr/bin/wsl",
    args: ["shaderlint", "server"],
    options: { shell: false },
  });
  const both = machine("linux", "/b:/a", "/a/shaderlint", "/b/shaderlint");
  assert.equal(command({ path: "", args: [] }, undefined, both)?.command, "/b/shaderlint");
});

test("nothing is started from the folder that is open, unless that is asked for", () => {
  const planted = machine("linux", ".::bin:/usr/bin", "/project/shaderlint", "shaderlint", "bin/shaderlint");
  assert.equal(command({ path: "shaderlint", args: [] }, "/project", planted), undefined);
  assert.equal(command({ path: "./shaderlint", args: [] }, "/project", planted)?.command, "/project/shaderlint");
});

test("paths are those in the folder, and may begin with names for it", () => {
  const unix = machine("linux", "", "/project/bin/shaderlint", "/home/ann/.cargo/bin/shaderlint");
  const found = (path: string): string | undefined => command({ path, args: [] }, "/project", unix)?.command;
  assert.equal(found("bin/shaderlint"), "/project/bin/shaderlint");
  assert.equal(found("/project/bin/shaderlint"), "/project/bin/shaderlint");
  assert.equal(found("${workspaceFolder}/bin/shaderlint"), "/project/bin/shaderlint");
  assert.equal(found("~/.cargo/bin/shaderlint"), "/home/ann/.cargo/bin/shaderlint");
  assert.equal(found("~ann/shaderlint"), undefined);
});

test("on Windows programs have an ending", () => {
  const windows = machine("win32", "C:\\Windows;D:\\tools", "D:\\tools\\shaderlint.exe", "C:\\Users\\ann\\s.exe");
  const found = (path: string): string | undefined => command({ path, args: [] }, "E:\\project", windows)?.command;
  assert.equal(found("shaderlint"), "D:\\tools\\shaderlint.exe");
  assert.equal(found("shaderlint.exe"), "D:\\tools\\shaderlint.exe");
  assert.equal(found("~\\s.exe"), "C:\\Users\\ann\\s.exe");
});

test("on Windows a script is started by the shell", () => {
  const script = "C:\\Program Files\\tools\\shaderlint.cmd";
  const windows = machine("win32", "C:\\Program Files\\tools;D:\\tools", script, "D:\\tools\\shaderlint.exe");
  assert.deepEqual(command({ path: "shaderlint", args: ["--config", 'a "b" c'] }, undefined, windows), {
    command: `"${script}"`,
    args: ["--config", '"a ""b"" c"', "server"],
    options: { shell: true },
  });
  // What package managers put beside it is for other shells.
  const npm = machine("win32", "D:\\npm", "D:\\npm\\shaderlint", "D:\\npm\\shaderlint.cmd");
  assert.equal(command({ path: "shaderlint", args: [] }, undefined, npm)?.command, "D:\\npm\\shaderlint.cmd");
});

test("a program that is missing is named, with what to do", () => {
  const configuration = { path: "/there/is/none", args: [] };
  assert.equal(command(configuration, undefined, machine("linux", "/usr/bin")), undefined);
  assert.match(missing(configuration), /"\/there\/is\/none".*cargo install.*shaderlint\.path/);
});

test("what is empty or not the server's is not sent to it", () => {
  assert.deepEqual(
    serverSettings({
      path: "shaderlint",
      args: [],
      trace: { server: "off" },
      profile: " ",
      config: null,
      defines: ["A", "", 1],
      includeDirs: [],
      unsafeFixes: false,
    }),
    { defines: ["A"], includeDirs: [], unsafeFixes: false },
  );
  assert.deepEqual(serverSettings({ profile: "cs_6_6", config: "a.toml" }), { profile: "cs_6_6", config: "a.toml" });
  assert.deepEqual(serverSettings(null), {});
});

interface Manifest {
  icon: string;
  contributes: {
    configuration: { properties: Record<string, { scope: string }> };
    tomlValidation: { url: string }[];
    walkthroughs: { steps: { media: { markdown?: string; image?: string } }[] }[];
  };
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;

test("what the manifest names is there and packed", () => {
  const media = manifest.contributes.walkthroughs.flatMap(({ steps }) => steps.map((step) => step.media));
  const files = [manifest.icon, ...media.map(({ markdown, image }) => markdown ?? image ?? "")];
  const packed = readFileSync(".vscodeignore", "utf8").split("\n");
  for (const file of files) {
    assert.ok(statSync(file).isFile(), file);
    const pattern = `!${file.replace(/[^/]+(?=\.\w+$)/, "*")}`;
    assert.ok(packed.includes(pattern), `${file} is not packed`);
  }
  for (const { url } of manifest.contributes.tomlValidation) {
    const inRepository = url.replace("https://raw.githubusercontent.com/shaderlint/shaderlint/main/", "../../../../");
    assert.ok(statSync(inRepository).isFile(), url);
  }
});

test("what depends on the folder is a setting of the folder", () => {
  const { properties } = manifest.contributes.configuration;
  for (const name of ["profile", "hlslVersion", "defines", "includeDirs", "config", "unsafeFixes"]) {
    assert.equal(properties[`shaderlint.${name}`]?.scope, "resource", name);
  }
});

test("every setting of the server is one of the editor", () => {
  const properties = Object.keys(manifest.contributes.configuration.properties);
  const expected = ["path", "args", "trace.server", "profile", "hlslVersion", "defines", "includeDirs", "config", "unsafeFixes"];
  expected.push("workspaceDiagnostics");
  assert.deepEqual(
    properties,
    expected.map((name) => `shaderlint.${name}`),
  );
});
