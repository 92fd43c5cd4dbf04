# SPDX-License-Identifier: BSD-3-Clause
"""`stagecraft serve --grpc_port` by the clients of TensorFlow Serving and Triton, and the numbers of our protocol's messages
beside theirs. Run it with a Python that has them: pip install tensorflow tensorflow-serving-api
'tritonclient[grpc]' grpcio-health-checking

    check_grpc_clients.py <the program> <folder with scores/> [<folder with our .proto files>]
"""
import contextlib
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile

import grpc
import numpy
import tensorflow as tf
import tritonclient.grpc as triton
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2
from tensorflow_serving.apis import (classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2, model_management_pb2,
                                     model_service_pb2, model_service_pb2_grpc, predict_pb2, prediction_service_pb2,
                                     prediction_service_pb2_grpc, regression_pb2, session_service_pb2)
from tritonclient.grpc import service_pb2
from tritonclient.utils import np_to_triton_dtype, shared_memory

from running_server import FOLDER, check, serve, together, whole_test

PIXELS = numpy.array([[[0, 51, 102], [153, 204, 255]]] * 5)
SIZE = numpy.array([[0.5, -1]] * 5)


def refused(what, code, text, call):
    try:
        call()
    except grpc.RpcError as why:
        check(what, why.code() == code and text in why.details(), why.code(), why.details())
    except triton.InferenceServerException as why:
        check(what, why.status() == str(code) and text in why.message(), why.status(), why.message())
    else:
        check(what, False, "not refused")


def check_tensorflow(port):
    """Returns the outputs for PIXELS and SIZE."""
    channel = grpc.insecure_channel(f"localhost:{port}")
    stub, models = prediction_service_pb2_grpc.PredictionServiceStub(channel), model_service_pb2_grpc.ModelServiceStub(channel)

    def request(pixels, size):
        made = predict_pb2.PredictRequest()
        made.model_spec.name = "scores"
        made.inputs["pixels"].CopyFrom(pixels)
        made.inputs["size"].CopyFrom(size)
        return made

    first = None
    for pixel_type in "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64":
        for size_type in "float16", "float32", "float64":
            answer = stub.Predict(request(tf.make_tensor_proto(PIXELS.astype(pixel_type)), tf.make_tensor_proto(SIZE.astype(size_type))), timeout=60)
            outputs = {name: tf.make_ndarray(tensor) for name, tensor in answer.outputs.items()}
            first = first or outputs
            check("predict", all((outputs[name] == first[name]).all() for name in ("class", "scores")), pixel_type, size_type, outputs, first)
    check("shapes", first["class"].shape == (5,) and first["scores"].shape == (5, 2) and answer.model_spec.version.value == 1, first)
    # Lists in place of bytes, and one element for all, as a client may write them without NumPy.
    listed = request(tf.make_tensor_proto(PIXELS.ravel().tolist(), dtype=tf.int32, shape=PIXELS.shape), tf.make_tensor_proto(0.5, dtype=tf.bfloat16, shape=SIZE.shape))
    del listed.inputs["size"].half_val[:]
    listed.inputs["size"].tensor_content = b""
    listed.inputs["size"].half_val.append(0x3f00)
    same = request(tf.make_tensor_proto(PIXELS.astype("float32")), tf.make_tensor_proto(numpy.full(SIZE.shape, 0.5, "float32")))
    check("lists", (tf.make_ndarray(stub.Predict(listed).outputs["scores"]) == tf.make_ndarray(stub.Predict(same).outputs["scores"])).all())
    refused("booleans", grpc.StatusCode.INVALID_ARGUMENT, "which is no number of type bool",
            lambda: stub.Predict(request(tf.make_tensor_proto(PIXELS.astype("uint8")), wrong_booleans())))
    refused("texts", grpc.StatusCode.INVALID_ARGUMENT, "which is not taken",
            lambda: stub.Predict(request(tf.make_tensor_proto(PIXELS), tf.make_tensor_proto([["a", "b"]] * 5))))
    large = request(tf.make_tensor_proto(numpy.repeat(PIXELS, 20000, 0).astype("uint8")), tf.make_tensor_proto(numpy.repeat(SIZE, 20000, 0).astype("float32")))
    refused("deadline", grpc.StatusCode.DEADLINE_EXCEEDED, "", lambda: stub.Predict(large, timeout=0.001))
    wanted = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    wanted.model_spec.name = "scores"
    signatures = get_model_metadata_pb2.SignatureDefMap()
    stub.GetModelMetadata(wanted).metadata["signature_def"].Unpack(signatures)
    check("metadata", list(signatures.signature_def) == ["serving_default"] and
          [d.size for d in signatures.signature_def["serving_default"].inputs["pixels"].tensor_shape.dim] == [-1, 2, 3], signatures)
    classify, regress = classification_pb2.ClassificationRequest(), regression_pb2.RegressionRequest()
    classify.model_spec.name = regress.model_spec.name = "scores"
    refused("classify", grpc.StatusCode.INVALID_ARGUMENT, "Was: tensorflow/serving/predict", lambda: stub.Classify(classify))
    refused("regress", grpc.StatusCode.INVALID_ARGUMENT, "Was: tensorflow/serving/predict", lambda: stub.Regress(regress))
    several = inference_pb2.MultiInferenceRequest()
    several.tasks.add(method_name="tensorflow/serving/regress").model_spec.name = "scores"
    refused("several", grpc.StatusCode.INVALID_ARGUMENT, "Expected regression signature", lambda: stub.MultiInference(several))
    which = get_model_status_pb2.GetModelStatusRequest()
    which.model_spec.name = "scores"
    state = models.GetModelStatus(which).model_version_status
    check("status", len(state) == 1 and state[0].version == 1 and state[0].state == get_model_status_pb2.ModelVersionStatus.AVAILABLE, state)
    refused("no list", grpc.StatusCode.INVALID_ARGUMENT, "Only ModelConfigList is currently supported",
            lambda: models.HandleReloadConfigRequest(model_management_pb2.ReloadConfigRequest()))
    change = model_management_pb2.ReloadConfigRequest()
    config = change.config.model_config_list.config.add(name="scores", base_path=f"{FOLDER}/scores", model_platform="tensorflow")
    config.version_labels["stable"] = 1
    config.model_version_policy.specific.versions.append(1)
    check("reload", models.HandleReloadConfigRequest(change).status.error_code == 0)
    same.model_spec.version_label = "stable"
    check("a label", stub.Predict(same).model_spec.version.value == 1)
    same.model_spec.version_label = "x"
    refused("another label", grpc.StatusCode.INVALID_ARGUMENT, "Unrecognized servable version label: x", lambda: stub.Predict(same))
    config.version_labels["stable"] = 2
    refused("a label of no version", grpc.StatusCode.FAILED_PRECONDITION, "which is not currently available for inference", lambda: models.HandleReloadConfigRequest(change))
    return first


