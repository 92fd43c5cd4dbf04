# SPDX-License-Identifier: BSD-3-Clause
"""The page docs/digits.md in headless Chromium: draws digits with pointer events, and compares the scores that
WebAssembly computes with those of the same program on this computer.

    web.py <folder>     77 if Chromium or the compiler is not here"""
import functools
import html
import http.server
import pathlib
import re
import shutil
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/site"))
import web  # noqa: E402

TOLERANCE = 1e-5
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
    def log_message(self, *_):
        pass


def drawn_in_chromium(address, folder):
    """(scores, pixels, how many pictures of the layers are not black)."""
    ran = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={folder / 'chromium'}",
                          "--virtual-time-budget=20000", "--dump-dom", address], capture_output=True, text=True, timeout=240)
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
    print(f"{module.stat().st_size} bytes of WebAssembly")
    return 0


if __name__ == "__main__":
    sys.exit(main())
