// The editors: HLSL and settings, with findings under the text.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { clike } from "@codemirror/legacy-modes/mode/clike";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const words = (text) => Object.fromEntries(text.split(/\s+/).map((word) => [word, true]));
const SCALARS = "bool|int|uint|dword|half|float|double|min16float|min16int|min16uint|u?int(16|32|64)_t|float(16|32|64)_t";
const TYPES = new RegExp(`^((${SCALARS})([1-4](x[1-4])?)?|void|string|vector|matrix|(RW|Rasterizer)?(Structured|Append` +
  "Structured|ConsumeStructured|ByteAddress)?Buffer|(RW)?Texture(1D|2D|3D|2DMS|Cube)(Array)?|Sampler(Comparison)?State|ConstantBuffer)$");

const hlsl = StreamLanguage.define(clike({
  name: "hlsl",
  keywords: words("break case cbuffer centroid class column_major const continue default discard do else enum export extern " +
    "false for globallycoherent groupshared if in inline inout interface namespace nointerpolation operator out packoffset " +
    "precise register return row_major shared static struct switch tbuffer template this true typedef typename uniform unroll " +
    "using volatile while numthreads"),
  types: (word) => TYPES.test(word),
  blockKeywords: words("case do else for if struct switch while cbuffer namespace"),
  defKeywords: words("struct cbuffer enum namespace"),
  atoms: words("true false"),
  builtin: (word) => /^(Wave|Quad|Interlocked)\w+$|^(All|Group|Device)Memory\w+$|^(abs|all|any|as(u?int|float)|ceil|clamp|cos|countbits|cross|dot|exp2?|firstbit(high|low)|floor|frac|lerp|log2?|mad|max|min|mul|pow|reversebits|round|rsqrt|saturate|sign|sin|sqrt|step|trunc)$/.test(word),
  hooks: { "#": (stream) => { stream.skipToEnd(); return "meta"; } },
}));

// The variables are those of the page, which knows of light and dark.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.definitionKeyword], color: "var(--code-keyword)" },
  { tag: [tags.typeName, tags.standard(tags.typeName)], color: "var(--code-type)" },
  { tag: [tags.standard(tags.variableName), tags.atom, tags.bool], color: "var(--code-builtin)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.number, tags.string], color: "var(--code-number)" },
  { tag: [tags.meta, tags.processingInstruction], color: "var(--code-meta)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--card)", color: "var(--ink)", fontSize: "13.5px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--soft)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--wash)" },
  "&.cm-focused": { outline: "none" },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px",
    maxWidth: "min(38rem, 90vw)", fontSize: "13.5px" },
  ".cm-diagnosticText": { whiteSpace: "pre-wrap" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--card)", padding: "3px 8px" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground, ::selection": { backgroundColor: "var(--selection) !important" },
  ".cm-panels": { backgroundColor: "var(--wash)", color: "var(--ink)" },
});

// In a shadow tree its styles need no exception from the page's policy.
function rooted(host) {
  const root = host.shadowRoot || host.attachShadow({ mode: "open" });
  root.replaceChildren();
  return { parent: root, root };
}

const shown = (language) => [lineNumbers(), bracketMatching(), language, syntaxHighlighting(colours), theme];

function editor(host, label, language, onChange) {
  const extensions = [
    shown(language), history(), indentOnInput(), indentUnit.of("    "), highlightActiveLine(), highlightActiveLineGutter(), lintGutter(),
    // Tab indents; Escape, then Tab leaves the editor.
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ "aria-label": label }),
    EditorView.updateListener.of((update) => { if (update.docChanged) onChange(); }),
  ];
  return new EditorView({ ...rooted(host), extensions });
}

export const kernelEditor = (host, onChange) => editor(host, "Kernel in HLSL", hlsl, onChange);
export const settingsEditor = (host, onChange) => editor(host, "Settings, as in shaderlint.toml", StreamLanguage.define(toml), onChange);

export const textOf = (view) => view.state.doc.toString();

export function setText(view, text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
}

// A place of a report, whose lines and columns count characters from 1, in a document.
export function offset(doc, { line, column }) {
  if (line > doc.lines) return doc.length;
  const { from, text } = doc.line(line);
  let before = 0;
  for (const character of text) {
    if (column-- <= 1) break;
    before += character.length;
  }
  return from + before;
}

export function changesOf(view, { edits }) {
  const { doc } = view.state;
  return edits.map(({ start, end, replacement }) => ({ from: offset(doc, start), to: offset(doc, end), insert: replacement }));
}

export function applyFix(view, fix) {
  view.dispatch({ changes: changesOf(view, fix), userEvent: "input.fix" });
  view.focus();
}

export function select(view, finding) {
  const { doc } = view.state;
  const [from, to] = [offset(doc, finding.start), offset(doc, finding.end)];
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  view.focus();
  return [from, to];
}

// Draws findings and what was not understood under the text, with their fixes in reach.
export function underline(view, { findings, problems }) {
  const { doc } = view.state;
  const mark = (one, severity, message, actions) => {
    const from = offset(doc, one.start);
    return { from, to: Math.max(offset(doc, one.end), from), severity, message, source: one.rule, actions };
  };
  const found = findings.map((finding) => mark(finding, finding.severity, [finding.message, ...finding.notes].join("\n"),
    finding.fix ? [{ name: finding.fix.title, apply: () => applyFix(view, finding.fix) }] : []));
  const unread = problems.filter((problem) => problem.start).map((problem) => mark(problem, "hint", problem.message, []));
  const marks = [...found, ...unread].sort((a, b) => a.from - b.from);
  view.dispatch(setDiagnostics(view.state, marks));
}

// Both texts beside each other, or one above the other where the page is narrow.
export function diffView(host, before, after) {
  const fixed = [shown(hlsl), EditorState.readOnly.of(true), EditorView.editable.of(false)];
  const collapseUnchanged = { margin: 4, minSize: 6 };
  if (host.clientWidth < 760) {
    return new EditorView({ ...rooted(host), doc: after, extensions: [fixed, unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged })] });
  }
  return new MergeView({ ...rooted(host), a: { doc: before, extensions: fixed }, b: { doc: after, extensions: fixed }, collapseUnchanged });
}