def scores_of_tensorflow(address, pixels, size):
    stub = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(address))
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "scores"
    request.inputs["pixels"].CopyFrom(tf.make_tensor_proto(pixels))
    request.inputs["size"].CopyFrom(tf.make_tensor_proto(size))
    scores = tf.make_ndarray(stub.Predict(request, timeout=5).outputs["scores"])
    return scores


def scores_of_triton(address, pixels, size):
    client = triton.InferenceServerClient(address)
    inputs = [triton.InferInput("pixels", list(pixels.shape), "UINT8"), triton.InferInput("size", list(size.shape), "FP32")]
    inputs[0].set_data_from_numpy(pixels)
    inputs[1].set_data_from_numpy(size)
    scores = client.infer("scores", inputs).as_numpy("scores")
    return scores


def wrong_booleans():
    """Booleans of which one is 2."""
    tensor = tf.make_tensor_proto(numpy.zeros(SIZE.shape, bool))
    tensor.tensor_content = bytes([0, 1, 2] + [0] * 7)
    return tensor


def inputs(pixels, size):
    result = [triton.InferInput("pixels", list(pixels.shape), np_to_triton_dtype(pixels.dtype)),
              triton.InferInput("size", list(size.shape), np_to_triton_dtype(size.dtype))]
    for tensor, values in zip(result, (pixels, size)):
        tensor.set_data_from_numpy(values)
    return result


