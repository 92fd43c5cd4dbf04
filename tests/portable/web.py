# SPDX-License-Identifier: BSD-3-Clause
"""The page docs/digits.md in headless Chromium: draws digits with pointer events, and compares the scores that
WebAssembly computes with those of the same program on this computer; and trains README's network there. The same program for
WebAssembly runs in Node, if that is here, and ends with the library's message where it finds an error.

    web.py <folder>     77 if Chromium or the compiler is not here"""
import functools
import html
import http.server
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/site"))
import web  # noqa: E402

TOLERANCE = 1e-5
TRAINING = """<!doctype html><body><div id="first"></div><script src="first.js"></script><script>
const page = document.getElementById("first");
page.querySelector("button").click();
const wait = () => page.dataset.code === undefined ? setTimeout(wait, 50)
  : fetch("end", {method: "POST", body: page.dataset.code + "\\n" + page.querySelector("pre").textContent});
wait();
</script></body>"""
# An error of data: batches of no samples.
MISTAKE = """#include <stagecraft/stagecraft.hpp>
namespace sc = stagecraft;
using namespace sc::layers;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}};
int main() {
  auto const [train, test] = sc::datasets::digits({.train = 64, .test = 32});
  sc::trainer<sc::sequential<input{28, 27}, flatten{}, dense{10}>, training> model;
  model.fit(train.x, train.y);
}
"""
NODE = """import {WASI} from 'node:wasi';
import {readFileSync} from 'node:fs';
const wasi = new WASI({version: 'preview1'});
const module = await WebAssembly.instantiate(readFileSync(process.argv[2]), wasi.getImportObject());
process.exit(wasi.start(module.instance));
"""
# Strokes of a one, a seven and a zero, as points of an image of 28 x 28.
STROKES = {1: [[(14, 5), (14, 23)]], 7: [[(8, 6), (20, 6), (13, 23)]],
           0: [[(14, 5), (9, 8), (8, 14), (9, 20), (14, 23), (19, 20), (20, 14), (19, 8), (14, 5)]]}
PAGE = """<!doctype html><body><div id="digits"></div><script src="digits.js"></script><script>
const wait = () => {
  const page = document.getElementById("digits");
  if (!page.dataset.ready) return void setTimeout(wait, 20);
  const drawn = document.getElementById("digits_drawn"), box = drawn.getBoundingClientRect();
  const send = (type, [x, y]) => drawn.dispatchEvent(new PointerEvent(type, {bubbles: true, pointerId: 1,
    clientX: box.left + x * box.width / 28, clientY: box.top + y * box.height / 28}));
  for (const stroke of STROKES) {
    send("pointerdown", stroke[0]);
    for (const point of stroke.slice(1)) send("pointermove", point);
    send("pointerup", stroke.at(-1));
  }
  const lit = (at) => [...document.querySelectorAll("canvas")].slice(at[0], at[1]).filter((each) =>
    each.getContext("2d").getImageData(0, 0, each.width, each.height).data.some((light, i) => i % 4 != 3 && light > 0)).length;
  document.title = `${page.dataset.scores};${page.dataset.pixels};${lit([1, 9])} ${lit([9, 25])}`;
};
wait();
</script></body>"""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    posted = queue.Queue()

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.posted.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()


def chromium(folder, *options):
    return ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'chromium'}", *options]


def trained_in_chromium(address, folder):
    """The exit code of README's program, and its last line."""
    browser = subprocess.Popen(chromium(folder, "--remote-debugging-port=0", address), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        lines = QuietHandler.posted.get(timeout=900).splitlines()
    finally:
        browser.kill()
        browser.wait()
    return int(lines[0]), [line for line in lines if line][-1]


def check_node(folder, program, expected):
    """README's program ends with the line that it writes in the page; an error of data is a message and an exit code."""
    script = folder / "run.mjs"
    script.write_text(NODE, encoding="utf-8")
    (folder / "mistake.cpp").write_text(MISTAKE, encoding="utf-8")
    subprocess.run([*web.TRAINER, f"-I{ROOT / 'include'}", "-O0", folder / "mistake.cpp", "-o", folder / "mistake.wasm"], check=True)
    node = ["node", "--no-warnings", script]
    ran = subprocess.run([*node, program], capture_output=True, text=True, timeout=900, check=True)
    assert ran.stdout.splitlines()[-1] == expected, ran.stdout[-500:]
    ran = subprocess.run([*node, folder / "mistake.wasm"], capture_output=True, text=True, timeout=900)
    assert ran.returncode == 1 and "E4" in ran.stderr, (ran.returncode, ran.stderr)
    print(f"an error: {ran.stderr.strip()}")


def drawn_in_chromium(address, folder):
    """(scores, pixels, how many pictures of the layers are not black)."""
    ran = subprocess.run(chromium(folder, "--virtual-time-budget=20000", "--dump-dom", address), capture_output=True, text=True, timeout=240)
    title = re.search(r"<title>([^<]*)</title>", ran.stdout)
    if not title:
        sys.exit(f"the page did not answer: {ran.stdout[:500]}\n{ran.stderr[-1500:]}")
    return [[float(each) for each in part.split()] for part in html.unescape(title[1]).split(";")]


def main():
    folder = pathlib.Path(sys.argv[1])
    if not web.can_build() or not shutil.which("chromium"):
        print("Chromium, or a compiler for WebAssembly, is not here", file=sys.stderr)
        return 77
    module = web.build(folder)
    shutil.copy(ROOT / "docs/digits.js", folder)
    own = folder / "predict"
    subprocess.run(["clang++-19", "-std=c++20", "-O2", f"-I{ROOT / 'include'}", f"-I{folder}", ROOT / "examples/web/predict.cpp", "-o", own], check=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for digit, strokes in STROKES.items():
        (folder / f"{digit}.html").write_text(PAGE.replace("STROKES", str([[list(point) for point in stroke] for stroke in strokes])), encoding="utf-8")
        scores, pixels, pictures = drawn_in_chromium(f"http://127.0.0.1:{server.server_port}/{digit}.html", folder)
        assert len(pixels) == 784 and max(pixels) == 1, "nothing is drawn"
        printed = subprocess.run([own], input=" ".join(map(str, pixels)), capture_output=True, text=True, check=True).stdout
        expected = [float(each) for each in printed.split()]
        difference = max(abs(a - b) for a, b in zip(scores, expected, strict=True))
        print(f"a {digit} is taken for a {scores.index(max(scores))} ({max(scores):.3f}); {difference:.0e} from this computer's scores")
        assert difference <= TOLERANCE, (scores, expected)
        assert scores.index(max(scores)) == digit
        assert pictures[0] >= 4 and pictures[1] >= 8, f"pictures of layers that are not black: {pictures}"
    program = web.build_trainer(folder)
    (folder / "first.html").write_text(TRAINING, encoding="utf-8")
    shutil.copy(ROOT / "docs/first.js", folder)
    code, last = trained_in_chromium(f"http://127.0.0.1:{server.server_port}/first.html", folder)
    print(f"README's program ends with {code}: {last}")
    accuracy = re.match(r"accuracy (0\.\d+); the first image is a 3", last)
    assert code == 0 and accuracy and float(accuracy[1]) > 0.97, last
    if shutil.which("node"):
        check_node(folder, program, last)
    print(f"{module.stat().st_size} and {program.stat().st_size} bytes of WebAssembly")
    return 0


if __name__ == "__main__":
    sys.exit(main())
