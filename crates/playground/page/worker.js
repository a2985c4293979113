// The linter in a thread of its own. It is given the compiled module first, then questions.

let exports;

onmessage = ({ data }) => {
  if (data instanceof WebAssembly.Module) {
    exports = new WebAssembly.Instance(data, {}).exports;
    return;
  }
  const bytes = new TextEncoder().encode(JSON.stringify(data));
  const at = exports.question(bytes.length);
  new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
  const length = exports.answer();
  const answer = new Uint8Array(exports.memory.buffer, exports.answered(), length);
  postMessage(new TextDecoder().decode(answer));
};
