// SPDX-License-Identifier: BSD-3-Clause
// The page on which one draws a digit: digits.wasm (examples/web/predict.cpp) computes what each layer finds.
"use strict";
(async () => {
  const page = document.getElementById("digits");
  if (!page) return;
  const answered = await fetch("digits.wasm").catch(() => null);
  if (!answered || !answered.ok) {
    page.textContent = "The module is not here: tools/site/web.py builds it.";
    return;
  }
  // The module calls nothing of a system.
  const { instance } = await WebAssembly.instantiate(await answered.arrayBuffer(), {});
  const module = instance.exports;
  if (module._initialize) module._initialize();
  const numbers = (name, count) => new Float32Array(module.memory.buffer, module[name](), count);

  const canvas = (size, scale, parent) => {
    const made = document.createElement("canvas");
    made.width = made.height = size;
    made.style.cssText = `width:${size * scale}px;height:${size * scale}px;image-rendering:pixelated;margin:2px;background:#000`;
    parent.append(made);
    return made;
  };
  const part = (title) => {
    const made = document.createElement("div");
    made.append(title, document.createElement("br"));
    page.append(made);
    return made;
  };
  /// Draws channel `channel` of an image whose channels are innermost.
  const show = (made, values, channels, channel, largest) => {
    const size = made.width, image = new ImageData(size, size);
    for (let i = 0; i < size * size; ++i) {
      const light = 255 * values[i * channels + channel] / largest;
      image.data.set([light, light, light, 255], 4 * i);
    }
    made.getContext("2d").putImageData(image, 0, 0);
  };

  page.textContent = "";
  const drawn = canvas(28, 10, part("Draw a digit here:"));
  drawn.id = "digits_drawn";
  drawn.style.touchAction = "none";
  drawn.style.cursor = "crosshair";
  const clear = document.createElement("button");
  clear.textContent = "Clear";
  page.append(clear);
  const edges = part("The first convolution, 8 filters:"), shapes = part("The second convolution, 16 filters:");
  const of_edges = Array.from({ length: 8 }, () => canvas(12, 5, edges));
  const of_shapes = Array.from({ length: 16 }, () => canvas(5, 9, shapes));
  const scores = part("What it is:");
  const bars = Array.from({ length: 10 }, (_, digit) => {
    const bar = document.createElement("div");
    bar.style.cssText = "background:#3f51b5;color:#fff;margin:1px;white-space:nowrap;padding-left:4px;width:1.5em";
    bar.textContent = digit;
    scores.append(bar);
    return bar;
  });

  const predict = () => {
    const pixels = numbers("pixels", 784);
    module.predict();
    show(drawn, pixels, 1, 0, 1);
    const found = [numbers("edges", 1152), numbers("shapes", 400), numbers("scores", 10)];
    const largest = found.map((each) => Math.max(1e-6, ...each));
    of_edges.forEach((made, i) => show(made, found[0], 8, i, largest[0]));
    of_shapes.forEach((made, i) => show(made, found[1], 16, i, largest[1]));
    bars.forEach((bar, i) => {
      bar.style.width = `${1.5 + 20 * found[2][i]}em`;
      bar.style.opacity = 0.3 + 0.7 * found[2][i];
      bar.textContent = `${i}  ${(100 * found[2][i]).toFixed(1)} %`;
    });
    page.dataset.scores = Array.from(found[2], (each) => each.toFixed(6)).join(" ");
    page.dataset.pixels = Array.from(pixels, (each) => each.toFixed(6)).join(" ");
  };
  /// A pen two pixels wide, soft at its border.
  const draw = (x, y) => {
    const pixels = numbers("pixels", 784);
    for (let row = 0; row < 28; ++row)
      for (let column = 0; column < 28; ++column) {
        const light = 1.8 - Math.hypot(column + 0.5 - x, row + 0.5 - y);
        const at = row * 28 + column;
        pixels[at] = Math.max(pixels[at], Math.min(1, Math.max(0, light)));
      }
  };
  let last = null;
  const place = (event) => {
    const box = drawn.getBoundingClientRect();
    return [(event.clientX - box.left) * 28 / box.width, (event.clientY - box.top) * 28 / box.height];
  };
  drawn.addEventListener("pointerdown", (event) => {
    last = place(event);
    draw(...last);
    predict();
    if (event.isTrusted) drawn.setPointerCapture(event.pointerId);
  });
  drawn.addEventListener("pointermove", (event) => {
    if (!last) return;
    const next = place(event), steps = Math.ceil(2 * Math.hypot(next[0] - last[0], next[1] - last[1]));
    for (let i = 1; i <= steps; ++i)
      draw(last[0] + (next[0] - last[0]) * i / steps, last[1] + (next[1] - last[1]) * i / steps);
    last = next;
    predict();
  });
  drawn.addEventListener("pointerup", () => { last = null; });
  clear.addEventListener("click", () => {
    numbers("pixels", 784).fill(0);
    predict();
  });
  predict();
  page.dataset.ready = "yes";
})();
