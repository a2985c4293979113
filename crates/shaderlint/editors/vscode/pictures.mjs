/** Draws the pictures of the package from their vector graphics: `npm run pictures`. `CHROMIUM` names the browser. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const browser = process.env.CHROMIUM ?? "chromium";
const folder = mkdtempSync(join(tmpdir(), "pictures-"));
for (const [source, target] of [
  ["images/icon.svg", "images/icon.png"],
  ["../../../../docs/plots/finding-dark.svg", "images/finding.png"],
]) {
  const graphic = readFileSync(source, "utf8");
  const [width, height] = ["width", "height"].map((name) => graphic.match(`<svg [^>]*${name}="([0-9.]+)`)?.[1]);
  const page = join(folder, "page.html");
  writeFileSync(page, `<body style="margin:0">${graphic.slice(graphic.indexOf("<svg"))}`);
  execFileSync(browser, [
    ...["--headless", "--no-sandbox", "--hide-scrollbars", "--default-background-color=00000000"],
    `--window-size=${Math.ceil(width)},${Math.ceil(height)}`,
    `--screenshot=${resolve(target)}`,
    `file://${page}`,
  ]);
}
rmSync(folder, { recursive: true });
