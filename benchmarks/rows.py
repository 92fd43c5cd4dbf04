# SPDX-License-Identifier: BSD-3-Clause
"""The rows of the benchmarks' table, and the budgets that they have to meet.

A row compares benchmarks of one group. A benchmark's name is <group>/<whose>; `group` is a regular expression for the
whole group, and the row appears once for each group that fits. Budgets are written `>= 1.15` or `<= 0.9`; the value is
stagecraft's figure over the peer's. A row without one is there to be seen.
"""
from dataclasses import dataclass

# Programs of stagecraft's own that are no peers.
OWN = ("stagecraft", "kernels", "one_thread", "no_stages", "trainer", "hand_loop", "fast_activations")
NAMES = {
    "eigen": "Eigen",
    "openblas": "OpenBLAS",
    "onednn": "oneDNN",
    "onednn_sgemm": "oneDNN sgemm",
    "xtensor": "xtensor's include",
    "one_thread": "one thread",
    "no_stages": "no stages",
    "half": "32 layers",
    "by_hand": "loops by hand",
    "rtneural_eigen": "RTNeural (Eigen)",
    "rtneural_xsimd": "RTNeural (xsimd)",
    "hand_loop": "the loop by hand",
    "fma_peak": "FMA peak",
    "mutex": "std::mutex",
    "floats": "float32",
    "host": "on the host",
    "onnxruntime": "ONNX Runtime",
    "none": "",
}


@dataclass(frozen=True)
class Row:
    """One kind of row: `counter` of stagecraft's benchmark over that of the best of `peers` (all of the group if none).

    `against` replaces the peers: "fma_peak" is the limit of the same run, "none" gives the counter itself.
    """
    section: str
    group: str
    title: str
    counter: str
    budget: str = ""
    peers: tuple = ()
    against: str = ""
    unit: str = ""


TRAINING = "Training, samples/s"
INFERENCE = "Inference"
PRODUCTS = "Matrix products, one thread, FLOP/s"
CONVOLUTIONS = "Convolutions, one thread, FLOP/s"
ELEMENTWISE = "Elementwise, reductions, softmax, normalization, one thread, bytes/s"
THREADS = "Two threads over one"
NEIGHBOUR = "Two threads over one, on two cores beside a busy program"
COMPILING = "Compiling"
PIPELINES = "Pipelines, one thread"
QUEUES = "Handing over between two threads, items/s"
ALLOCATIONS = "Allocations in a step after the first"

MLP = "MLP 784-256-128-10"
CNN = "small CNN"
LSTM = "LSTM 128 to 256, 64 steps, batch 32"
EMBEDDING = "embedding 10000 x 128, 256 steps, batch 32"
ATTENTION = "attention, 4 heads, 128 places of 256, batch 8"
BLOCK = "transformer block, 4 heads, 128 places of 256, 1024 units, batch 8"
FOUR = "MLP 384-256-256-256-256 in four stages"
# Shapes with as many units as registers have floats; 10 units use 10 lanes of 16.
WIDE = r"(32x32x32|64x64x64|128x128x128|256x256x256|512x512x512|(?:32|128)x784x256|(?:32|128)x256x128)"
NARROW = r"((?:32|128)x128x10)"
LIMITED_BY_MEMORY = r"(1x784x256|1x256x128|1024x1024x1024)"

PASS = "(conv2d|input_gradient|filter_gradient)"

# Fractions of the machine's limit that a row, and a matrix product, should reach.
LEAST_OF_LIMIT = 0.85
LEAST_OF_PRODUCTS = 0.9


def least_of_limit(section):
    return LEAST_OF_PRODUCTS if section == PRODUCTS else LEAST_OF_LIMIT


