// A kernel and its settings as the fragment of an address: JSON, deflated, in the digits of RFC 4648, section 5.

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function toFragment(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
  const digits = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return "k=" + btoa(digits).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// What a fragment holds; `null` if it holds no kernel.
export async function fromFragment(fragment) {
  const [, digits] = /^#?k=([\w-]+)$/.exec(fragment) || [];
  if (!digits) return null;
  const bytes = Uint8Array.from(atob(digits.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const { text, settings } = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes)));
  return { text: String(text), settings: String(settings || "") };
}
