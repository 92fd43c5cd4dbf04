# SPDX-License-Identifier: BSD-3-Clause
"""progress_bar.inc and progbar_logger.inc: what Keras's Progbar and ProgbarLogger print, with a clock that is told the time.

Run: pip install "tensorflow-cpu==2.15.*" && python make_progress_bar.py

The definition is Keras 2.6. Keras 2.15 prints the same, but for the suffix " - 1s/epoch - 5ms/step" that it adds to the
lines of verbose=2; the script cuts it off.
"""

import os
import pathlib
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import tensorflow as tf  # noqa: E402
from keras.src import callbacks as callbacks_module  # noqa: E402
from keras.src.utils import generic_utils, io_utils  # noqa: E402

clock = [0.0]
printed = []
generic_utils.time.time = lambda: clock[0]
io_utils.print_msg = lambda message, line_break=True: printed.append(message + ("\n" if line_break else ""))


def like_keras_2_6(text):
    return re.sub(r" - \d+[mu]?s/epoch - \d+[mu]?s/(step|sample)\n", "\n", text)


def literal(text):
    """A list of pieces {number of backspaces, text after them}."""
    pieces = []
    for backspaces, rest in re.findall("(\b*)([^\b]+)", text):
        escaped = rest.replace("\\", "\\\\").replace('"', '\\"').replace("\r", "\\r").replace("\n", "\\n")
        pieces.append(f'\n   {{{len(backspaces)}, "{escaped}"}}')
    return "{" + ",".join(pieces) + "}"


def bar_case(out, target, steps, verbose=1, width=30, interval=0.05, unit="step", dynamic=True, stateful=()):
    """steps: (seconds, current, finalize or None, {name: value})"""
    clock[0] = 1000.0
    printed.clear()
    bar = generic_utils.Progbar(target or None, width=width, verbose=verbose, interval=interval,
                                stateful_metrics=stateful, unit_name=unit)
    bar._dynamic_display = dynamic
    for seconds, current, finalize, values in steps:
        clock[0] = 1000.0 + seconds
        bar.update(current, list(values.items()), finalize=finalize)
    text = like_keras_2_6("".join(printed))
    out.append(f"{{{target}, {width}, {verbose}, {interval}, \"{unit}\", {str(dynamic).lower()}, {{")
    for seconds, current, finalize, values in steps:
        listed = ", ".join(f'{{"{n}", {v!r}, {str(n in stateful).lower()}}}' for n, v in values.items())
        out.append(f"   {{{seconds!r}, {current}, {-1 if finalize is None else int(finalize)}, {{{listed}}}}},")
    out.append(f" }}, {literal(text)}}},")


