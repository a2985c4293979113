// The page: a kernel on one side, what is known of it on the other.

import examples from "examples";
import { applyFix, diffView, kernelEditor, select, setText, settingsEditor, textOf, underline } from "./editor.js";
import { fromFragment, toFragment } from "./link.js";
import { Linter } from "./linter.js";

const PAUSE_MS = 120;

const $ = (id) => document.getElementById(id);

// An element with attributes and children; text is never read as HTML.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter(Boolean));
  return element;
}

const kernel = kernelEditor($("kernel"), () => changed());
const settings = settingsEditor($("settings"), () => changed());
// What takes long is asked of a thread of its own, so that findings never wait for it.
const [checks, fixes, proofs] = [new Linter(), new Linter(), new Linter()];

const state = () => ({ text: textOf(kernel), settings: textOf(settings) });
const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

function say(text, isBad) {
  $("status").textContent = text;
  $("status").className = isBad ? "bad" : "";
}

// Tabs, as the ARIA authoring practices have them: arrows move between them.
function tabs(list, onShow) {
  const all = [...list.children];
  const show = (tab) => {
    for (const other of all) {
      const isShown = other === tab;
      other.setAttribute("aria-selected", String(isShown));
      other.tabIndex = isShown ? 0 : -1;
      $(other.getAttribute("aria-controls")).hidden = !isShown;
    }
    onShow(tab.getAttribute("aria-controls"));
  };
  list.addEventListener("click", ({ target }) => { if (all.includes(target)) show(target); });
  list.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    const at = all.indexOf(document.activeElement);
    if (!step || at < 0) return;
    const next = all[(at + step + all.length) % all.length];
    show(next);
    next.focus();
  });
  return (name) => show($(`tab-${name}`));
}

const showFile = tabs(document.querySelector("#source .tabs"), (name) => {
  (name === "kernel" ? kernel : settings).requestMeasure();
});
// A tab is drawn when it is opened, and again once the kernel has changed.
const drawn = { findings: null, fixed: null, verified: null, printed: null };
let shown = "findings";
const showResult = tabs(document.querySelector("#result .tabs"), (name) => {
  shown = name;
  draw();
});

let answer = null;
let timer = 0;
let version = 0;

function changed() {
  version += 1;
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE_MS);
}

async function check() {
  const asked = version;
  const start = performance.now();
  const answered = await checks.ask({ ...state(), ask: "check" });
  if (!answered || asked !== version) return;
  if (answered.error) {
    answer = null;
    underline(kernel, { findings: [], problems: [] });
    const { place, message } = answered.error;
    const where = place ? `shaderlint.toml, line ${lineOf(textOf(settings), place[0])}: ` : "";
    say(where + message, true);
  } else {
    answer = answered.check;
    const { findings, problems } = answer.json;
    underline(kernel, answer.json);
    const unread = problems.length ? `, ${count(problems.length, "place")} not understood` : "";
    say(`${count(findings.length, "finding")}${unread} in ${Math.round(performance.now() - start)} ms`);
  }
  draw();
}

// The line of an offset in bytes.
function lineOf(text, bytes) {
  const before = new TextDecoder().decode(new TextEncoder().encode(text).slice(0, bytes));
  return before.split("\n").length;
}

async function draw() {
  const now = `${version} ${answer ? "read" : "unread"}`;
  if (drawn[shown] === now) return;
  drawn[shown] = now;
  await { findings: drawFindings, fixed: drawFixed, verified: drawVerified, printed: drawPrinted }[shown]($(shown));
}

