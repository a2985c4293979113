// Builds the playground into a folder: `node build.mjs [FOLDER]`, else docs/playground, where mdBook takes it along.
// Needs Rust with the target wasm32-unknown-unknown, and a clang that compiles for it.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");
const out = path.resolve(process.argv[2] || path.join(root, "docs/playground"));
const target = "wasm32-unknown-unknown";
const cargo = (args, options) => execFileSync("cargo", args, { cwd: root, maxBuffer: 1 << 28, ...options });

// The grammar is C, and this target has no C library. tree-sitter has what it needs of one; two names are missing there.
const { packages, target_directory: folder } = JSON.parse(cargo(["metadata", "--format-version", "1", "--locked"]));
const language = packages.find(({ name }) => name === "tree-sitter-language");
const headers = path.join(path.dirname(language.manifest_path), "wasm/include");
const flags = `-I${headers} -include stddef.h -Dstatic_assert=_Static_assert`;
cargo(["build", "--package", "shaderlint-playground", "--profile", "page", "--target", target, "--quiet"], {
  stdio: "inherit",
  env: { ...process.env, CFLAGS_wasm32_unknown_unknown: flags },
});

fs.rmSync(out, { recursive: true, force: true });
fs.mkdirSync(out, { recursive: true });
const copy = (from, name) => fs.copyFileSync(path.join(root, from), path.join(out, name));
copy(path.relative(root, path.join(folder, target, "page/shaderlint_playground.wasm")), "shaderlint.wasm");
copy("crates/playground/page/index.html", "index.html");
copy("crates/playground/page/style.css", "style.css");

// The report's page, its parts in files of their own: the policy allows no script that stands in a page.
const report = "crates/shaderlint/src/commands/verify";
copy(`${report}/page.css`, "page.css");
for (const name of ["run.js", "page.js"]) {
  const script = fs.readFileSync(path.join(root, report, name), "utf8");
  fs.writeFileSync(path.join(out, name), `"use strict";\n${script}`);
}
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const template = fs.readFileSync(path.join(root, report, "page.html"), "utf8");
const page = template
  .replace('<meta charset="utf-8">', `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
  .replace(/<style>[^]*<\/style>/, '<link rel="stylesheet" href="page.css">')
  .replace("@@DATA@@", "")
  .replace(/<script>[^]*<\/script>/, '<script src="report.js"></script>');
fs.writeFileSync(path.join(out, "report.html"), page);

// One example of each rule; the most usual first.
const fixtures = path.join(root, "fixtures/rules");
const rules = fs.readdirSync(fixtures).filter((rule) => fs.existsSync(path.join(fixtures, rule, "bad.hlsl")));
const first = "hillis-steele-scan";
rules.sort((a, b) => Number(b === first) - Number(a === first));
// The fixtures' tests say in comments what is found where.
const kernel = (rule) => fs.readFileSync(path.join(fixtures, rule, "bad.hlsl"), "utf8").replace(/ *\/\/~.*$/gm, "");
const examples = rules.map((name) => ({ name, text: kernel(name) }));
const examplesPlugin = {
  name: "examples",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^examples$/ }, () => ({ path: "examples", namespace: "made" }));
    onLoad({ filter: /./, namespace: "made" }, () => ({ contents: JSON.stringify(examples), loader: "json" }));
  },
};
await build({
  entryPoints: ["main", "worker", "report"].map((name) => path.join(here, "page", `${name}.js`)),
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2023",
  logLevel: "warning",
  plugins: [examplesPlugin],
});
