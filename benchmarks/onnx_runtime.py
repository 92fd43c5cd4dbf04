# SPDX-License-Identifier: BSD-3-Clause
"""Inference of the benchmarks' two networks by ONNX Runtime, on one thread, to be held beside predictor_benchmark:

    pip install onnxruntime onnx
    python3 onnx_runtime.py [--repetitions=5]

Inputs and outputs are bound to memory once, so that a run copies nothing; what calling it from Python costs is printed as
`an empty model`. Packages that are missing end the program with status 77.
"""
import argparse
import statistics
import sys
import time

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    print(f"onnx_runtime.py: {missing}; pip install onnxruntime onnx")
    sys.exit(77)


class Network:
    """A chain of nodes with weights of its own."""

    def __init__(self, shape):
        self.shape, self.nodes, self.weights, self.last = shape, [], [], "x"
        self.random = numpy.random.default_rng(1)

    def add(self, kind, *weights, **attributes):
        names = []
        for extents in weights:
            names.append(f"w{len(self.weights)}")
            values = self.random.uniform(-0.1, 0.1, extents).astype(numpy.float32)
            self.weights.append(numpy_helper.from_array(values, names[-1]))
        result = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [self.last, *names], [result], **attributes))
        self.last = result
        return self

    def session(self):
        graph = helper.make_graph(
            self.nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def perceptron(batch):
    network = Network([batch, 784])
    network.add("Gemm", (784, 256), (256,)).add("Relu")
    network.add("Gemm", (256, 128), (128,)).add("Relu")
    return network.add("Gemm", (128, 10), (10,))


def convolutions(batch):
    network = Network([batch, 1, 28, 28])
    network.add("Conv", (32, 1, 3, 3), (32,)).add("Relu")
    network.add("Conv", (64, 32, 3, 3), (64,)).add("Relu")
    network.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2]).add("Flatten")
    network.add("Gemm", (9216, 128), (128,)).add("Relu")
    return network.add("Gemm", (128, 10), (10,))


def seconds_of(network, repetitions):
    session = network.session()
    x = onnxruntime.OrtValue.ortvalue_from_numpy(
        numpy.random.default_rng(2).uniform(0, 1, network.shape).astype(numpy.float32))
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", x)
    binding.bind_output(network.last)
    session.run_with_iobinding(binding)
    binding.bind_ortvalue_output(network.last, binding.get_outputs()[0])

    def run(count):
        begin = time.perf_counter()
        for _ in range(count):
            session.run_with_iobinding(binding)
        return (time.perf_counter() - begin) / count

    run(20)
    count = max(1, int(0.5 / run(20)))
    return statistics.median(run(count) for _ in range(repetitions))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    repetitions = parser.parse_args().repetitions
    print(f"ONNX Runtime {onnxruntime.__version__}, one thread, microseconds")
    for name, network in (("an empty model", Network([1, 1]).add("Identity")),
                          ("mlp/predict/batch:1", perceptron(1)),
                          ("cnn/predict/batch:1", convolutions(1)),
                          ("cnn/predict/batch:128", convolutions(128))):
        print(f"{name:24} {seconds_of(network, repetitions) * 1e6:10.1f}")


if __name__ == "__main__":
    main()
