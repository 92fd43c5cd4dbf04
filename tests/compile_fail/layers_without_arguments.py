# SPDX-License-Identifier: BSD-3-Clause
"""Which layers may stand without arguments, such as `flatten{}`, and that all others report E1025 as `dense{}` does:

    python3 layers_without_arguments.py g++ clang++-19

Every layer of layers/layers.hpp stands in one list of this file, and a compiler makes each from empty braces.
"""
import pathlib
import re
import sys
import tempfile

import compile_case

LAYERS = compile_case.INCLUDE / "stagecraft" / "layers" / "layers.hpp"
WITHOUT_LIMIT = {True: "-fmax-errors=0", False: "-ferror-limit=0"}  # by whether it is GCC

STAND_ALONE = """
    activity_regularization add additive_attention attention average average_pooling1d average_pooling2d average_pooling3d
    batch_normalization capture_upstream_gradients concatenate cropping1d cropping2d cropping3d discretization elu_layer
    flatten global_average_pooling1d global_average_pooling2d global_average_pooling3d global_max_pooling1d
    global_max_pooling2d global_max_pooling3d group_normalization instance_normalization layer_normalization leaky_re_lu
    masking max_pooling1d max_pooling2d max_pooling3d maximum minimum multiply normalization prelu random_flip re_lu
    recomputation_checkpoint softmax_layer subtract thresholded_re_lu unit_normalization up_sampling1d up_sampling2d
    up_sampling3d zero_padding1d zero_padding2d zero_padding3d
""".split()
NEED_ARGUMENTS = """
    alpha_dropout category_encoding center_crop conv1d conv1d_transpose conv2d conv2d_transpose conv3d conv3d_transpose
    conv_lstm1d conv_lstm2d conv_lstm3d dense depthwise_conv2d dot dropout einsum_dense embedding gaussian_dropout
    gaussian_noise gru input locally_connected1d locally_connected2d lstm multi_head_attention permute random_contrast
    random_crop random_rotation random_translation random_zoom repeat_vector rescaling reshape resizing separable_conv1d
    separable_conv2d serial_dense simple_rnn spatial_dropout1d spatial_dropout2d spatial_dropout3d
""".split()
# Class templates, whose argument says what they are: the compiler refuses to deduce it from nothing.
TEMPLATES = "bidirectional lambda rnn time_distributed".split()


def problems_of_lists():
    """What is wrong with the lists above, as a list of texts."""
    names = re.findall(r"^using layers::(\w+);", LAYERS.read_text(encoding="utf-8"), re.M)
    listed = STAND_ALONE + NEED_ARGUMENTS + TEMPLATES
    return [*(f"layer {name} of layers.hpp is in no list of this test" for name in names if name not in listed),
            *(f"{name} is in a list of this test, but is no layer of layers.hpp" for name in listed if name not in names),
            *(f"{name} is in two lists of this test" for name in set(listed) if listed.count(name) > 1)]


def compile_all(compiler):
    """What a compiler says of all layers, each made from empty braces at a line of its own; and the lines by name."""
    names = STAND_ALONE + NEED_ARGUMENTS
    lines = ["#include <stagecraft/layers/layers.hpp>",
             *(f"[[maybe_unused]] constexpr stagecraft::layers::{name} made_{name}{{}};" for name in names), ""]
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, compile_case.EXAMPLE).write_text("\n".join(lines), encoding="utf-8")
        limit = WITHOUT_LIMIT["clang" not in pathlib.Path(compiler).name]
        _, output = compile_case.compile_source(compiler, compile_case.EXAMPLE, [limit], folder)
    return compile_case.readable(output), {name: line for line, name in enumerate(names, 2)}


def problems_of(compiler):
    """What is wrong with what a compiler says, as a list of texts."""
    output, lines = compile_all(compiler)
    named = {int(line) for line in re.findall(rf"{re.escape(compile_case.EXAMPLE)}:(\d+):", output)}
    errors = compile_case.error_lines(output)
    found = [f"{name}{{}} is refused" for name in STAND_ALONE if lines[name] in named]
    for name in NEED_ARGUMENTS:
        of_layer = [text for text in errors if "[E1025]" in text and f" write {name}{{" in text]
        if lines[name] not in named or len(of_layer) != 1:
            found.append(f"{name}{{}} does not report E1025 at its line, but is {'reported' if of_layer else 'taken'}")
    found += [f"another error: {text}" for text in errors if "[E1025]" not in text]
    return [f"{compiler}: {text}" for text in found]


def main():
    found = problems_of_lists()
    for compiler in sys.argv[1:]:
        found += problems_of(compiler)
    print("\n".join(found) or "all layers do without arguments what the lists say")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
