// Both kernels of a pair on the reader's own device, through WebGPU: compared in every case, then timed.

const readBytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

class CannotRun extends Error {}

// An open device and what it calls itself.
async function openDevice(needsSubgroups) {
  if (!navigator.gpu) {
    const insecure = window.isSecureContext ? "" : " It is there on https pages, on localhost and in local files only.";
    throw new CannotRun("This browser has no WebGPU, so nothing can be run here." + insecure);
  }
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) {
    throw new CannotRun("This browser has WebGPU, but no adapter for it: the GPU may be blocked, or turned off.");
  }
  const has = (feature) => adapter.features.has(feature);
  if (needsSubgroups && !has("subgroups")) {
    throw new CannotRun("This browser's WebGPU has no subgroups on this device: wave intrinsics cannot be run here.");
  }
  const wanted = ["subgroups", "timestamp-query"].filter(has);
  const { maxStorageBufferBindingSize, maxBufferSize, maxComputeWorkgroupSizeX, maxComputeWorkgroupSizeY,
    maxComputeWorkgroupSizeZ, maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupStorageSize,
    maxStorageBuffersPerShaderStage } = adapter.limits;
  const device = await adapter.requestDevice({
    requiredFeatures: wanted,
    requiredLimits: { maxStorageBufferBindingSize, maxBufferSize, maxComputeWorkgroupSizeX, maxComputeWorkgroupSizeY,
      maxComputeWorkgroupSizeZ, maxComputeInvocationsPerWorkgroup, maxComputeWorkgroupStorageSize,
      maxStorageBuffersPerShaderStage },
  });
  const info = adapter.info || {};
  const name = [info.vendor, info.architecture, info.device, info.description].filter(Boolean).join(" ");
  return {
    device,
    name: name || "a device without a name",
    waves: info.subgroupMinSize ? [info.subgroupMinSize, info.subgroupMaxSize] : null,
    hasTimestamps: wanted.includes("timestamp-query"),
  };
}

async function compile(device, wgsl, bindings) {
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code: "diagnostic(off, subgroup_uniformity);\n" + wgsl });
  const layout = device.createBindGroupLayout({
    entries: bindings.map((binding, at) => ({
      binding: at,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type: binding.is_writable ? "storage" : "read-only-storage" },
    })),
  });
  let pipeline;
  try {
    pipeline = await device.createComputePipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module },
    });
  } catch (error) {
    const messages = (await module.getCompilationInfo()).messages.filter((m) => m.type === "error");
    await device.popErrorScope();
    throw new CannotRun("The browser refuses the kernel: " + (messages[0]?.message || error.message));
  }
  const error = await device.popErrorScope();
  if (error) throw new CannotRun("The browser refuses the kernel: " + error.message);
  return { pipeline, layout, bindings };
}

