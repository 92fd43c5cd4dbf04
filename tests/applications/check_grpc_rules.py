# SPDX-License-Identifier: BSD-3-Clause
"""The rules of gRPC's pages and protocol files: TensorFlow Serving's PredictionService and ModelService, and KServe's
GRPCInferenceService (the Open Inference Protocol, version 2), each as a request with its answer or its error, by the messages of the
clients' own packages, over one running server. Run it with a Python that has tensorflow-serving-api, tritonclient[grpc] and
grpcio-health-checking.

    check_grpc_rules.py <the program> <folder with scores/>

Models are those of check_serve_rules.py: `plain`, whose y is twice its x, versions 1 and 2, the label stable for 1; `texts`; `scores`;
`broken`, which cannot be loaded; and those with signatures of examples.
"""
import math
import pathlib
import struct
import tempfile

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from running_server import check, make_plain_models, serve, whole_test
from tensorflow.core.example import example_pb2
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2, model_service_pb2_grpc, predict_pb2,
                                     prediction_service_pb2_grpc, regression_pb2)
from tritonclient.grpc import service_pb2, service_pb2_grpc

OK, WRONG, MISSING = grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
PRECONDITION, FAILED = grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INTERNAL
EXPECTED_CLASSIFY = "Expected classification signature method_name to be tensorflow/serving/classify. Was: tensorflow/serving/predict"


def tensor(kind="DT_FLOAT", shape=(1, 2), content=None, **lists):
    made = tensor_pb2.TensorProto(dtype=types_pb2.DataType.Value(kind), **lists)
    for length in shape:
        made.tensor_shape.dim.add(size=length)
    if content is not None:
        made.tensor_content = content
    return made


def predict(x=None, model="plain", version=None, label="", signature="", outputs=(), **others):
    made = predict_pb2.PredictRequest(output_filter=outputs)
    made.model_spec.name, made.model_spec.signature_name = model, signature
    if label:
        made.model_spec.version_label = label
    if version is not None:
        made.model_spec.version.value = version
    inputs = {"x": tensor(float_val=[1, 2]) if x is None else x} if model != "scores" else {}
    for name, value in {**inputs, **others}.items():
        made.inputs[name].CopyFrom(value)
    return made


