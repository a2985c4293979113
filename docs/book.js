// Every example on the page of a rule can be tried, in place: the playground opens below it.

(() => {
  const heading = document.querySelector("h2#example");
  if (!heading || !/\/rules\/[\w-]+\.html$/.test(location.pathname)) return;
  const block = heading.parentElement.querySelector("h2#example ~ pre > code.language-hlsl");
  if (!block) return;
  const rule = location.pathname.match(/([\w-]+)\.html$/)[1];
  const button = document.createElement("button");
  button.textContent = "Try it";
  button.addEventListener("click", async () => {
    const frame = document.createElement("iframe");
    frame.title = `Playground: ${rule}`;
    frame.className = "playground";
    // As `page/link.js` of the playground reads it.
    const state = new TextEncoder().encode(JSON.stringify({ text: block.textContent, settings: "" }));
    const deflated = new Blob([state]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
    const digits = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    frame.src = `../playground/index.html#k=${digits.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
    button.replaceWith(frame);
  });
  block.parentElement.after(button);
})();
