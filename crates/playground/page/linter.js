// Asks the linter. A question that is asked while an earlier one is being answered waits; one that waits is dropped for a
// newer one.

// Whoever waits longer has pasted something that no linter is for.
const PATIENCE_MS = 15_000;

let module;

// Fetched and compiled once, whoever asks first.
function compiled() {
  module ??= (async () => {
    const response = await fetch("shaderlint.wasm");
    if (!response.ok) throw new Error(`shaderlint.wasm: ${response.status} ${response.statusText}`);
    // A server that does not know the type of the file cannot stream it.
    return WebAssembly.compile(await response.arrayBuffer());
  })();
  return module;
}

export class Linter {
  #worker = null;
  #running = null;
  #waiting = null;

  // The answer, or `null` if a newer question took the place of this one.
  ask(question) {
    this.#waiting?.resolve(null);
    return new Promise((resolve) => {
      this.#waiting = { question, resolve };
      if (!this.#running) this.#next();
    });
  }

  // What is being answered no longer matters.
  drop() {
    this.#waiting?.resolve(null);
    this.#waiting = null;
    if (this.#running) this.#end(null);
  }

  async #next() {
    const job = this.#waiting;
    this.#waiting = null;
    this.#running = job;
    if (!job) return;
    try {
      const module = await compiled();
      if (this.#running !== job) return;
      if (!this.#worker) {
        this.#worker = new Worker("worker.js");
        this.#worker.postMessage(module);
      }
    } catch (error) {
      this.#done(job, { error: { message: `the linter was not loaded: ${error.message}`, place: null } });
      return;
    }
    const worker = this.#worker;
    job.timer = setTimeout(() => {
      const message = `shaderlint gave up after ${PATIENCE_MS / 1000} s; the command line allows more time`;
      this.#end({ error: { message, place: null } });
    }, PATIENCE_MS);
    worker.onmessage = ({ data }) => this.#done(job, JSON.parse(data));
    worker.onerror = (event) => {
      event.preventDefault();
      // A page gives a thread less of a stack than the command line does.
      const message = /call stack|out of bounds|unreachable/.test(event.message)
        ? "the code is too deep or too large for a page; the command line may still read it" : event.message;
      this.#end({ error: { message, place: null } });
    };
    worker.postMessage(job.question);
  }

  #done(job, answer) {
    if (this.#running !== job) return;
    clearTimeout(job.timer);
    job.resolve(answer);
    this.#next();
  }

  // A thread that is busy is ended from outside.
  #end(answer) {
    this.#worker?.terminate();
    this.#worker = null;
    this.#done(this.#running, answer);
  }
}