def check_triton(port, first):
    client = triton.InferenceServerClient(f"localhost:{port}")
    check("health", client.is_server_live() and client.is_server_ready() and client.is_model_ready("scores") and not client.is_model_ready("none"))
    check("server", client.get_server_metadata(as_json=True)["name"] == "stagecraft")
    found = client.get_model_metadata("scores", as_json=True)
    check("metadata", found["inputs"][0] == {"name": "pixels", "datatype": "FP32", "shape": ["-1", "2", "3"]}, found)
    check("index", client.get_model_repository_index(as_json=True)["models"] == [{"name": "scores", "version": "1", "state": "READY"}])

    for kind in "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64":
        answer = client.infer("scores", inputs(PIXELS.astype(kind), SIZE.astype("float32")), request_id="a", client_timeout=60)
        check("infer", all((answer.as_numpy(name) == first[name]).all() for name in ("class", "scores")) and answer.get_response().id == "a", kind)
    answer = client.infer("scores", inputs(PIXELS.astype("uint8"), SIZE), outputs=[triton.InferRequestedOutput("scores")])
    check("an output", (answer.as_numpy("scores") == first["scores"]).all() and answer.as_numpy("class") is None)
    answers = queue.Queue()
    client.async_infer("scores", inputs(PIXELS.astype("uint8"), SIZE), callback=lambda result, error: answers.put((result, error)))
    result, error = answers.get(timeout=60)
    check("asynchronous", error is None and (result.as_numpy("scores") == first["scores"]).all(), error)
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    for i in range(20):
        client.async_stream_infer("none" if i == 7 else "scores", inputs(PIXELS.astype("uint8"), SIZE), request_id=str(i))
    for i in range(20):
        result, error = answers.get(timeout=60)
        check("stream", ("unknown model" in str(error)) if i == 7 else
              error is None and result.get_response().id == str(i) and (result.as_numpy("scores") == first["scores"]).all(), i, error)
    client.stop_stream()
    counts = client.get_inference_statistics("scores", as_json=True)["model_stats"][0]
    check("statistics", int(counts["inference_count"]) >= 100 and int(counts["inference_stats"]["success"]["count"]) >= 30 and
          int(counts["inference_stats"]["queue"]["count"]) >= 30, counts)
    refused("model", grpc.StatusCode.NOT_FOUND, "Request for unknown model: 'none' is not found", lambda: client.infer("none", inputs(PIXELS, SIZE)))
    refused("texts", grpc.StatusCode.INVALID_ARGUMENT, "which is not taken", lambda: client.infer("scores", inputs(numpy.full((5, 2, 3), b"a", object), SIZE)))
    client.unload_model("scores")
    check("unloaded", not client.is_model_ready("scores") and not client.is_server_ready())
    client.load_model("scores")
    check("loaded", client.is_model_ready("scores"))
    refused("another model", grpc.StatusCode.NOT_FOUND, "failed to load 'none', failed to poll from model repository", lambda: client.load_model("none"))
    best = client.infer("scores", inputs(PIXELS, SIZE), outputs=[triton.InferRequestedOutput("scores", class_count=1)]).as_numpy("scores")
    place = first["scores"].argmax(1)
    check("classification", best.shape == (5, 1) and [each.decode() for each in best[:, 0]] == [f"{first['scores'][i][k]:.6f}:{k}" for i, k in enumerate(place)], best)
    memory = shared_memory.create_shared_memory_region("all", f"/stagecraft_clients_{os.getpid()}", 5 * 8 + 5 * 8)
    try:
        shared_memory.set_shared_memory_region(memory, [SIZE.astype("float32")])
        client.register_system_shared_memory("all", f"/stagecraft_clients_{os.getpid()}", 80)
        check("regions", client.get_system_shared_memory_status(as_json=True)["regions"]["all"]["byte_size"] == "80")
        own, wanted = inputs(PIXELS.astype("uint8"), SIZE.astype("float32")), triton.InferRequestedOutput("scores")
        own[1].set_shared_memory("all", 40)
        wanted.set_shared_memory("all", 40, offset=40)
        client.infer("scores", own, outputs=[wanted])
        check("shared memory", (shared_memory.get_contents_as_numpy(memory, numpy.float32, [5, 2], 40) == first["scores"]).all())
        client.unregister_system_shared_memory("all")
    finally:
        shared_memory.destroy_shared_memory_region(memory)
    found = client.get_model_config("scores").config
    check("configuration", found.name == "scores" and found.max_batch_size == 3 and list(found.input[0].dims) == [2, 3] and found.input[0].data_type == 11 and
          found.output[1].name == "scores" and found.HasField("dynamic_batching"), found)
    refused("no configuration", grpc.StatusCode.NOT_FOUND, "Request for unknown model", lambda: client.get_model_config("none"))
    refused("time", grpc.StatusCode.DEADLINE_EXCEEDED, "", lambda: client.infer("scores", inputs(numpy.repeat(PIXELS, 4000, 0), numpy.repeat(SIZE, 4000, 0)), timeout=1))

    # Many callers at once.
    wrong = []

    def call(_):
        own = triton.InferenceServerClient(f"localhost:{port}")
        for _ in range(50):
            if (own.infer("scores", inputs(PIXELS.astype("uint8"), SIZE)).as_numpy("scores") != first["scores"]).any():
                wrong.append(1)

    together(16, call)()
    check("callers", not wrong, len(wrong))


