// SPDX-License-Identifier: BSD-3-Clause
// README's program in a page: first.wasm, a program for WASI, of whose functions this has those that it calls. It runs in a worker, so
// that the page answers meanwhile: this file is both.
"use strict";
/// Runs the program; `say` gets what it writes. Returns its exit code.
const run = async (bytes, say) => {
  let memory;
  const view = () => new DataView(memory.buffer), decoder = new TextDecoder(), invalid = 8;
  class ended extends Error {
    constructor(code) {
      super();
      this.code = code;
    }
  }
  const none = (count, size) => (view().setUint32(count, 0, true), view().setUint32(size, 0, true), 0);
  const system = {
    environ_sizes_get: none,
    environ_get: () => 0,
    clock_time_get: (clock, precision, to) => (view().setBigUint64(to, BigInt(Math.round(performance.now() * 1e6)), true), 0),
    fd_close: () => invalid,
    fd_seek: () => invalid,
    fd_fdstat_get: (file, to) => {
      if (file > 2) return invalid;
      new Uint8Array(memory.buffer, to, 24).fill(0);
      view().setUint8(to, 2);                                  // a terminal, whose lines are not held back
      view().setBigUint64(to + 8, 1n << 6n, true);             // may write
      return 0;
    },
    fd_write: (file, parts, count, to) => {
      if (file !== 1 && file !== 2) return invalid;
      let written = 0;
      for (let i = 0; i < count; ++i) {
        const at = view().getUint32(parts + 8 * i, true), size = view().getUint32(parts + 8 * i + 4, true);
        say(decoder.decode(new Uint8Array(memory.buffer, at, size), { stream: true }));
        written += size;
      }
      view().setUint32(to, written, true);
      return 0;
    },
    proc_exit: (code) => { throw new ended(code); },
  };
  const { instance } = await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: system });
  memory = instance.exports.memory;
  try {
    instance.exports._start();
  } catch (error) {
    if (error instanceof ended) return error.code;
    throw error;
  }
  return 0;
};
if (typeof document === "undefined") {
  onmessage = async ({ data }) => postMessage({ code: await run(data, (text) => postMessage({ text })) });
} else {
  const page = document.getElementById("first"), own = document.currentScript.src;
  const button = document.createElement("button"), lines = document.createElement("pre");
  button.textContent = "Train";
  button.addEventListener("click", async () => {
    button.disabled = true;
    lines.textContent = "";
    const answered = await fetch("first.wasm").catch(() => null);
    if (!answered || !answered.ok) {
      page.textContent = "The program is not here: tools/site/web.py builds it.";
      return;
    }
    const worker = new Worker(own);
    worker.onmessage = ({ data }) => {
      if (data.text !== undefined) {
        lines.textContent = (lines.textContent + data.text).split("\n").slice(-12).join("\n");  // of some thousand
        return;
      }
      page.dataset.code = data.code;
      button.disabled = false;
      worker.terminate();
    };
    worker.onerror = (error) => {
      lines.textContent += error.message;
      page.dataset.code = 1;
    };
    worker.postMessage(await answered.arrayBuffer());
  });
  page.textContent = "";
  page.append(button, lines);
}