// Buffers with these bytes, bound.
function bind(device, kernel, contents) {
  const buffers = contents.map((bytes) => {
    const buffer = device.createBuffer({
      size: bytes.byteLength,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    device.queue.writeBuffer(buffer, 0, bytes);
    return buffer;
  });
  const group = device.createBindGroup({
    layout: kernel.layout,
    entries: buffers.map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
  return { kernel, buffers, group };
}

async function readBack(device, buffer) {
  const staging = device.createBuffer({ size: buffer.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, staging, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const bytes = new Uint8Array(staging.getMappedRange().slice(0));
  staging.destroy();
  return bytes;
}

// What a kernel leaves, by the names of its buffers.
async function leave(device, kernel, contents, groups) {
  const bound = bind(device, kernel, contents);
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(kernel.pipeline);
  pass.setBindGroup(0, bound.group);
  pass.dispatchWorkgroups(...groups);
  pass.end();
  device.queue.submit([encoder.finish()]);
  const left = new Map();
  for (const [at, binding] of kernel.bindings.entries()) {
    if (binding.is_writable) left.set(binding.name, await readBack(device, bound.buffers[at]));
  }
  bound.buffers.forEach((buffer) => buffer.destroy());
  return left;
}

// The words of each element.
function elements(binding, bytes, sorted) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const list = [];
  for (let start = 0; start + binding.stride <= bytes.byteLength; start += binding.stride) {
    list.push(binding.words.map(([offset]) => view.getUint32(start + offset, true)));
  }
  const order = (a, b) => {
    for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return a[at] - b[at];
    return 0;
  };
  return sorted ? list.sort(order) : list;
}

const asFloat = (bits) => new Float32Array(new Uint32Array([bits]).buffer)[0];

// How far apart floats may be: γ(depth) times the largest sum of magnitudes that one group reads.
function bound(browser, one) {
  if (browser.depth === null) return 0;
  let largest = 0;
  for (const [at, binding] of browser.flagged.bindings.entries()) {
    const floats = binding.words.map(([, isFloat]) => isFloat);
    const all = elements(binding, readBytes(one.flagged[at]), false);
    for (let start = 0; start < all.length; start += browser.threads) {
      const group = all.slice(start, start + browser.threads);
      let sum = 0;
      for (const words of group) words.forEach((bits, n) => { if (floats[n]) sum += Math.abs(asFloat(bits)); });
      largest = Math.max(largest, sum);
    }
  }
  if (browser.has_hashes) largest += 2 * browser.threads;
  const ku = browser.depth * 2 ** -24;
  return ku / (1 - ku) * largest;
}

function alike(isFloat, a, b, distance) {
  if (a === b) return true;
  if (!isFloat) return false;
  const [x, y] = [asFloat(a), asFloat(b)];
  return Number.isNaN(x) && Number.isNaN(y) || distance > 0 && Math.abs(x - y) <= distance;
}

// How HLSL names an element: by its index, its address, or the coordinates of a texel.
function place(binding, extents, index) {
  if (!extents) return binding.is_by_address ? 4 * index : index;
  return extents.map((extent) => {
    const coordinate = index % extent;
    index = Math.floor(index / extent);
    return coordinate;
  }).join("][");
}

// Where the kernels first leave something else with these contents, by words and writes counted on the way.
async function compareOnce(device, browser, [flagged, suggested], groups, contents) {
  const bytes = [contents.flagged, contents.suggested].map((list) => list.map(readBytes));
  const expected = await leave(device, flagged, bytes[0], groups);
  const got = await leave(device, suggested, bytes[1], groups);
  const distance = bound(browser, contents);
  // What one kernel does not reach, it leaves.
  const initial = new Map([...flagged.bindings.entries()].map(([at, binding]) => [binding, bytes[0][at]]));
  for (const [at, binding] of suggested.bindings.entries()) {
    if (!flagged.bindings.some(({ name }) => name === binding.name)) initial.set(binding, bytes[1][at]);
  }
  let [words, written, ofNans] = [0, 0, null];
  for (const [binding, bytes] of initial) {
    if (!binding.is_writable || browser.overwritten.includes(binding.name)) continue;
    const sorted = browser.unordered.includes(binding.name);
    const before = elements(binding, bytes, sorted);
    const first = elements(binding, expected.get(binding.name) || bytes, sorted);
    const second = elements(binding, got.get(binding.name) || bytes, sorted);
    for (const [index, wanted] of first.entries()) {
      for (const [n, word] of wanted.entries()) {
        words += 1;
        if (before[index][n] !== word) written += 1;
        const isFloat = binding.words[n][1];
        const found = second[index]?.[n];
        if (alike(isFloat, word, found, distance)) continue;
        const shown = (bits) => bits === undefined ? "nothing" : isFloat ? asFloat(bits) : bits;
        const at = place(binding, contents.extents[binding.name], index);
        const text = `${binding.name}[${at}] is ${shown(found)}, should be ${shown(word)}`;
        const isOfNans = browser.has_floats && [word, found].every((bits) => Number.isNaN(asFloat(bits)));
        if (!isOfNans) return { words, written, differs: { buffer: binding.name, text } };
        ofNans ||= { buffer: binding.name, text, isOfNans };
      }
    }
  }
  return { words, written, differs: ofNans };
}

const AGAIN = 4;

// What a difference says, by the rules of `shaderlint verify`: nothing where threads may come in another order, where the flagged
// kernel leaves something else each time, or where the kernels leave the same in longer buffers.
async function explain(device, browser, pair, one, { buffer, text, isOfNans }) {
  const says = (outcome, why) => ({ outcome, text: `${why}: ${text}` });
  const differ = async (pair, contents) => {
    const flags = [];
    for (let run = 0; run < AGAIN; run++) {
      flags.push((await compareOnce(device, browser, pair, one.groups, contents)).differs !== null);
    }
    return flags;
  };
  if (!browser.contested || browser.contested.includes(buffer)) {
    return says("not-comparable", "not comparable, as another order of threads or atomics may leave other values");
  }
  const twice = { ...one, suggested: one.flagged };
  const again = await differ(pair, one);
  if (!again.includes(true) || (await differ([pair[0], pair[0]], twice)).includes(true)) {
    return says("unstable", "the result may differ from run to run");
  }
  if (one.ample && !(await differ(pair, one.ample)).includes(true)) {
    return says("not-comparable", "not comparable, as both kernels leave the same in longer buffers");
  }
  if (browser.open) return says("not-comparable", `not comparable, as ${browser.open}`);
  if (isOfNans) return says("not-comparable", "not comparable, as D3D does not specify the bits of a NaN");
  return { outcome: "differs", text };
}

// Compares in every case. Says where they first differ.
async function compareKernels(device, browser, flagged, suggested) {
  const pair = [flagged, suggested];
  let [words, written] = [0, 0];
  for (const one of browser.cases) {
    const compared = await compareOnce(device, browser, pair, one.groups, one);
    words += compared.words;
    written += compared.written;
    if (!compared.differs) continue;
    const text = `${compared.differs.text}, in the dispatch with ${one.about}`;
    return { words, ...await explain(device, browser, pair, one, { ...compared.differs, text }) };
  }
  if (written === 0) return { outcome: "nothing-written", words, text: "no case wrote anything, so the runs show nothing" };
  return { outcome: "alike", words, text: `${words} words alike in ${browser.cases.length} cases, ${written} of them written` };
}

// The contents of the first case, as for more groups.
function forGroups(kernel, list, groups, browser, one) {
  const before = one.groups[0] * one.groups[1] * one.groups[2];
  return kernel.bindings.map((binding, at) => {
    const bytes = readBytes(list[at]);
    if (!binding.grows) {
      const view = new DataView(bytes.buffer);
      for (const offset of binding.counts) view.setUint32(offset, groups * browser.threads, true);
      return bytes;
    }
    const large = new Uint8Array(bytes.byteLength / before * groups);
    large.set(bytes.subarray(0, Math.min(bytes.byteLength, large.byteLength)));
    for (let have = bytes.byteLength; have < large.byteLength; have *= 2) {
      large.copyWithin(have, 0, Math.min(have, large.byteLength - have));
    }
    return large;
  });
}

// Milliseconds that one dispatch takes.
async function timeOnce(open, bound, groups) {
  const { device } = open;
  for (const [buffer, pristine] of bound.restored) device.queue.writeBuffer(buffer, 0, pristine);
  const encoder = device.createCommandEncoder();
  let queries;
  const description = {};
  if (open.hasTimestamps) {
    queries = device.createQuerySet({ type: "timestamp", count: 2 });
    description.timestampWrites = { querySet: queries, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
  }
  await device.queue.onSubmittedWorkDone();
  const pass = encoder.beginComputePass(description);
  pass.setPipeline(bound.kernel.pipeline);
  pass.setBindGroup(0, bound.group);
  pass.dispatchWorkgroups(groups);
  pass.end();
  const resolved = queries && device.createBuffer({ size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
  if (queries) encoder.resolveQuerySet(queries, 0, 2, resolved, 0);
  const start = performance.now();
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
  const wall = performance.now() - start;
  if (!queries) return wall;
  const stamps = new BigUint64Array((await readBack(device, resolved)).buffer);
  queries.destroy();
  resolved.destroy();
  return Number(stamps[1] - stamps[0]) / 1e6;
}

const spread = (times) => {
  const sorted = [...times].sort((a, b) => a - b);
  return { median: sorted[sorted.length >> 1], min: sorted[0], max: sorted[sorted.length - 1] };
};

const RUNS = 11;
const WARM_UP = 2;

async function timeKernels(open, browser, pair, groups, what) {
  const one = browser.cases[0];
  const make = (kernel, list) => {
    const contents = forGroups(kernel, list, groups, browser, one);
    const bound = bind(open.device, kernel, contents);
    bound.restored = kernel.bindings.flatMap((b, at) => b.is_writable ? [[bound.buffers[at], contents[at]]] : []);
    return bound;
  };
  const first = make(pair[0], one.flagged);
  const bytes = pair[0].bindings.reduce((sum, b, at) => sum + (b.grows ? first.buffers[at].size : 0), 0);
  const subjects = [first, make(pair[1], one.suggested), await copyKernel(open, browser, groups, bytes)];
  const times = [[], [], []];
  for (let run = 0; run < WARM_UP + RUNS; run++) {
    for (const [at, subject] of subjects.entries()) {
      const ms = await timeOnce(open, subject, groups);
      if (run >= WARM_UP) times[at].push(ms);
    }
  }
  subjects.forEach((subject) => subject.buffers.forEach((buffer) => buffer.destroy()));
  const [flagged, suggested, copy] = times.map(spread);
  return {
    what, flagged, suggested, copy, runs: RUNS, threads: groups * browser.threads,
    ratio: flagged.median / suggested.median,
    is_measurable: flagged.min > suggested.max || suggested.min > flagged.max,
  };
}

// Reads and writes as many bytes, a word at a time.
async function copyKernel(open, browser, groups, moved) {
  const all = browser.threads * groups;
  const words = Math.min(16, Math.max(1, Math.ceil(moved / 8 / all)));
  const bindings = [{ is_writable: false }, { is_writable: true }];
  const wgsl = `@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> copied: array<u32>;
@compute @workgroup_size(${browser.threads})
fn copy(@builtin(global_invocation_id) id: vec3<u32>) {
  for (var word = 0u; word < ${words}u; word++) { copied[word * ${all}u + id.x] = source[word * ${all}u + id.x]; }
}`;
  const kernel = await compile(open.device, wgsl, bindings);
  const bytes = new Uint8Array(4 * all * words);
  return Object.assign(bind(open.device, kernel, [bytes, bytes]), { restored: [] });
}

// As many groups as take some milliseconds, and fit.
async function fillingGroups(open, browser, kernel) {
  const one = browser.cases[0];
  const before = one.groups[0] * one.groups[1] * one.groups[2];
  const largest = Math.max(4, ...one.flagged.map((text) => text.length * 3 / 4 / before));
  const limit = Math.min(65535, Math.floor(Math.min(open.device.limits.maxStorageBufferBindingSize, 2 ** 27) / largest));
  let groups = Math.min(limit, 64);
  for (;;) {
    const contents = forGroups(kernel, one.flagged, groups, browser, one);
    const bound = Object.assign(bind(open.device, kernel, contents), { restored: [] });
    const ms = await timeOnce(open, bound, groups);
    bound.buffers.forEach((buffer) => buffer.destroy());
    if (ms > 4 || groups * 2 > limit) return groups;
    groups *= 2;
  }
}

// A row as the devices of the report have one. `tell` is given what is being done.
async function runHere(browser, tell) {
  tell("Asking for a device…");
  const open = await openDevice(browser.needs_subgroups);
  const { device } = open;
  let trouble = null;
  device.addEventListener("uncapturederror", (event) => { trouble = trouble || event.error.message; });
  const lost = device.lost.then((info) => {
    if (info.reason !== "destroyed") throw new CannotRun("The device was lost: " + info.message);
    return new Promise(() => {});
  });
  const work = async () => {
    tell("Compiling…");
    const flagged = await compile(device, browser.flagged.wgsl, browser.flagged.bindings);
    const suggested = await compile(device, browser.suggested.wgsl, browser.suggested.bindings);
    tell("Comparing…");
    const compared = await compareKernels(device, browser, flagged, suggested);
    const row = { adapter: open.name, backend: "WebGPU, in this browser", driver: navigator.userAgent, waves: open.waves,
      is_here: true, kernel: null, ladder: null, ...compared };
    if (trouble) throw new CannotRun("The device refused: " + trouble);
    if (row.outcome !== "alike" || browser.is_untimed) return row;
    tell("Timing the kernels…");
    const groups = await fillingGroups(open, browser, flagged);
    const clock = open.hasTimestamps ? "" : ", by the clock: this browser has no timestamp queries";
    row.kernel = await timeKernels(open, browser, [flagged, suggested], groups, "kernel" + clock);
    if (browser.flagged.ladder && browser.suggested.ladder) {
      tell("Timing what differs…");
      const fewer = Math.max(1, Math.ceil(groups / 16));
      try {
        const ladders = [await compile(device, browser.flagged.ladder, browser.flagged.bindings),
          await compile(device, browser.suggested.ladder, browser.suggested.bindings)];
        row.ladder = await timeKernels(open, browser, ladders, fewer, "part ×64" + clock);
      } catch (error) {
        if (!(error instanceof CannotRun)) throw error;
        // Repeating takes a barrier, which may stand where not every thread is.
        row.text += "; repeated it is not timed: " + error.message;
      }
    }
    if (trouble) throw new CannotRun("The device refused: " + trouble);
    return row;
  };
  try {
    return await Promise.race([work(), lost]);
  } finally {
    device.destroy();
  }
}