def check_configured(port):
    """A model whose input is bytes, an ensemble of it, and Triton's settings."""
    bytes_of = [bytes(each.astype("uint8").ravel().tolist()) for each in PIXELS]
    client = triton.InferenceServerClient(f"localhost:{port}")
    expected = client.infer("numbers", inputs(PIXELS.astype("uint8"), SIZE.astype("float32")))
    pixels = triton.InferInput("pixels", [5, 1], "BYTES")
    pixels.set_data_from_numpy(numpy.array(bytes_of, dtype=numpy.object_).reshape(5, 1))
    size = inputs(PIXELS, SIZE.astype("float32"))[1]
    check("BYTES", (client.infer("texts", [pixels, size]).as_numpy("scores") == expected.as_numpy("scores")).all())
    check("metadata of BYTES", client.get_model_metadata("texts").inputs[0].datatype == "BYTES")
    check("configuration of BYTES", client.get_model_config("texts").config.input[0].data_type == 13)
    image = triton.InferInput("image", [5, 1], "BYTES")
    image.set_data_from_numpy(numpy.array(bytes_of, dtype=numpy.object_).reshape(5, 1))
    own = triton.InferInput("extent", [5, 2], "FP32")
    own.set_data_from_numpy(SIZE.astype("float32"))
    again = inputs(PIXELS.astype("uint8"), expected.as_numpy("scores"))
    second = client.infer("numbers", again).as_numpy("scores")
    check("an ensemble", (client.infer("both", [image, own]).as_numpy("again") == second).all())
    found = client.get_model_config("both").config
    check("an ensemble's configuration", found.platform == "ensemble" and [step.model_name for step in found.ensemble_scheduling.step] == ["texts", "texts"], found)
    stub = prediction_service_pb2_grpc.PredictionServiceStub(grpc.insecure_channel(f"localhost:{port}"))
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "texts"
    request.inputs["pixels"].CopyFrom(tf.make_tensor_proto(bytes_of, dtype=tf.string))
    request.inputs["size"].CopyFrom(tf.make_tensor_proto(SIZE.astype("float32")))
    found = tf.make_ndarray(stub.Predict(request, timeout=60).outputs["scores"])
    check("DT_STRING", (found == expected.as_numpy("scores")).all(), found)
    request.inputs["pixels"].CopyFrom(tf.make_tensor_proto([b"1234567"] * 5, dtype=tf.string))
    refused("a long text", grpc.StatusCode.INVALID_ARGUMENT, "has a text of 7 bytes, expected at most 6", lambda: stub.Predict(request, timeout=60))
    logs = client.get_log_settings(as_json=True)["settings"]
    check("logs", logs["log_info"] == {"bool_param": True} and "log_verbose_level" in logs, logs)
    found = client.update_log_settings({"log_info": False, "log_verbose_level": 0}, as_json=True)["settings"]
    check("changed logs", not found["log_info"].get("bool_param"), found)
    refused("a log file", grpc.StatusCode.INVALID_ARGUMENT, "log file location can not be updated", lambda: client.update_log_settings({"log_file": "a"}))
    traces = client.update_trace_settings("texts", {"trace_level": ["TIMESTAMPS"], "trace_rate": "7"}, as_json=True)["settings"]
    check("traces", traces["trace_rate"]["value"] == ["7"] and traces["trace_level"]["value"] == ["TIMESTAMPS"], traces)
    check("traces of others", client.get_trace_settings("both", as_json=True)["settings"]["trace_rate"]["value"] == ["1000"])
    check("back", client.update_trace_settings("texts", {"trace_rate": None}, as_json=True)["settings"]["trace_rate"]["value"] == ["1000"])
    refused("no such model", grpc.StatusCode.NOT_FOUND, "", lambda: client.get_trace_settings("none"))


