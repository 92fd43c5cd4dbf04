# SPDX-License-Identifier: BSD-3-Clause
"""Images in folders, and what Keras makes of them: tests/golden/images.

    python3 tests/golden/make_images.py

Made with TensorFlow 2.15.1, its Keras 2.15.0, and Pillow 12. flowers/ has PNG and JPEG files of all kinds; values.safetensors
what load_image of image_dataset gives, by "<file> <color_mode> <height>x<width> <interpolation>", "crop" where it keeps
the aspect ratio; orders.txt the files in Keras's order, by seed, validation_split and subset."""
import json
import pathlib
import shutil
import struct
import zlib

import keras
import numpy as np
from keras.src.utils import image_dataset
from PIL import Image

FOLDER = pathlib.Path(__file__).parent / "images"
FLOWERS = FOLDER / "flowers"
HEIGHT, WIDTH = 6, 5


def interlaced(path, pixels):
    """Seven passes (Adam7), each of rows without filters."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    rows = b""
    for y, x, down, right in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        part = pixels[y::down, x::right]
        if part.size:
            rows += b"".join(b"\0" + row.tobytes() for row in part)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def write_images():
    random = np.random.default_rng(5)
    for name in ("daisy", "rose", "tulip/garden"):
        (FLOWERS / name).mkdir(parents=True)
    colours = lambda channels: random.integers(0, 256, (HEIGHT, WIDTH, channels), dtype=np.uint8)
    smooth = lambda channels: np.clip(np.linspace(20, 220, HEIGHT)[:, None, None] + random.integers(-20, 20, (HEIGHT, WIDTH, channels)), 0, 255).astype(np.uint8)
    Image.fromarray(colours(1)[..., 0]).save(FLOWERS / "daisy/gray.png")
    Image.fromarray(colours(3)).save(FLOWERS / "daisy/rgb.png")
    Image.fromarray(colours(4)).save(FLOWERS / "daisy/rgba.png")
    palette = Image.fromarray(colours(1)[..., 0] % 8, "P")
    palette.putpalette([int(x) for x in random.integers(0, 256, 24)])
    palette.save(FLOWERS / "rose/palette.png", transparency=3)
    Image.fromarray(random.integers(0, 65536, (HEIGHT, WIDTH)).astype(np.uint16)).save(FLOWERS / "rose/sixteen.png")
    Image.fromarray(smooth(3)).save(FLOWERS / "rose/rgb.jpg", quality=90)
    Image.fromarray(colours(1)[..., 0] > 128).save(FLOWERS / "rose/Bits.PNG")
    Image.fromarray(smooth(1)[..., 0]).save(FLOWERS / "tulip/gray.jpeg", quality=90)
    Image.fromarray(smooth(3)).save(FLOWERS / "tulip/progressive.jpg", quality=80, progressive=True)
    interlaced(FLOWERS / "tulip/garden/interlaced.png", colours(3))
    (FLOWERS / "tulip/notes.txt").write_text("no image\n")


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    write_images()
    values = {}

    def add(name, mode, size, interpolation, crop=False):
        channels = {"grayscale": 1, "rgb": 3, "rgba": 4}[mode]
        image = image_dataset.load_image(str(FLOWERS / name), size, channels, interpolation, crop)
        key = f"{name} {mode} {size[0]}x{size[1]} {interpolation}" + (" crop" if crop else "")
        values[key] = np.asarray(image, np.float32)

    for path in sorted(FLOWERS.rglob("*.*")):
        name = str(path.relative_to(FLOWERS))
        if path.suffix == ".txt":
            continue
        for mode in ("grayscale", "rgb") + (("rgba",) if path.suffix == ".png" else ()):  # of 1 bit, TensorFlow's alpha is 1
            add(name, mode, (HEIGHT, WIDTH), "nearest")
    for interpolation in ("nearest", "bilinear", "bicubic", "area"):
        for size in ((3, 8), (9, 2), (7, 7)):
            add("daisy/rgb.png", "rgb", size, interpolation)
    for size in ((3, 6), (6, 2), (4, 4)):
        add("daisy/rgb.png", "rgb", size, "bilinear", True)
    header, at = {}, 0
    for name, array in values.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (FOLDER / "values.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(a.tobytes() for a in values.values()))

    lines = []
    for seed, split, subset in ((1, 0.3, "training"), (1, 0.3, "validation"), (12345, 0.5, "validation"), (7, None, None)):
        data = keras.utils.image_dataset_from_directory(FLOWERS, seed=seed, validation_split=split, subset=subset, shuffle=True)
        names = [str(pathlib.Path(path).relative_to(FLOWERS)) for path in data.file_paths]
        lines.append(" ".join([str(seed), str(split or 0), subset or "all", *names]))
    data = keras.utils.image_dataset_from_directory(FLOWERS, shuffle=False, batch_size=64)
    labels = next(iter(data))[1].numpy()
    lines.append(" ".join(["0", "0", "all", *(str(pathlib.Path(path).relative_to(FLOWERS)) for path in data.file_paths)]))
    lines.append(" ".join(map(str, labels)))
    (FOLDER / "orders.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
