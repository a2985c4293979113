// Draws the page from the data in it.

const data = JSON.parse(document.getElementById("data").textContent);

// An element with attributes and children; text is never read as HTML.
function make(tag, attributes, ...children) {
  const svg = ["svg", "rect", "text", "line", "g", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick") element.addEventListener("click", value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

const VERDICTS = {
  "proved": ["Proved equal", "good"],
  "refines": ["Proved to refine", "good"],
  "only-run": ["Not proved, only run", "doubt"],
  "unknown": ["Not known", "doubt"],
  "different": ["Not equivalent", "bad"],
  "contradicted": ["Proved, yet seen to differ", "bad"],
};
const CELLS = {
  "equal": ["=", "good", "equal for every input, bit for bit"],
  "reassociates": ["≈", "good", "equal up to the order of float operations"],
  "differs": ["≠", "bad", "differs"],
  "out-of-bounds": ["∉", "bad", "out of bounds"],
  "races": ["⚡︎", "bad", "races"],
  "not-proved": ["?", "doubt", "not proved"],
};
const OUTCOMES = {
  "alike": ["alike", "good"],
  "differs": ["differs", "bad"],
  "nothing-written": ["says nothing", "doubt"],
  "unstable": ["says nothing", "doubt"],
  "not-comparable": ["not comparable", "doubt"],
  "not-run": ["not run", "doubt"],
};

const groupText = ([x, y, z]) => y * z === 1 ? `${x} threads` : `${x}×${y}×${z} threads`;
const fixed = (ms) => ms >= 100 ? ms.toFixed(0) : ms >= 1 ? ms.toFixed(2) : ms.toFixed(3);
// A name at the beginning stays as the kernel spells it.
const kernelNames = new Set(data.kernels.flatMap(({ kernel, other }) => [kernel, other]));
const sentence = (text) => {
  const [word] = text.match(/^[a-z]+(?=[\s,:;])/) || [""];
  return (word && !kernelNames.has(word) ? text.charAt(0).toUpperCase() + text.slice(1) : text) + ".";
};

function diffView(kernel) {
  const same = kernel.other === "its fix";
  const cell = (side, place, kind) => place
    ? [make("td", { class: `n ${side} ${kind}` }, String(place[0])), make("td", { class: `${side} ${kind}` }, place[1] || " ")]
    : [make("td", { class: `n ${side} absent` }), make("td", { class: `${side} absent` })];
  const rows = kernel.diff.map(({ sign, left, right }) => {
    if (sign === "…") return make("tr", { class: "gap" }, make("td", { colspan: 4 }, "…"));
    const changed = sign !== " ";
    return make("tr", { class: changed ? "" : "same" },
      cell("left", left, changed ? "del" : ""), cell("right", right, changed ? "add" : ""));
  });
  return make("div", { class: "diff scroll" }, make("table", null,
    make("colgroup", null, make("col", { style: "width:3rem" }), make("col"), make("col", { style: "width:3rem" }), make("col")),
    make("thead", null, make("tr", null, make("th", { colspan: 2 }, same ? "Flagged" : kernel.flagged.path),
      make("th", { colspan: 2 }, same ? "Suggested" : kernel.suggested.path))),
    make("tbody", null, rows)));
}

const baseOf = (path) => path.split(/[\\/]/).pop();

function wgslView(kernel) {
  const one = (title, text) => text && make("details", null, make("summary", null, title), make("pre", null, text));
  const [first, second] = kernel.kernel === kernel.other
    ? [kernel.flagged, kernel.suggested].map(({ path }) => baseOf(path)) : [kernel.kernel, kernel.other];
  return make("div", { class: "pair" }, one(`WGSL of ${first}`, kernel.flagged.wgsl),
    one(`WGSL of ${second}`, kernel.suggested.wgsl));
}

function matrixView(proof) {
  if (proof.maps.length === 0) return null;
  const said = make("p", { class: "said", "aria-live": "polite" });
  let pressed = null;
  const show = (button, text) => {
    pressed?.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", "true");
    pressed = button;
    said.textContent = text;
  };
  const head = make("tr", null, make("th", null, "waves of"), proof.wave_sizes.map((size) => make("th", { scope: "col" }, String(size))));
  const rows = proof.maps.map((row) => make("tr", { class: row.is_expected ? "" : "unexpected" },
    make("th", { scope: "row" }, row.map),
    row.cells.map((cell) => {
      const [sign, kind, words] = CELLS[cell.outcome];
      const text = `${row.map}, waves of ${cell.wave_size}: ${cell.text}`;
      const button = make("button", { type: "button", class: kind, title: cell.text, "aria-label": text, "aria-pressed": "false" }, sign);
      button.addEventListener("click", () => show(button, sentence(text)));
      return make("td", null, button);
    })));
  const used = [...new Set(proof.maps.flatMap((row) => row.cells.map((cell) => cell.outcome)))];
  const legend = used.map((outcome) => `${CELLS[outcome][0]} ${CELLS[outcome][2]}`).join("  ·  ");
  const faint = proof.maps.some((row) => !row.is_expected)
    ? "Faint rows are packings that no implementation is known to use for a group of one row. " : "";
  return [make("div", { class: "scroll" }, make("table", { class: "matrix" }, make("thead", null, head), make("tbody", null, rows))),
    make("p", { class: "legend" }, legend), make("p", { class: "legend" }, faint + "Press a cell for what was seen there."), said];
}

function interpreterView(runs) {
  if (runs.length === 0) return make("p", { class: "soft" }, "Not interpreted.");
  const kinds = new Map();
  for (const run of runs) {
    const key = run.map + run.text;
    if (!kinds.has(key)) kinds.set(key, { ...run, sizes: [] });
    kinds.get(key).sizes.push(run.wave_size);
  }
  return make("ul", { class: "plain" }, [...kinds.values()].map((run) => make("li", null,
    `${run.map}, waves of ${run.sizes.join(", ")}: `,
    make("span", { class: run.is_equal === null ? "doubt" : run.is_equal ? "good" : "bad" }, run.text))));
}

const barsOf = (times) => [["flagged", times.flagged], ["suggested", times.suggested], ["copy", times.copy]];
const mostOf = (times) => Math.max(...barsOf(times).map(([, spread]) => spread.max), 1e-9);

// Bars to one scale, with whiskers from the least to the most.
function barsView(times, what, about, most) {
  const bars = barsOf(times);
  // Drawn at the size it is shown in, so that the words are not scaled with it.
  const [left, width, height] = [72, window.innerWidth < 700 ? 130 : 300, 22];
  const at = (ms) => left + ms / most * width;
  const drawn = bars.map(([name, spread], row) => {
    const y = row * height + 3;
    const end = Math.max(at(spread.max), at(spread.median));
    return make("g", null,
      make("title", null, `${name}: median ${fixed(spread.median)} ms, from ${fixed(spread.min)} to ${fixed(spread.max)} ms`),
      make("text", { x: 0, y: y + 12, class: "soft" }, name),
      make("rect", { x: left, y, width: Math.max(1, at(spread.median) - left), height: 15, rx: 2, class: name }),
      make("line", { x1: at(spread.min), x2: at(spread.max), y1: y + 7.5, y2: y + 7.5, class: "whisker" }),
      make("text", { x: end + 7, y: y + 12 }, `${fixed(spread.median)} ms`));
  });
  const ratio = times.is_measurable
    ? make("b", null, times.ratio >= 1 ? `${times.ratio.toFixed(2)}× as fast` : `${(1 / times.ratio).toFixed(2)}× as slow`)
    : make("b", { class: "soft" }, "no measurable difference");
  return make("figure", { class: "bars" },
    make("figcaption", null, make("span", null, what), ratio, make("span", { class: "soft" }, about)),
    make("svg", { viewBox: `0 0 ${left + width + 84} ${bars.length * height + 2}`, role: "img",
      style: `max-width: ${left + width + 84}px`,
      "aria-label": bars.map(([name, spread]) => `${name} ${fixed(spread.median)} ms`).join(", ") }, drawn));
}

function timesView(times, group) {
  if (!times) return null;
  const about = `group of ${groupText(group)}, ${times.threads.toLocaleString("en")} in all, median of ${times.runs} runs`;
  return barsView(times, times.what, about, mostOf(times));
}

// What each device took for all kernels, by the size of their groups, to one scale.
function sizesView(kernels) {
  const devices = new Map();
  for (const kernel of kernels) {
    for (const row of kernel.devices) {
      const times = row.ladder || row.kernel;
      if (!times) continue;
      if (!devices.has(row.adapter)) devices.set(row.adapter, []);
      devices.get(row.adapter).push({ kernel, times, threads: kernel.group.reduce((a, b) => a * b) });
    }
  }
  const several = [...devices].filter(([, all]) => all.length > 1);
  if (several.length === 0) return [];
  const figures = several.map(([adapter, all]) => {
    const most = Math.max(...all.map(({ times }) => mostOf(times)));
    all.sort((a, b) => a.threads - b.threads);
    return [make("p", null, make("b", null, adapter)), make("div", { class: "times" }, all.map(({ kernel, times }) =>
      barsView(times, groupText(kernel.group), `${kernel.kernel}, ${times.what}`, most)))];
  });
  return [make("article", { id: "sizes" }, make("h2", null, "Times by group size"), figures)];
}

function deviceView(row, group) {
  const [word, kind] = OUTCOMES[row.outcome];
  const waves = row.waves && row.waves[0] ? `waves of ${row.waves[0] === row.waves[1] ? row.waves[0] : row.waves.join("–")}` : "";
  const about = [row.backend, row.is_here ? "" : row.driver, row.is_cpu ? "in software" : "", waves].filter(Boolean).join(" · ");
  return make("div", { class: row.is_here ? "device here" : "device" },
    make("header", null, make("b", null, row.adapter), make("span", { class: `chip ${kind}` }, word), make("span", { class: "soft" }, about)),
    make("p", null, sentence(row.text)),
    make("div", { class: "times" }, timesView(row.kernel, group), timesView(row.ladder, group)));
}

function devicesView(kernel) {
  const list = make("div", { class: "devices" }, kernel.devices.map((row) => deviceView(row, kernel.group)));
  const status = make("span", { class: "status soft", role: "status" });
  if (!kernel.browser) {
    return [list, make("p", { class: "soft" }, "The kernels have no WGSL form: neither devices nor this browser can run them.")];
  }
  const button = make("button", { type: "button", class: "main" }, "Run on this GPU");
  button.addEventListener("click", async () => {
    button.disabled = true;
    status.className = "status soft";
    try {
      const row = await runHere(kernel.browser, (step) => { status.textContent = step; });
      list.append(deviceView(row, kernel.group));
      status.textContent = "Done: the last row is this device.";
    } catch (error) {
      status.className = "status bad";
      status.textContent = error instanceof CannotRun ? error.message : `It failed: ${error.message}`;
    }
    button.disabled = false;
  });
  return [list, make("div", { class: "run" }, button, status)];
}

const titleOf = ({ kernel, other, flagged, suggested }) => kernel === other
  ? `${kernel} in ${baseOf(flagged.path)} and in ${baseOf(suggested.path)}` : `${kernel} and ${other}`;

function kernelView(kernel, number) {
  const [words, kind] = VERDICTS[kernel.verdict.kind];
  const section = (title, small, ...content) => [make("h3", null, title, small && make("small", null, small)), ...content];
  const count = ([x, y, z]) => x * y * z === 1 ? "1 group" : `${x * y * z} groups`;
  const cases = [...new Set(kernel.cases.map((one) => `${count(one.groups)} with ${one.about}`))].join("; ");
  return make("article", { id: `kernel-${number}` },
    data.kernels.length > 1 ? make("h2", null, titleOf(kernel)) : null,
    make("p", { class: "path" }, `${kernel.file} · group of ${groupText(kernel.group)}`),
    make("div", { class: `verdict ${kind}` }, make("strong", { class: kind }, words), make("p", null, sentence(kernel.verdict.text.replace(/^(NOT equivalent: |proved to refine: |proved equal )/, "")))),
    kernel.findings.length ? make("ul", { class: "findings" }, kernel.findings.map((finding) =>
      make("li", null, make("code", null, finding.rule), ` line ${finding.line}: ${finding.message}`))) : null,
    section(kernel.other === "its fix" ? "Flagged and suggested" : "Both kernels", null, diffView(kernel), wgslView(kernel)),
    section("Proof", "for every input", kernel.proof.atomics && make("p", null, sentence(`Atomics: ${kernel.proof.atomics}`)), matrixView(kernel.proof)),
    section("Interpreter", "for the inputs that the devices get", interpreterView(kernel.interpreter)),
    section("Devices", cases && `compared over ${cases}`, devicesView(kernel)),
    kernel.remarks.length ? make("ul", { class: "remarks" }, kernel.remarks.map((remark) => make("li", null, sentence(remark)))) : null);
}

function contentsView(kernels) {
  return make("ol", null, kernels.map((kernel, number) => {
    const [words, kind] = VERDICTS[kernel.verdict.kind];
    const rules = [...new Set(kernel.findings.map((finding) => finding.rule))].join(", ");
    return make("li", null, make("a", { href: `#kernel-${number}` }, make("b", null, kernel.kernel),
      make("span", { class: `chip ${kind}` }, words),
      make("span", { class: "soft" }, [kernel.file, rules].filter(Boolean).join(" · "))));
  }));
}

const { kernels } = data;
document.getElementById("title").textContent = kernels.length === 1
  ? titleOf(kernels[0])
  : kernels.length === 0 ? "No kernel has a finding with a fix" : `${kernels.length} kernels`;
document.title = `${document.getElementById("title").textContent} · shaderlint verify`;
if (kernels.length > 1) document.getElementById("contents").append(contentsView(kernels));
document.getElementById("kernels").append(...sizesView(kernels), ...kernels.map((kernel, number) => kernelView(kernel, number)));
document.getElementById("version").textContent = `shaderlint ${data.version}`;

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
});