def check_rest(port):
    """Triton's client of REST, where it is installed."""
    try:
        import tritonclient.http as rest
    except (ImportError, RuntimeError):  # it says by RuntimeError that its packages are missing
        return
    client = rest.InferenceServerClient(f"localhost:{port}")
    check("REST: health", client.is_server_live() and client.is_server_ready() and client.is_model_ready("both"))
    pixels, size = rest.InferInput("pixels", [5, 1], "BYTES"), rest.InferInput("size", [5, 2], "FP32")
    pixels.set_data_from_numpy(numpy.array([bytes(each.astype("uint8").ravel().tolist()) for each in PIXELS], dtype=numpy.object_).reshape(5, 1))
    size.set_data_from_numpy(SIZE.astype("float32"))
    numbers = rest.InferInput("pixels", [5, 2, 3], "UINT8")
    numbers.set_data_from_numpy(PIXELS.astype("uint8"))
    expected = client.infer("numbers", [numbers, size]).as_numpy("scores")
    check("REST: BYTES", (client.infer("texts", [pixels, size]).as_numpy("scores") == expected).all())
    size.set_data_from_numpy(SIZE.astype("float32"), binary_data=False)
    check("REST: JSON", (client.infer("numbers", [numbers, size], outputs=[rest.InferRequestedOutput("scores", binary_data=False)]).as_numpy("scores") == expected).all())
    best = client.infer("numbers", [numbers, size], outputs=[rest.InferRequestedOutput("scores", class_count=1)]).as_numpy("scores")
    check("REST: classification", best.shape == (5, 1) and best[0, 0].decode().endswith(f":{expected[0].argmax()}"), best)
    check("REST: metadata", client.get_model_metadata("both")["platform"] == "ensemble" and "trace" in client.get_server_metadata()["extensions"])
    check("REST: configuration", len(client.get_model_config("both")["ensemble_scheduling"]["step"]) == 2)
    check("REST: index", {each["name"] for each in client.get_model_repository_index()} == {"numbers", "texts", "both"})
    check("REST: statistics", client.get_inference_statistics("texts")["model_stats"][0]["inference_count"] >= 5)
    check("REST: logs", client.update_log_settings({"log_warning": False})["log_warning"] is False)
    check("REST: traces", client.update_trace_settings("texts", {"trace_rate": "9"})["trace_rate"] == "9" and client.get_trace_settings("both")["trace_rate"] == "1000")


def check_page(port):
    """Each method of the clients' services is on the page, and UNIMPLEMENTED where the page says that it is not here."""
    rows = [row for row in (pathlib.Path(sys.argv[3]).parents[4] / "docs" / "serving.md").read_text().splitlines() if row.startswith("|")]
    channel = grpc.insecure_channel(f"localhost:{port}")
    walked = 0
    for file in prediction_service_pb2, model_service_pb2, session_service_pb2, service_pb2:
        for service in file.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                named = [row for row in rows if re.search(rf"`(\w+\.)?{method.name}`", row.split(" | ")[0])]
                check("a method is on the page once", len(named) == 1, service.full_name, method.name)
                if method.name.endswith("StreamInfer") or not named:
                    continue
                call = channel.unary_unary(f"/{service.full_name}/{method.name}", request_serializer=bytes, response_deserializer=bytes)
                try:
                    call(b"", timeout=60)
                    code = grpc.StatusCode.OK
                except grpc.RpcError as why:
                    code = why.code()
                check("as the page says", (code == grpc.StatusCode.UNIMPLEMENTED) == ("UNIMPLEMENTED" in named[0]), method.name, code)
                walked += 1
    check("methods are walked", walked >= 25, walked)


ENSEMBLE = """
input [ { name: "image" data_type: TYPE_STRING dims: [ 1 ] }, { name: "extent" data_type: TYPE_FP32 dims: [ 2 ] } ]
output { name: "again" data_type: TYPE_FP32 dims: [ 2 ] }
ensemble_scheduling { step [
  { model_name: "texts" model_version: -1 input_map [ { key: "pixels" value: "image" }, { key: "size" value: "extent" } ] output_map { key: "scores" value: "between" } },
  { model_name: "texts" model_version: -1 input_map [ { key: "pixels" value: "image" }, { key: "size" value: "between" } ] output_map { key: "scores" value: "again" } } ] }
"""