def bars():
    out = []
    numbers = [0.5, 0.25, 1e-3, 0.0011, -0.5, 0.0, 123.456, 2.5e-7]
    bar_case(out, 4, [(0.1 * (i + 1), i + 1, None, {"loss": numbers[i], "accuracy": 0.5 + 0.1 * i}) for i in range(4)],
             stateful=("loss", "accuracy"))
    bar_case(out, 8, [(0.1 * (i + 1), i + 1, None, {"loss": numbers[i]}) for i in range(8)])
    bar_case(out, 8, [(0.1 * (i + 1), i + 1, None, {"loss": numbers[i]}) for i in range(8)], stateful=("loss",))
    bar_case(out, 1875, [(0.004 * i, i, None, {"loss": 2.0 / i}) for i in (1, 2, 10, 14, 15, 100, 1000, 1874, 1875)])
    bar_case(out, 100, [(s, i, None, {}) for s, i in ((7200.0, 1), (7300.0, 2), (7400.0, 3))])
    bar_case(out, 100, [(s, i, None, {}) for s, i in ((100.5, 10), (150.25, 50), (160.0, 99), (161.5, 100))])
    bar_case(out, 10, [(61.0, 5, None, {}), (122.5, 10, None, {})])
    bar_case(out, 10, [(0.5, 1, None, {}), (20.5, 6, None, {}), (36.6, 10, None, {})])
    bar_case(out, 0, [(0.1, 1, None, {"loss": 1.0}), (0.2, 2, None, {"loss": 0.5}), (0.21, 3, None, {"loss": 0.1}),
                      (12.0, 12345678, None, {"loss": 0.1})])
    bar_case(out, 5, [(0.5, 1, None, {"loss": 1.0}), (2.0, 5, None, {"loss": 0.75})], dynamic=False)
    bar_case(out, 5, [(0.0001, 1, None, {"a": 1.0}), (0.0002, 5, None, {"a": 0.75, "b": 2.0})], unit="sample")
    bar_case(out, 3, [(0.2, 1, False, {"loss": 10000.25}), (0.4, 2, False, {"loss": 1.5}), (0.6, 3, False, {"loss": 0.5}),
                      (0.7, 3, True, {"loss": 0.5, "val_loss": 0.6, "lr": 0.001})], stateful=("loss",))
    bar_case(out, 100, [(0.5, 50, None, {"loss": -2.0}), (1.4, 100, None, {"loss": -1.0, "x": 0.001})], verbose=2)
    bar_case(out, 7, [(0.5, 7, True, {"loss": float(1 / 3), "accuracy": 0.9876543})], verbose=2, stateful=("loss",))
    bar_case(out, 7, [(0.5, 7, True, {"loss": 0.5})], verbose=0)
    bar_case(out, 20, [(0.01 * i, i, None, {}) for i in range(1, 21)], width=10, interval=0.1)
    bar_case(out, 1, [(0.25, 1, False, {"loss": 1.0}), (0.3, 1, True, {"loss": 1.0})], stateful=("loss",))
    bar_case(out, 1000, [(2.5, 0, None, {}), (3.0, 500, None, {}), (3.5, 1000, None, {})])
    return out


class Named:
    def __init__(self, name):
        self.name = name


class Model:
    metrics = [Named("loss"), Named("accuracy")]


def session(verbose, epochs):
    """fit of three steps with validation, then evaluate, then predict, as Keras's loops call their callbacks."""
    clock[0] = 1000.0
    printed.clear()

    def logger(steps):
        made = callbacks_module.ProgbarLogger(count_mode="steps")
        made.set_model(Model())
        made.set_params({"verbose": verbose, "epochs": epochs, "steps": steps})
        return made

    def logs(value):
        return {"loss": value, "accuracy": 1 - value}

    bar = logger(3)
    hooks = bar._call_batch_hooks
    bar.on_train_begin()
    for epoch in range(epochs):
        bar.on_epoch_begin(epoch)
        for batch in range(3):
            clock[0] += 0.25
            if hooks:
                bar.on_train_batch_end(batch, logs(0.9 / (1 + batch + 3 * epoch)))
        bar.on_test_begin()
        for batch in range(2):
            clock[0] += 0.125
            if hooks:
                bar.on_test_batch_end(batch, logs(0.5))
        bar.on_test_end(logs(0.5))
        last = logs(0.3 / (1 + epoch))
        bar.on_epoch_end(epoch, {**last, "val_loss": 0.0004, "val_accuracy": 0.5})
    bar.on_train_end()

    bar = logger(2)
    bar.on_test_begin()
    for batch in range(2):
        clock[0] += 0.125
        if hooks:
            bar.on_test_batch_end(batch, logs(0.5))
    bar.on_test_end(logs(0.25))

    bar = logger(2)
    bar.on_predict_begin()
    for batch in range(2):
        clock[0] += 1.5
        if hooks:
            bar.on_predict_batch_end(batch, {"outputs": None})
    bar.on_predict_end()
    return [f"{{{verbose}, {epochs}, {literal(like_keras_2_6(''.join(printed)))}}},"]


def write(name, declaration, lines):
    text = [
        "// SPDX-License-Identifier: BSD-3-Clause",
        f"// Made by make_progress_bar.py with TensorFlow {tf.__version__}; texts as Keras 2.6 prints them.",
        f"std::vector<{declaration}> const {declaration}s = {{",
        *lines,
        "};",
    ]
    pathlib.Path(__file__).resolve().with_name(name).write_text("\n".join(text) + "\n")


write("progress_bar.inc", "bar_case", bars())
write("progbar_logger.inc", "session_case", [*session(1, 2), *session(2, 2), *session(1, 1), *session(0, 2)])