def outputs_are(*numbers, version=2):
    return lambda found: list(found.outputs) == ["y"] and found.outputs["y"].dtype == types_pb2.DT_FLOAT and list(found.outputs["y"].float_val) == list(numbers) and \
        [each.size for each in found.outputs["y"].tensor_shape.dim] == [len(numbers) // 2, 2] and found.model_spec.version.value == version


def without_model():
    made = predict()
    made.ClearField("model_spec")
    return made


LISTS = (("DT_FLOAT", "float_val", [1, 2]), ("DT_DOUBLE", "double_val", [1, 2]), ("DT_INT32", "int_val", [1, 2]), ("DT_INT16", "int_val", [1, 2]),
         ("DT_UINT16", "int_val", [1, 2]), ("DT_INT8", "int_val", [1, 2]), ("DT_UINT8", "int_val", [1, 2]), ("DT_INT64", "int64_val", [1, 2]),
         ("DT_UINT32", "uint32_val", [1, 2]), ("DT_UINT64", "uint64_val", [1, 2]), ("DT_HALF", "half_val", [0x3c00, 0x4000]), ("DT_BFLOAT16", "half_val", [0x3f80, 0x4000]))
CONTENTS = (("DT_FLOAT", "2f"), ("DT_DOUBLE", "2d"), ("DT_INT32", "2i"), ("DT_INT16", "2h"), ("DT_UINT16", "2H"), ("DT_INT8", "2b"), ("DT_UINT8", "2B"), ("DT_INT64", "2q"),
            ("DT_UINT32", "2I"), ("DT_UINT64", "2Q"), ("DT_HALF", "2e"))
# Each rule: its words, the request, the status, and a question to the answer, or words of the error.
PREDICT = (
    ("the highest version answers", predict(), OK, outputs_are(2, 4)),
    ("a version answers", predict(version=1), OK, outputs_are(2, 4, version=1)),
    ("a label answers", predict(label="stable"), OK, outputs_are(2, 4, version=1)),
    ("the answer has the model's name and signature", predict(), OK, lambda found: (found.model_spec.name, found.model_spec.signature_name) == ("plain", "serving_default")),
    ("the signature serving_default", predict(signature="serving_default"), OK, outputs_are(2, 4)),
    *((f"{kind} in a list", predict(tensor(kind, **{name: values})), OK, outputs_are(2, 4)) for kind, name, values in LISTS),
    *((f"{kind} in bytes", predict(tensor(kind, content=struct.pack("<" + form, 1, 2))), OK, outputs_are(2, 4)) for kind, form in CONTENTS),
    ("DT_BFLOAT16 in bytes", predict(tensor("DT_BFLOAT16", content=b"\x80\x3f\x00\x40")), OK, outputs_are(2, 4)),
    ("DT_BOOL in a list", predict(tensor("DT_BOOL", bool_val=[True, False])), OK, outputs_are(2, 0)),
    ("DT_BOOL in bytes", predict(tensor("DT_BOOL", content=b"\1\0")), OK, outputs_are(2, 0)),
    ("DT_STRING for an input of bytes", predict(tensor("DT_STRING", shape=[1], string_val=[b"\2\3"]), model="texts"), OK, outputs_are(4, 6, version=1)),
    ("a short list goes on with its last number", predict(tensor(float_val=[3])), OK, outputs_are(6, 6)),
    ("an empty list is zeros", predict(tensor()), OK, outputs_are(0, 0)),
    ("more samples than a batch has", predict(tensor(shape=[9, 2], float_val=range(18))), OK, outputs_are(*(2.0 * i for i in range(18)))),
    ("NaN is a number", predict(tensor(float_val=[math.nan, 1])), OK, lambda found: math.isnan(found.outputs["y"].float_val[0])),
    ("outputs that are asked for", predict(outputs=["y"]), OK, outputs_are(2, 4)),
    ("no model", without_model(), WRONG, "Missing ModelSpec"),
    ("an unknown model", predict(model="none"), MISSING, "Servable not found for request: Latest(none)"),
    ("an unknown version", predict(version=9), MISSING, "Servable not found for request: Specific(plain, 9)"),
    ("an unknown label", predict(label="x"), WRONG, "Unrecognized servable version label: x"),
    ("a model that cannot be loaded", predict(model="broken"), MISSING, "Latest(broken)"),
    ("an unknown signature", predict(signature="x"), PRECONDITION, "Serving signature key \"x\" not found."),
    ("no inputs", predict(model="scores"), WRONG, "Missing but required: {pixels,size}"),
    ("an input too many", predict(z=tensor()), WRONG, "Sent extra: {z}"),
    ("an output that is none", predict(outputs=["z"]), WRONG, "output tensor alias not found in signature: z"),
    ("an output twice", predict(outputs=["y", "y"]), WRONG, "duplicate output tensor alias: y"),
    ("another shape", predict(tensor(shape=[1, 3])), WRONG, "expected a batch of (2,)"),
    ("no batch", predict(tensor(shape=[2], float_val=[1, 2])), WRONG, "expected a batch of (2,)"),
    ("an unknown length", predict(tensor(shape=[-1, 2])), WRONG, "expected a batch of (2,)"),
    ("more numbers than the shape", predict(tensor(float_val=[1, 2, 3])), WRONG, "has 3 numbers, expected 2"),
    ("other bytes than the shape's", predict(tensor(content=b"abc")), WRONG, "has 3 bytes of tensor_content, expected 8"),
    ("a number that the type has not", predict(tensor("DT_UINT8", int_val=[256, 0])), WRONG, "is 256, which is no number of type uint8"),
    ("a number beyond float32", predict(tensor("DT_DOUBLE", double_val=[1e300, 0])), WRONG, "which is no number of type float32"),
    ("texts for an input of numbers: its type", predict(tensor("DT_STRING", string_val=[b"1", b"2"])), WRONG, "has datatype 'DT_STRING', which is not taken"),
    ("complex numbers", predict(tensor("DT_COMPLEX64", scomplex_val=[1, 0, 2, 0])), WRONG, "has the type 8 of TensorFlow's, which is not taken"),
    ("quantized numbers", predict(tensor("DT_QINT8", int_val=[1, 2])), WRONG, "has the type 11 of TensorFlow's, which is not taken"),
    ("no type", predict(tensor("DT_INVALID")), WRONG, "has the type 0 of TensorFlow's, which is not taken"),
    ("the model has failed", predict(tensor(float_val=[-500, 0])), FAILED, "the first number is -500"),
)


def metadata(model="plain", fields=("signature_def",), version=None):
    made = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    made.model_spec.name = model
    if version is not None:
        made.model_spec.version.value = version
    return made


def signature_is_plain(found):
    signatures = get_model_metadata_pb2.SignatureDefMap()
    found.metadata["signature_def"].Unpack(signatures)
    own = signatures.signature_def["serving_default"]
    return own.method_name == "tensorflow/serving/predict" and [d.size for d in own.inputs["x"].tensor_shape.dim] == [-1, 2] and own.outputs["y"].dtype == types_pb2.DT_FLOAT


def status(model="plain", version=None):
    made = get_model_status_pb2.GetModelStatusRequest()
    made.model_spec.name = model
    if version is not None:
        made.model_spec.version.value = version
    return made


def of_model(kind, model="plain"):
    made = kind()
    made.model_spec.name = model
    return made


def multi(method):
    made = inference_pb2.MultiInferenceRequest()
    made.tasks.add(method_name=method).model_spec.name = "plain"
    return made


def states_are(*expected):
    return lambda found: [(each.version, each.state) for each in found.model_version_status] == list(expected)


def bytes_of(**features):
    """An example: lists of bytes, of numbers, and of whole numbers."""
    made = example_pb2.Example()
    for name, values in features.items():
        own = made.features.feature[name]
        (own.bytes_list if isinstance(values[0], bytes) else own.float_list if isinstance(values[0], float) else own.int64_list).value.extend(values)
    return made


def with_examples(kind, signature, *examples, model="rows", context=None):
    made = of_model(kind, model)
    made.model_spec.signature_name = signature
    if context is not None:
        made.input.example_list_with_context.context.CopyFrom(context)
    (made.input.example_list if context is None else made.input.example_list_with_context).examples.extend(examples)
    return made


def classify(signature, *examples, **more):
    return with_examples(classification_pb2.ClassificationRequest, signature, *examples, **more)


def regress(signature, *examples, **more):
    return with_examples(regression_pb2.RegressionRequest, signature, *examples, **more)


def classes_are(*expected, signature="pairs"):
    return lambda found: [[(each.label, each.score) for each in one.classes] for one in found.result.classifications] == list(map(list, expected)) and \
        (found.model_spec.signature_name, found.model_spec.version.value) == (signature, 1)


def pair(low, high):
    return ("low", low), ("high", high)


def tasks(*of, examples=(), model="examples"):
    made = inference_pb2.MultiInferenceRequest()
    for method, signature in of:
        spec = made.tasks.add(method_name=f"tensorflow/serving/{method}").model_spec
        spec.name, spec.signature_name = model, signature
    made.input.example_list.examples.extend(examples)
    return made


def tasks_of_two_models():
    made = tasks(("classify", "classify"), ("regress", "regress"))
    made.tasks[1].model_spec.name = "rows"
    return made


def serialized(*examples, signature="pairs", **more):
    return predict(signature=signature, model="rows", **more) if not examples else \
        predict_of(signature, tensor("DT_STRING", shape=[len(examples)], string_val=[each.SerializeToString() for each in examples]))


def predict_of(signature, inputs, model="rows", outputs=()):
    made = predict_pb2.PredictRequest(output_filter=outputs)
    made.model_spec.name, made.model_spec.signature_name = model, signature
    made.inputs["inputs"].CopyFrom(inputs)
    return made


def has_signatures(found):
    signatures = get_model_metadata_pb2.SignatureDefMap()
    found.metadata["signature_def"].Unpack(signatures)
    own, tensors = signatures.signature_def["serving_default"], signatures.signature_def["predict"]
    return own.method_name == "tensorflow/serving/classify" and own.inputs["inputs"].dtype == types_pb2.DT_STRING and [d.size for d in own.outputs["classes"].tensor_shape.dim] == [-1, 2] and \
        own.outputs["scores"].dtype == types_pb2.DT_FLOAT and tensors.method_name == "tensorflow/serving/predict" and "x" in tensors.inputs


WHOLE = bytes_of(pixels=[0.0, 51.0, 102.0, 153.0, 204.0, 255.0], size=[0.5, -1.0])
EXPECTED = "Expected {} signature method_name to be tensorflow/serving/{}. Was: tensorflow/serving/{}"
EXAMPLES = (
    ("Classify", "pairs of labels and scores", classify("pairs", bytes_of(a=[1.5], b=[2])), OK, classes_are(pair(3.0, 4.0))),
    ("Classify", "several examples", classify("pairs", *(bytes_of(a=[i / 2], b=[i]) for i in range(9))), OK, classes_are(*(pair(float(i), 2.0 * i) for i in range(9)))),
    ("Classify", "without labels they are empty", classify("all", bytes_of(x=[1.5, -2.0])), OK, classes_are((("", 3.0), ("", -4.0)), signature="all")),
    ("Classify", "the best ones", classify("best", bytes_of(a=[3.5], b=[2])), OK, classes_are((("low", 7.0),), signature="best")),
    ("Classify", "the default signature", classify("", bytes_of(x=[1.0, 2.0]), model="chosen"), OK, classes_are(pair(2.0, 4.0), signature="serving_default")),
    ("Classify", "a default for a feature that is missing", classify("pairs", bytes_of(a=[1.0])), OK, classes_are(pair(2.0, 14.0))),
    ("Classify", "a feature that the signature has not", classify("pairs", bytes_of(a=[1.0], c=[b"x"])), OK, classes_are(pair(2.0, 14.0))),
    ("Classify", "a context", classify("pairs", bytes_of(a=[1.0]), bytes_of(a=[2.0], b=[5]), context=bytes_of(b=[3])), OK, classes_are(pair(2.0, 6.0), pair(4.0, 10.0))),
    ("Classify", "bytes", classify("classify", bytes_of(text=[b"\2\3"]), bytes_of(), model="texts"), OK, classes_are((("", 4.0), ("", 6.0)), (("", 130.0), ("", 0.0)), signature="classify")),
    ("Classify", "no input", classify("pairs"), WRONG, "Input is empty."),
    ("Classify", "a context alone", classify("pairs", context=bytes_of(a=[1.0])), WRONG, "Input is empty."),
    ("Classify", "a feature that is missing", classify("pairs", bytes_of(b=[1])), WRONG, "Feature: a (data type: float) is required but could not be found."),
    ("Classify", "a feature of another kind", classify("pairs", bytes_of(a=[1.0]), bytes_of(a=[1])), WRONG,
     "Key: a, Index: 1.  Data types don't match. Data type: int64 but expected type: float"),
    ("Classify", "a feature of another size", classify("all", bytes_of(x=[1.0])), WRONG, "Number of float values != expected.  Values size: 1 but output shape: [2]"),
    ("Classify", "an unknown signature", classify("x", bytes_of()), WRONG, "No signature was found with the name: x"),
    ("Classify", "a signature of regress", classify("regress", WHOLE, model="examples"), WRONG, EXPECTED.format("classification", "classify", "regress")),
    ("Classify", "the model has failed", classify("pairs", bytes_of(a=[-500.0])), FAILED, "the first number is -500"),
    ("Regress", "a number for each example", regress("regress", WHOLE, WHOLE, model="examples"), OK,
     lambda found: len(found.result.regressions) == 2 and all(each.value in (0.0, 1.0, 2.0, 3.0) for each in found.result.regressions) and found.model_spec.signature_name == "regress"),
    ("Regress", "a signature of classify", regress("pairs", bytes_of(a=[1.0])), WRONG, EXPECTED.format("regression", "regress", "classify")),
    ("Regress", "no input", regress("regress", model="examples"), WRONG, "Input is empty."),
    ("MultiInference", "two tasks", tasks(("classify", "classify"), ("regress", "regress"), examples=[WHOLE] * 3), OK,
     lambda found: [len(found.results[0].classification_result.classifications), len(found.results[1].regression_result.regressions)] == [3, 3] and
     [each.model_spec.signature_name for each in found.results] == ["classify", "regress"]),
    ("MultiInference", "no tasks", tasks(), WRONG, "ModelSpec has no name specified."),
    ("MultiInference", "two models", tasks_of_two_models(), WRONG, "All ModelSpecs in a MultiInferenceRequest must access the same model name."),
    ("MultiInference", "a signature twice", tasks(("classify", "classify"), ("classify", "classify")), WRONG, "Duplicate evaluation of signature: classify"),
    ("MultiInference", "an unknown signature", tasks(("classify", "x")), WRONG, "Requested signature not found in model graph: x"),
    ("MultiInference", "another method", tasks(("predict", "classify")), grpc.StatusCode.UNIMPLEMENTED, "Unsupported signature method_name: tensorflow/serving/predict"),
    ("MultiInference", "a signature of another method", tasks(("regress", "classify")), WRONG, EXPECTED.format("regression", "regress", "classify")),
    ("MultiInference", "signatures of other features", tasks(("classify", "classify"), ("regress", "other"), examples=[WHOLE]), WRONG, "Input tensor must be the same for all Signatures."),
    ("MultiInference", "no input", tasks(("classify", "classify")), WRONG, "Input is empty."),
    ("Predict", "serialized examples", serialized(bytes_of(a=[1.5], b=[2]), bytes_of(a=[2.5])), OK,
     lambda found: list(found.outputs["classes"].string_val) == [b"low", b"high"] * 2 and list(found.outputs["scores"].float_val) == [3, 4, 5, 14] and
     [d.size for d in found.outputs["classes"].tensor_shape.dim] == [2, 2] and found.outputs["classes"].dtype == types_pb2.DT_STRING),
    ("Predict", "serialized examples, one output", predict_of("pairs", tensor("DT_STRING", shape=[1], string_val=[bytes_of(a=[1.5]).SerializeToString()]), outputs=["scores"]), OK,
     lambda found: list(found.outputs) == ["scores"]),
    ("Predict", "one text for more examples than a server takes", predict_of("pairs", tensor("DT_STRING", shape=[1 << 20], string_val=[bytes_of(a=[1.5], more=[b"x" * (1 << 20)]).SerializeToString()])),
     grpc.StatusCode.RESOURCE_EXHAUSTED, "the examples have more than"),
    ("Predict", "what is no example", predict_of("pairs", tensor("DT_STRING", shape=[1], string_val=[b"\x0a\xff"])), WRONG, "Could not parse example input, at index 0"),
    ("Predict", "examples of another type", predict_of("pairs", tensor("DT_FLOAT", shape=[1], float_val=[1])), WRONG, "expected DT_STRING"),
    ("Predict", "examples of another shape", predict_of("pairs", tensor("DT_STRING", shape=[1, 1], string_val=[b""])), WRONG, "expected serialized examples of shape (n,)"),
    ("Predict", "tensors for a signature of examples", predict(signature="pairs", model="rows"), WRONG, "there is no input 'x'"),
    ("Predict", "tensors beside a default signature of examples", predict(signature="predict", model="chosen"), OK, outputs_are(2, 4, version=1)),
    ("GetModelMetadata", "all signatures", metadata("chosen"), OK, has_signatures),
)


AVAILABLE, END = get_model_status_pb2.ModelVersionStatus.AVAILABLE, get_model_status_pb2.ModelVersionStatus.END
MODELS = (
    ("GetModelMetadata", "metadata of the highest version", metadata(), OK, lambda found: signature_is_plain(found) and found.model_spec.version.value == 2),
    ("GetModelMetadata", "metadata of a version", metadata(version=1), OK, lambda found: found.model_spec.version.value == 1),
    ("GetModelMetadata", "no field", metadata(fields=()), WRONG, "must specify at least one metadata_field"),
    ("GetModelMetadata", "another field", metadata(fields=("x",)), WRONG, "Metadata field x is not supported"),
    ("GetModelMetadata", "an unknown model", metadata("none"), MISSING, "Latest(none)"),
    ("GetModelMetadata", "an unknown version", metadata(version=9), MISSING, "Specific(plain, 9)"),
    ("Classify", "a signature of its own", of_model(classification_pb2.ClassificationRequest), WRONG, EXPECTED_CLASSIFY),
    ("Regress", "a signature of its own", of_model(regression_pb2.RegressionRequest), WRONG, EXPECTED_CLASSIFY.replace("classification", "regression").replace("classify", "regress")),
    ("Classify", "an unknown model", of_model(classification_pb2.ClassificationRequest, "none"), MISSING, "Latest(none)"),
    ("MultiInference", "a signature of its own", multi("tensorflow/serving/classify"), WRONG, "Expected classification signature"),
    ("GetModelStatus", "all versions", status(), OK, states_are((2, AVAILABLE), (1, AVAILABLE))),
    ("GetModelStatus", "a version", status(version=1), OK, states_are((1, AVAILABLE))),
    ("GetModelStatus", "a version that cannot be loaded", status("broken"), OK, lambda found: states_are((1, END))(found) and found.model_version_status[0].status.error_code == 2),
    ("GetModelStatus", "an unknown model", status("none"), MISSING, "Could not find any versions of model none"),
    ("GetModelStatus", "an unknown version", status(version=9), MISSING, "Could not find version 9 of model plain"),
    ("GetModelStatus", "no model", get_model_status_pb2.GetModelStatusRequest(), WRONG, "Missing ModelSpec"),
)


def infer(datatype="FP32", shape=(1, 2), raw=None, model="plain", version="", name="x", outputs=(), parameters=None, more=(), **contents):
    made = service_pb2.ModelInferRequest(model_name=model, model_version=version, id="7")
    one = made.inputs.add(name=name, datatype=datatype, shape=shape)
    for field, values in contents.items():
        getattr(one.contents, field).extend(values)
    for each in more:
        made.inputs.add(name=each, datatype="FP32", shape=[1, 2])
    for each in outputs:
        made.outputs.add(name=each)
    if raw is not None:
        made.raw_input_contents.extend(raw if isinstance(raw, list) else [raw])
    for key, (field, value) in (parameters or {}).items():
        setattr(made.parameters[key], field, value)
    return made


def answer_is(*numbers, version="2"):
    return lambda found: (found.model_name, found.model_version, found.id) == ("plain", version, "7") and len(found.outputs) == 1 and \
        (found.outputs[0].name, found.outputs[0].datatype, list(found.outputs[0].shape)) == ("y", "FP32", [len(numbers) // 2, 2]) and \
        list(found.raw_output_contents) == [struct.pack(f"<{len(numbers)}f", *numbers)]


TYPED = (("INT8", "int_contents"), ("INT16", "int_contents"), ("INT32", "int_contents"), ("INT64", "int64_contents"), ("UINT8", "uint_contents"), ("UINT16", "uint_contents"),
         ("UINT32", "uint_contents"), ("UINT64", "uint64_contents"), ("FP32", "fp32_contents"), ("FP64", "fp64_contents"))
RAW = (("INT8", "2b"), ("INT16", "2h"), ("INT32", "2i"), ("INT64", "2q"), ("UINT8", "2B"), ("UINT16", "2H"), ("UINT32", "2I"), ("UINT64", "2Q"), ("FP16", "2e"), ("FP32", "2f"),
       ("FP64", "2d"))
ONE = struct.pack("<2f", 1, 2)
INFER = (
    *((f"{datatype} in {field}", infer(datatype, **{field: [1, 2]}), OK, answer_is(2, 4)) for datatype, field in TYPED),
    *((f"{datatype} in raw_input_contents", infer(datatype, raw=struct.pack("<" + form, 1, 2)), OK, answer_is(2, 4)) for datatype, form in RAW),
    ("BF16 in raw_input_contents", infer("BF16", raw=b"\x80\x3f\x00\x40"), OK, answer_is(2, 4)),
    ("BOOL in bool_contents", infer("BOOL", bool_contents=[True, False]), OK, answer_is(2, 0)),
    ("BOOL in raw_input_contents", infer("BOOL", raw=b"\1\0"), OK, answer_is(2, 0)),
    ("BYTES in bytes_contents", infer("BYTES", shape=[1, 1], model="texts", bytes_contents=[b"\2\3"]), OK, lambda found: found.raw_output_contents[0] == struct.pack("<2f", 4, 6)),
    ("BYTES in raw_input_contents: a length before each", infer("BYTES", shape=[1, 1], model="texts", raw=b"\2\0\0\0\2\3"), OK,
     lambda found: found.raw_output_contents[0] == struct.pack("<2f", 4, 6)),
    ("a version answers", infer(version="1", raw=ONE), OK, lambda found: found.model_version == "1"),
    ("outputs that are asked for", infer(raw=ONE, outputs=["y"]), OK, answer_is(2, 4)),
    ("more samples than a batch has", infer(shape=[9, 2], fp32_contents=range(18)), OK, answer_is(*(2.0 * i for i in range(18)))),
    ("a parameter that is not known has no effect", infer(raw=ONE, parameters={"a": ("string_param", "b")}), OK, answer_is(2, 4)),
    ("an unknown model", infer(model="none", raw=ONE), MISSING, "Request for unknown model: 'none' is not found"),
    ("an unknown version", infer(version="9", raw=ONE), MISSING, "9"),
    ("a version is a number", infer(version="x", raw=ONE), WRONG, "should be an integral value > 0"),
    ("a model that cannot be loaded", infer(model="broken", raw=ONE), MISSING, "broken"),
    ("contents of another type", infer("FP32", int_contents=[1, 2]), WRONG, "contents of another type than 'FP32'"),
    ("FP16 has no contents", infer("FP16", fp32_contents=[1, 2]), WRONG, "which raw_input_contents alone can hold"),
    ("texts for an input of numbers: its datatype", infer("BYTES", bytes_contents=[b"1", b"2"]), WRONG, "has datatype 'BYTES', which is not taken"),
    ("an unknown datatype", infer("FP128", raw=ONE), WRONG, "datatype 'FP128'"),
    ("words have their case", infer("fp32", raw=ONE), WRONG, "datatype 'fp32'"),
    ("fewer numbers than the shape", infer(fp32_contents=[1]), WRONG, "has 1 numbers, expected 2"),
    ("more numbers than the shape", infer(fp32_contents=[1, 2, 3]), WRONG, "has 3 numbers, expected 2"),
    ("raw bytes of another size", infer(raw=ONE + b"a"), WRONG, "x"),
    ("raw bytes for each input", infer(raw=[ONE, ONE]), WRONG, "expected 1 raw_input_contents, found 2"),
    ("raw bytes and contents", infer(raw=ONE, fp32_contents=[1, 2]), WRONG, "contents field must not be specified"),
    ("another shape", infer(shape=[2], fp32_contents=[1, 2]), WRONG, "expected a batch of (2,)"),
    ("a shape below 0", infer(shape=[-1, 2], fp32_contents=[1, 2]), WRONG, "x"),
    ("an unknown input", infer(name="z", raw=ONE), WRONG, "there is no input 'z'"),
    ("an input too many", infer(fp32_contents=[1, 2], more=["z"]), WRONG, "there are more inputs than the model's"),
    ("an input that is missing", service_pb2.ModelInferRequest(model_name="plain"), WRONG, "input 'x' is missing"),
    ("an unknown output", infer(raw=ONE, outputs=["z"]), WRONG, "there is no output 'z'"),
    ("an output twice", infer(raw=ONE, outputs=["y", "y"]), WRONG, "y"),
    ("a number that the datatype has not", infer("UINT8", uint_contents=[256, 0]), WRONG, "is 256, which is no number of type uint8"),
    ("the model has failed", infer(fp32_contents=[-500, 0]), FAILED, "the first number is -500"),
)
SERVER = (
    ("Check", "gRPC's own health: not all models are ready", health_pb2.HealthCheckRequest(), OK, lambda found: found.status == health_pb2.HealthCheckResponse.NOT_SERVING),
    ("Check", "the health of a service", health_pb2.HealthCheckRequest(service="inference.GRPCInferenceService"), OK, lambda found: found.status == health_pb2.HealthCheckResponse.NOT_SERVING),
    ("Check", "the health of an unknown service", health_pb2.HealthCheckRequest(service="x"), MISSING, "there is no service 'x'"),
    ("ServerLive", "live", service_pb2.ServerLiveRequest(), OK, lambda found: found.live),
    ("ServerReady", "not all models are ready", service_pb2.ServerReadyRequest(), OK, lambda found: not found.ready),
    ("ModelReady", "a model", service_pb2.ModelReadyRequest(name="plain"), OK, lambda found: found.ready),
    ("ModelReady", "a version", service_pb2.ModelReadyRequest(name="plain", version="1"), OK, lambda found: found.ready),
    ("ModelReady", "an unknown model", service_pb2.ModelReadyRequest(name="none"), OK, lambda found: not found.ready),
    ("ModelReady", "an unknown version", service_pb2.ModelReadyRequest(name="plain", version="9"), OK, lambda found: not found.ready),
    ("ServerMetadata", "name, version and extensions", service_pb2.ServerMetadataRequest(), OK,
     lambda found: found.name == "stagecraft" and found.version and "statistics" in found.extensions),
    ("ModelMetadata", "name, versions, platform, inputs and outputs", service_pb2.ModelMetadataRequest(name="plain"), OK,
     lambda found: (found.name, list(found.versions), found.platform, found.inputs[0].name, found.inputs[0].datatype, list(found.inputs[0].shape), found.outputs[0].name) ==
     ("plain", ["1", "2"], "stagecraft", "x", "FP32", [-1, 2], "y")),
    ("ModelMetadata", "an unknown model", service_pb2.ModelMetadataRequest(name="none"), MISSING, "none"),
    ("ModelMetadata", "an unknown version", service_pb2.ModelMetadataRequest(name="plain", version="9"), MISSING, "9"),
    ("ModelMetadata", "a version is a number", service_pb2.ModelMetadataRequest(name="plain", version="x"), WRONG, "integral value > 0"),
)


def check_rule(what, call, request, code, expected):
    try:
        found = call(request, timeout=30)
        check(what, code == OK and expected(found), found)
    except grpc.RpcError as why:
        check(what, code != OK and why.code() == code and expected in why.details(), why.code(), why.details())


with whole_test(250), tempfile.TemporaryDirectory() as folder:
    with serve("--model_config_file", make_plain_models(pathlib.Path(folder)), "--grpc_port", 0, grpc=True) as server:
        channel = grpc.insecure_channel(f"localhost:{server.grpc}")
        stubs = (prediction_service_pb2_grpc.PredictionServiceStub(channel), model_service_pb2_grpc.ModelServiceStub(channel), service_pb2_grpc.GRPCInferenceServiceStub(channel),
                 health_pb2_grpc.HealthStub(channel))
        for method, rules in ("Predict", PREDICT), ("ModelInfer", INFER), (None, MODELS), (None, EXAMPLES), (None, SERVER):
            for rule in rules:
                name, (what, request, code, expected) = (method, rule) if method else (rule[0], rule[1:])
                check_rule(f"{name}: {what}", next(getattr(stub, name) for stub in stubs if hasattr(stub, name)), request, code, expected)
    print(len(PREDICT) + len(INFER) + len(MODELS) + len(EXAMPLES) + len(SERVER), "rules")