@contextlib.contextmanager
def configured_server():
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        shutil.copytree(f"{FOLDER}/scores", folder / "texts" / "1")
        (folder / "texts" / "config.pbtxt").write_text('input { name: "pixels" data_type: TYPE_STRING dims: [ 1 ] }')
        (folder / "both" / "1").mkdir(parents=True)
        (folder / "both" / "config.pbtxt").write_text(ENSEMBLE)
        with serve("--grpc_port", "0", "--model", f"numbers={FOLDER}/scores", "--model", f"texts={folder}/texts", "--model", f"both={folder}/both",
                   "--trace_file", f"{folder}/trace.json", grpc=True) as own:
            yield own.port, own.grpc


def messages_of(files, package):
    """The messages, values of enumerations and methods of descriptors, by their names."""
    found = {}

    def add(message, name):
        found[name] = {f.name: (f.number, f.label, f.type, f.type_name) for f in message.field}
        for each in message.nested_type:
            add(each, f"{name}.{each.name}")
        for each in message.enum_type:
            found[f"{name}.{each.name}"] = {v.name: v.number for v in each.value}

    for file in files:
        prefix = f"{file.package}."
        if not prefix.startswith(package):
            continue
        for each in file.message_type:
            add(each, prefix + each.name)
        for each in file.enum_type:
            found[prefix + each.name] = {v.name: v.number for v in each.value}
        for each in file.service:
            found[prefix + each.name] = {m.name: (m.input_type, m.output_type, m.client_streaming, m.server_streaming) for m in each.method}
    return found


def check_protocol(folder):
    """Each message, field and method of ours has the numbers and types of theirs, which may have more."""
    theirs, waiting = {}, [prediction_service_pb2.DESCRIPTOR, model_service_pb2.DESCRIPTOR, service_pb2.DESCRIPTOR, tf.train.Example.DESCRIPTOR.file, health_pb2.DESCRIPTOR]
    seen = set()
    while waiting:
        file = waiting.pop()
        if file.name in seen:
            continue
        seen.add(file.name)
        waiting += list(file.dependencies)
        proto = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(proto)
        theirs |= messages_of([proto], "tensorflow.") | messages_of([proto], "inference.") | messages_of([proto], "grpc.health.")
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", "-I", folder, "-o", out.name, *map(str, pathlib.Path(folder).glob("*.proto"))], check=True)
        ours = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(out.name).read_bytes()).file
    own = messages_of(ours, "tensorflow.") | messages_of(ours, "inference.") | messages_of(ours, "grpc.health.")
    check("the protocol is read", len(own) > 80, len(own))
    for name, members in own.items():
        for member, numbers in members.items():
            if (name, member) == ("tensorflow.serving.StatusProto", "error_code"):
                continue  # theirs is an enumeration, which has the same bytes
            if name in ("tensorflow.serving.ExampleList", "tensorflow.serving.ExampleListWithContext"):  # ours are bytes: those of their messages
                check("a list of examples", (*numbers[:2], 11) == theirs[name][member][:3] and numbers[2] == 12, name, member, numbers)
                continue
            check("a member", numbers == theirs.get(name, {}).get(member), name, member, numbers, theirs.get(name, {}).get(member))


with whole_test(500):
    if len(sys.argv) > 3:
        check_protocol(sys.argv[3])
    with serve("--grpc_port", "0", "--model_name", "scores", "--model_base_path", f"{FOLDER}/scores", "--model_control_mode", "explicit",
               "--allow_shared_memory", grpc=True) as server:
        first = check_tensorflow(server.grpc)
        check_triton(server.grpc, first)
        for ask in scores_of_tensorflow, scores_of_triton:
            check("the page's example", (ask(f"localhost:{server.grpc}", PIXELS.astype("uint8"), SIZE.astype("float32")) == first["scores"]).all(), ask)
    with configured_server() as (rest_port, port):
        check_configured(port)
        check_rest(rest_port)
        if len(sys.argv) > 3:
            check_page(port)
