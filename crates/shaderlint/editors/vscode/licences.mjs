/** Writes the licences of what was bundled beside it: `node licences.mjs META OUT`. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const [meta, out] = process.argv.slice(2);
const inputs = Object.keys(JSON.parse(readFileSync(meta, "utf8")).inputs);
const packages = new Set(inputs.flatMap((input) => input.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/) ?? []));
const parts = [...packages].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.\w+)?$/i.test(entry));
  if (file === undefined) {
    throw new Error(`${folder} has no licence`);
  }
  return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
});
writeFileSync(out, parts.join(`\n${"-".repeat(80)}\n\n`));