function drawFindings(panel) {
  if (!answer) return panel.replaceChildren();
  const { findings, problems } = answer.json;
  const place = ({ line, column }) => `line ${line}, column ${column}`;
  const cards = findings.map((finding) => make("article", { class: finding.severity },
    make("h2", null, finding.message),
    make("p", { class: "soft" },
      make("span", { class: `chip ${finding.severity}` }, finding.severity), " ",
      make("a", { href: `../rules/${finding.rule}.html` }, finding.rule), " · ",
      make("button", { type: "button", class: "link", onclick: () => { showFile("kernel"); select(kernel, finding); } }, place(finding.start))),
    finding.notes.length ? make("ul", null, finding.notes.map((note) => make("li", null, note))) : null,
    finding.fix && make("p", { class: "fix" },
      make("button", { type: "button", onclick: () => { showFile("kernel"); applyFix(kernel, finding.fix); } },
        finding.fix.safety === "safe" ? "Apply" : "Apply, though unsafe"), " ", finding.fix.title),
    finding.fix?.proof && make("p", { class: "soft" }, finding.fix.proof),
    finding.no_fix && make("p", { class: "soft" }, `no fix: ${finding.no_fix.text}`)));
  const unread = problems.map((problem) => make("li", null,
    problem.start ? make("button", { type: "button", class: "link", onclick: () => { showFile("kernel"); select(kernel, problem); } }, place(problem.start)) : null,
    problem.start ? ": " : null, problem.message));
  panel.replaceChildren(...cards,
    cards.length ? "" : make("p", { class: "none" }, "Nothing was found."),
    unread.length ? make("article", null, make("h2", null, "Not understood"), make("ul", null, unread)) : "");
}

let withUnsafe = false;

async function drawFixed(panel) {
  const asked = version;
  const { text } = state();
  const box = make("input", { type: "checkbox", id: "unsafe" });
  box.checked = withUnsafe;
  box.addEventListener("change", () => { withUnsafe = box.checked; drawn.fixed = null; draw(); });
  const take = make("button", { type: "button", disabled: "" }, "Take this text");
  const view = make("div", { class: "diff" });
  panel.replaceChildren(make("p", { class: "bar" }, make("label", null, box, " unsafe fixes, too"), take), view);
  const answered = await fixes.ask({ ...state(), ask: { fix: { unsafe: withUnsafe } } });
  if (!answered || asked !== version) return;
  if (answered.error) return view.replaceChildren(make("p", { class: "bad" }, answered.error.message));
  const fixed = answered.fix.text;
  if (fixed === text) {
    return view.replaceChildren(make("p", { class: "none" }, withUnsafe ? "There is nothing to fix." : "There is nothing that is safe to fix."));
  }
  diffView(view, text, fixed);
  take.disabled = false;
  take.addEventListener("click", () => { showFile("kernel"); setText(kernel, fixed); showResult("findings"); });
}

async function drawVerified(panel) {
  const asked = version;
  proofs.drop();
  panel.replaceChildren(make("p", { class: "none" }, "Proving and interpreting …"));
  const answered = await proofs.ask({ ...state(), ask: "verify" });
  if (!answered || asked !== version) return;
  if (answered.error) return panel.replaceChildren(make("p", { class: "bad" }, answered.error.message));
  if (answered.verify.kernels.length === 0) {
    return panel.replaceChildren(make("p", { class: "none" },
      "No kernel has a finding with a fix that leaves results as they are, so there are no two kernels to compare."));
  }
  const frame = make("iframe", { src: "report.html", title: "What is known of both kernels" });
  addEventListener("message", function ready({ source, origin, data }) {
    if (source !== frame.contentWindow || origin !== location.origin || data !== "ready") return;
    removeEventListener("message", ready);
    frame.contentWindow.postMessage(JSON.stringify(answered.verify), location.origin);
  });
  panel.replaceChildren(frame);
}

function drawPrinted(panel) {
  panel.replaceChildren(make("pre", null, `$ shaderlint kernel.hlsl\n${answer ? answer.full : ""}`));
}

function open({ text, settings: table }) {
  setText(settings, table || "");
  setText(kernel, text);
  showFile("kernel");
}

for (const { name } of examples) $("examples").append(make("option", { value: name }, name));
$("examples").addEventListener("change", ({ target }) => {
  const example = examples.find(({ name }) => name === target.value);
  if (example) location.hash = `example=${example.name}`;
});

$("share").addEventListener("click", async () => {
  history.replaceState(null, "", `#${await toFragment(state())}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is in the clipboard. It holds the kernel.");
  } catch {
    say("The address of this page is the link now. It holds the kernel.");
  }
});

$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
});

async function openAddress() {
  const name = /^#example=([\w-]+)$/.exec(location.hash)?.[1];
  let opened = examples.find((one) => one.name === name);
  try {
    opened ??= await fromFragment(location.hash) ?? examples[0];
  } catch {
    opened = { text: "// The link holds no kernel that could be read.\n" };
  }
  $("examples").value = opened.name || "";
  open(opened);
}
addEventListener("hashchange", openAddress);
openAddress();