ROWS = [
    Row(TRAINING, r"mlp/rmsprop/batch:32/threads:1", f"{MLP}, RMSprop, batch 32, 1 thread", "samples/s", ">= 1.4"),
    Row(TRAINING, r"mlp/rmsprop/batch:128/threads:1", f"{MLP}, RMSprop, batch 128, 1 thread", "samples/s", ">= 1.2"),
    Row(TRAINING, r"mlp/sgd/batch:(\d+)/threads:1", MLP + r", SGD, batch \1, 1 thread", "samples/s"),
    Row(TRAINING, r"mlp/rmsprop/batch:(\d+)/threads:2", MLP + r", RMSprop, batch \1, 2 threads", "samples/s"),
    Row(TRAINING, r"mlp/sgd/batch:(\d+)/threads:2", MLP + r", SGD, batch \1, 2 threads", "samples/s"),
    Row(TRAINING, r"cnn/rmsprop/batch:(\d+)/threads:1", CNN + r", RMSprop, batch \1, 1 thread", "samples/s", ">= 1.25"),
    Row(TRAINING, r"cnn/sgd/batch:(\d+)/threads:1", CNN + r", SGD, batch \1, 1 thread", "samples/s", ">= 1.25"),
    Row(TRAINING, r"cnn/rmsprop/batch:(\d+)/threads:2", CNN + r", RMSprop, batch \1, 2 threads", "samples/s"),

    # pytorch_wgan.py holds it beside PyTorch's: that is not among the programs that run.py runs.
    Row(TRAINING, r"steps/wgan_gp/threads:1", "GAN with gradient penalty, a step of one's own, batch 64, 1 thread",
        "samples/s", against="none", unit="samples/s"),
    Row(TRAINING, r"steps/as_fit/threads:1", f"{MLP}, Adam, batch 64, a step of one's own over fit, 1 thread", "time",
        "<= 1.02", peers=("trainer",)),
    Row(TRAINING, r"steps/own/threads:1", f"{MLP}, Adam, batch 64, a step that fit does not carry out over fit, 1 thread",
        "time", "<= 1.05", peers=("trainer",)),
    Row(TRAINING, r"steps/normalized/threads:1",
        "MLP with batch normalizations, Adam, batch 64, a step that fit does not carry out over fit, 1 thread", "time",
        "<= 1.05", peers=("trainer",)),

    Row(TRAINING, r"sequence/lstm/training/threads:(\d)", LSTM + r", threads: \1", "samples/s"),
    Row(TRAINING, r"sequence/attention/training/threads:(\d)", ATTENTION + r", threads: \1", "samples/s"),
    Row(TRAINING, r"sequence/transformer_block/training/threads:(\d)", BLOCK + r", threads: \1", "samples/s"),
    Row(TRAINING, r"sequence/embedding/training/threads:1", EMBEDDING + ", 1 thread", "samples/s"),

    Row(INFERENCE, r"sequence/lstm/inference/threads:(\d)", LSTM + r", threads: \1", "samples/s"),
    Row(INFERENCE, r"sequence/attention/inference/threads:(\d)", ATTENTION + r", threads: \1", "samples/s"),
    Row(INFERENCE, r"sequence/transformer_block/inference/threads:(\d)", BLOCK + r", threads: \1", "samples/s"),
    Row(INFERENCE, r"sequence/embedding/inference/threads:1", EMBEDDING + ", 1 thread", "samples/s"),
    Row(INFERENCE, r"mlp/predict/batch:1/threads:1", f"{MLP}, batch 1, 1 thread", "time", "<= 0.9"),
    Row(INFERENCE, r"mlp/predict/batch:256/threads:1", f"{MLP}, batch 256, 1 thread", "samples/s", ">= 1.05"),
    Row(INFERENCE, r"mlp/predict/batch:256/threads:2", f"{MLP}, batch 256, 2 threads", "samples/s"),
    Row(INFERENCE, r"cnn/predict/batch:1/threads:1", f"{CNN}, batch 1, 1 thread", "time", "<= 0.92"),
    Row(INFERENCE, r"cnn/predict/batch:1/threads:2", f"{CNN}, batch 1, 2 threads", "time"),
    Row(INFERENCE, r"cnn/predict/batch:128/threads:1", f"{CNN}, batch 128, 1 thread", "samples/s"),
    Row(INFERENCE, r"cnn/predict/batch:128/threads:2", f"{CNN}, batch 128, 2 threads", "samples/s"),
    Row(TRAINING, r"ipu_(mlp|cnn)/rmsprop/batch:(\d+)/threads:1", r"on an emulated IPU: \1, RMSprop, batch \2, 1 thread",
        "samples/s"),
    # Of resnet50.py, where Keras has made the model: not among the programs that run.py runs.
    Row(INFERENCE, r"resnet50/predict/batch:1/threads:1", "ResNet-50 imported from Keras, batch 1, 1 thread", "time"),

    Row(INFERENCE, r"mlp_predictor/predict/batch:1/threads:1", f"{MLP}, predictor, batch 1, 1 thread", "time", "<= 1"),
    Row(INFERENCE, r"cnn_predictor/predict/batch:1/threads:1", f"{CNN}, predictor, batch 1, 1 thread", "time", "<= 1"),
    Row(INFERENCE, r"realtime/(.+)", r"\1, one sample a call, 1 thread", "time", "<= 1"),
    Row(INFERENCE, r"realtime/(.+)", r"\1, one sample a call, one call in a thousand, 1 thread", "p99.9"),
    Row(INFERENCE, r"cnn_predictor/predict/batch:128/threads:1", f"{CNN}, predictor, batch 128, 1 thread",
        "samples/s", ">= 1"),

    Row(PRODUCTS, rf"forward/{WIDE}", r"matmul \1", "FLOP/s", ">= 1.15", peers=("openblas",)),
    Row(PRODUCTS, rf"forward/{WIDE}", r"matmul \1", "FLOP/s", ">= 0.83", against="fma_peak"),
    Row(PRODUCTS, rf"forward/{WIDE}", r"matmul \1, all peers", "FLOP/s"),
    Row(PRODUCTS, rf"forward/{NARROW}", r"matmul \1", "FLOP/s", ">= 1.15", peers=("openblas",)),
    Row(PRODUCTS, rf"forward/{LIMITED_BY_MEMORY}", r"matmul \1", "FLOP/s"),
    Row(PRODUCTS, r"bfloat16_forward/(.*)", r"bfloat16 matmul \1", "FLOP/s", peers=("onednn",)),
    Row(PRODUCTS, r"bfloat16_forward/(.*)", r"bfloat16 matmul \1 over floats", "FLOP/s", peers=("floats",)),
    Row(CONVOLUTIONS, rf"bfloat16_{PASS}/(.*)/batch:(\d+)", r"bfloat16 \1 \2, batch \3", "FLOP/s", peers=("onednn",)),
    Row(CONVOLUTIONS, rf"bfloat16_{PASS}/(.*)/batch:(\d+)", r"bfloat16 \1 \2, batch \3, over floats", "FLOP/s",
        peers=("floats",)),
    Row(TRAINING, r"lstm_bfloat16/train", "LSTM, mixed_bfloat16 over float32", "FLOP/s"),
    Row(INFERENCE, r"lstm_bfloat16/predict", "LSTM, mixed_bfloat16 over float32", "FLOP/s"),
    Row(TRAINING, r"mlp_bfloat16/(rmsprop)/batch:(\d+)", r"perceptron, \1, batch \2, mixed_bfloat16 over float32",
        "FLOP/s"),
    Row(INFERENCE, r"mlp_bfloat16/predict/batch:(\d+)", r"perceptron, batch \1, mixed_bfloat16 over float32", "FLOP/s"),
    Row(PRODUCTS, r"weight_gradient/(.*)", r"weight gradient \1", "FLOP/s"),
    Row(PRODUCTS, r"input_gradient/(.*)", r"input gradient \1", "FLOP/s"),

    Row(CONVOLUTIONS, r"((?:depthwise_)?conv2d)/(.*)/batch:(\d+)", r"\1 \2, batch \3", "FLOP/s"),
    Row(CONVOLUTIONS, r"((?:depthwise_)?conv2d)_(\w+)_gradient/(.*)/batch:(\d+)",
        r"\1 \2 gradient \3, batch \4", "FLOP/s"),

    Row(ELEMENTWISE, r"(relu|exp|tanh|gelu|sum)/(16K|1M)", r"\1, \2 floats", "bytes/s", ">= 1"),
    Row(ELEMENTWISE, r"(adagrad|adadelta|adamax|ftrl|sgdw|adamw|lamb|lars)/(16K|1M)", r"update of weights with \1, \2 floats", "bytes/s", ">= 1"),
    # A loop that is generated takes at most 1.1 times as long as the same by hand.
    Row(ELEMENTWISE, r"(adamw|adagrad|sgdw)/(16K|1M)", r"generated loop of \1, \2 floats", "bytes/s", ">= 0.91",
        peers=("hand_loop",)),
    Row(ELEMENTWISE, r"softmax_(10|1024)/(16K|1M)", r"softmax, rows of \1, \2 floats", "bytes/s", ">= 1"),
    Row(ELEMENTWISE, r"layer_normalization_(10|1024)/(16K|1M)", r"layer normalization, rows of \1, \2 floats",
        "bytes/s", ">= 1"),

    Row(THREADS, r"mlp/rmsprop/batch:128/threads:2", f"{MLP}, training, RMSprop, batch 128", "samples/s", ">= 1.7",
        peers=("one_thread",)),
    Row(THREADS, r"mlp/predict/batch:256/threads:2", f"{MLP}, inference, batch 256", "samples/s", ">= 1.7",
        peers=("one_thread",)),
    Row(THREADS, r"cnn/rmsprop/batch:32/threads:2", f"{CNN}, training, RMSprop, batch 32", "samples/s", ">= 1.7",
        peers=("one_thread",)),
    Row(THREADS, r"cnn/predict/batch:128/threads:2", f"{CNN}, inference, batch 128", "samples/s", ">= 1.7",
        peers=("one_thread",)),

    Row(THREADS, r"sequence/(lstm|attention|transformer_block)/(training|inference)/threads:2", r"\1, \2", "samples/s",
        peers=("one_thread",)),
    Row(THREADS, r"pipeline/training_(grouped|interleaved)/threads:2", FOUR + r", training, \1", "samples/s", ">= 1.5",
        peers=("one_thread",)),
    Row(THREADS, r"pipeline/training_(sequential)/threads:2", FOUR + r", training, \1", "samples/s",
        peers=("one_thread",)),
    Row(THREADS, r"pipeline/inference_(grouped|interleaved|sequential)/threads:2", FOUR + r", inference, \1",
        "samples/s", peers=("one_thread",)),
    Row(THREADS, r"pipeline/(training|inference)_two_replicas/threads:2",
        r"two replicas of this MLP without stages, \1", "samples/s", peers=("one_thread",)),

    Row(NEIGHBOUR, r"neighbour/mlp/threads:2", f"{MLP}, training, RMSprop, batch 32", "samples/s", ">= 1",
        peers=("one_thread",)),
    Row(NEIGHBOUR, r"neighbour/cnn/threads:2", f"{CNN}, training, RMSprop, batch 32", "samples/s", ">= 1",
        peers=("one_thread",)),
    Row(NEIGHBOUR, r"neighbour/pipeline/threads:2", FOUR + ", training, grouped", "samples/s", peers=("one_thread",)),

    Row(PIPELINES, r"pipeline/training_(grouped|interleaved|sequential)/threads:1", FOUR + r", training, \1", "time",
        "<= 1.15", peers=("no_stages",)),
    Row(PIPELINES, r"pipeline/inference_(grouped|interleaved|sequential)/threads:1", FOUR + r", inference, \1", "time",
        peers=("no_stages",)),
    Row(PIPELINES, r"pipeline/(training|inference)_two_replicas/threads:1",
        r"two replicas of this MLP without stages, \1", "samples/s", peers=("no_stages",)),

    Row(QUEUES, r"queue/(infeed|outfeed)/threads:2", r"\1 queue, no work beside it", "items/s"),
    Row(QUEUES, r"queue/(infeed|outfeed)_busy_20us/threads:2", r"\1 queue, 20 microseconds of work for each", "items/s"),
    Row(QUEUES, r"queue/there_and_back/threads:2", "a count published, and one awaited in return", "items/s"),

    Row(ALLOCATIONS, r"mlp/rmsprop/batch:32/threads:1", f"{MLP}, training", "allocations/step", "<= 0", against="none"),
    Row(ALLOCATIONS, r"mlp/predict/batch:256/threads:1", f"{MLP}, inference", "allocations/step", "<= 0",
        against="none"),
    Row(ALLOCATIONS, r"cnn/rmsprop/batch:32/threads:1", f"{CNN}, training", "allocations/step", "<= 0", against="none"),
    Row(ALLOCATIONS, r"(mlp|cnn)_predictor/predict/batch:1/threads:1", r"\1, a call of a predictor", "allocations/step",
        "<= 0", against="none"),
    Row(ALLOCATIONS, r"realtime/(.+)", r"\1, a call with arrays", "allocations/step", "<= 0", against="none"),
    Row(ALLOCATIONS, r"cnn/predict/batch:128/threads:1", f"{CNN}, inference", "allocations/step", "<= 0",
        against="none"),

    Row(ALLOCATIONS, r"pipeline/training_grouped/threads:(1|2)", FOUR + r", training, threads: \1", "allocations/step",
        "<= 0", against="none"),

    Row(COMPILING, r"compile/five_layers/(\w+)", r"stage check of five layers, \1", "seconds", "<= 1"),
    Row(COMPILING, r"compile/resnet50/(\w+)", r"trace and stage check of ResNet-50, \1", "seconds", "<= 2"),
    Row(COMPILING, r"compile/chain/(\w+)", r"64 layers over 32, declarations, \1", "declarations", "<= 2.2"),
    Row(COMPILING, r"compile/chain/(\w+)", r"64 layers over 32, expressions, \1", "expressions", "<= 2.2"),
    Row(COMPILING, r"compile/01_mnist/(\w+)", r"MNIST training program, time, \1", "seconds", "<= 1"),
    Row(COMPILING, r"compile/01_mnist/(\w+)", r"MNIST training program, memory, \1", "MB", "<= 1"),
    Row(COMPILING, r"compile/02_cnn/(\w+)", r"CNN training program, time, \1", "seconds", against="none", unit="s"),
    Row(COMPILING, r"compile/02_cnn/(\w+)", r"CNN training program, memory, \1", "MB", against="none", unit="MB"),
]
