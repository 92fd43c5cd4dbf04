# SPDX-License-Identifier: BSD-3-Clause
"""The rules of the pages of TensorFlow Serving's REST and of KServe's Open Inference Protocol (version 2, with Triton's extension of
binary tensors), each as a request with its answer or its error, over one running server.

    check_serve_rules.py <the program> <folder with scores/>

Models: `plain`, whose y is twice its x, two numbers a sample, versions 1 and 2, the label stable for 1; `texts`, the same with bytes;
`scores`, with two inputs and two outputs; `broken`, which cannot be loaded; and those with signatures of examples. check_grpc.py and check_grpc_rules.py have the rules of gRPC.
"""
import base64
import json
import math
import pathlib
import struct
import tempfile

from running_server import FOLDER, check, make_plain_models, serve, whole_test

PIXELS, SIZE = [[0, 51, 102], [153, 204, 255]], [0.5, -1]
ROW = {"pixels": PIXELS, "size": SIZE}
PLAIN, SCORES, TEXTS = (f"/v1/models/{name}:predict" for name in ("plain", "scores", "texts"))
INFER = "/v2/models/plain/infer"
FP32_MOST = 3.4028234663852886e38


def error(status, text):
    """An error as both pages have it: an object with the key 'error' alone."""
    return status, lambda found: isinstance(found, dict) and set(found) == {"error"} and text in found["error"]


def version_state(number, state, problem=""):
    return {"version": str(number), "state": state, "status": {"error_code": "UNKNOWN" if problem else "OK", "error_message": problem}}


def signature(name, shape):
    return {"dtype": "DT_FLOAT", "tensor_shape": {"dim": [{"size": str(each), "name": ""} for each in (-1, *shape)], "unknown_rank": False}, "name": f"{name}:0"}


def metadata_of(number):
    return {"model_spec": {"name": "plain", "signature_name": "", "version": str(number)}, "metadata": {"signature_def": {"signature_def": {"serving_default": {
        "inputs": {"x": signature("x", [2])}, "outputs": {"y": signature("y", [2])}, "method_name": "tensorflow/serving/predict"}}}}}


def same(found, expected):
    """Equal, but for numbers, whose texts are those of float32."""
    if isinstance(expected, float) and isinstance(found, float):
        return found == expected or math.isclose(found, expected, rel_tol=1e-7)
    if isinstance(expected, dict) and isinstance(found, dict):
        return set(found) == set(expected) and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == expected


def has_scores(values):
    return isinstance(values, list) and len(values) == 2 and all(isinstance(each, float) for each in values)


def examples(*each, signature=None, **more):
    return {**({} if signature is None else {"signature_name": signature}), **more, "examples": list(each)}


def results(*each):
    return 200, {"results": list(each)}


def pair(low, high):
    return [["low", low], ["high", high]]


def string_tensor(name, *shape):
    return {**signature(name, shape), "dtype": "DT_STRING"}


def example_proto(**features):
    """A serialized tf.Example: lists of bytes, of numbers, and of whole numbers."""
    def field(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    def feature(values):
        if isinstance(values[0], bytes):
            return field(1, b"".join(field(1, each) for each in values))
        if isinstance(values[0], float):
            return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
        return field(3, field(1, bytes(values)))
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, feature(values))) for name, values in features.items()))


def b64(data):
    return {"b64": base64.b64encode(data).decode()}


ROWS, CHOSEN, EXAMPLE_ROW = "/v1/models/rows:classify", "/v1/models/chosen:classify", {"pixels": [0.0, 51.0, 102.0, 153.0, 204.0, 255.0], "size": [0.5, -1.0]}
NO_TYPE = "Name: <unknown>, Key: {}, Index: {}.  Data types don't match. Data type: {} but expected type: {}"
NO_COUNT = "Name: <unknown>, Key: {}, Index: 0.  Number of {} values != expected.  Values size: {} but output shape: [{}]"
EXAMPLES = (
    ("classify needs a signature of its own", "POST", "/v1/models/plain:classify", {"examples": [{"x": 1}]},
     error(400, "Expected classification signature method_name to be tensorflow/serving/classify. Was: tensorflow/serving/predict")),
    ("regress needs a signature of its own", "POST", "/v1/models/plain:regress", {"examples": [{"x": 1}]},
     error(400, "Expected regression signature method_name to be tensorflow/serving/regress. Was: tensorflow/serving/predict")),
    ("classify of an unknown model", "POST", "/v1/models/none:classify", {"examples": [{"x": 1}]}, error(404, "Latest(none)")),
    ("classify: pairs of labels and scores", "POST", ROWS, examples({"a": 1.5, "b": 2}, signature="pairs"), results(pair(3.0, 4.0))),
    ("classify: several examples", "POST", ROWS, examples(*({"a": i / 2, "b": i} for i in range(9)), signature="pairs"), results(*(pair(float(i), 2.0 * i) for i in range(9)))),
    ("classify: without labels they are empty", "POST", ROWS, examples({"x": [1.5, -2.0]}, signature="all"), results([["", 3.0], ["", -4.0]])),
    ("classify: the best ones", "POST", ROWS, examples({"a": 1.5, "b": 2}, {"a": 3.5, "b": 2}, signature="best"), results([["high", 4.0]], [["low", 7.0]])),
    ("classify by the default signature", "POST", CHOSEN, examples({"x": [1.0, 2.0]}), results(pair(2.0, 4.0))),
    ("classify: no signature's name is the default", "POST", CHOSEN, examples({"x": [1.0, 2.0]}, signature=""), results(pair(2.0, 4.0))),
    ("classify: keys in any order", "POST", ROWS, '{"examples": [{"a": 1.0}], "context": {"b": 3}, "signature_name": "pairs"}', results(pair(2.0, 6.0))),
    ("classify asks a version", "POST", "/v1/models/rows/versions/1:classify", examples({"a": 1.0}, signature="pairs"), results(pair(2.0, 14.0))),
    ("classify asks an unknown version", "POST", "/v1/models/rows/versions/9:classify", examples({"a": 1.0}, signature="pairs"), error(404, "Specific(rows, 9)")),
    ("regress: a number for each example", "POST", "/v1/models/examples:regress", examples(EXAMPLE_ROW, EXAMPLE_ROW, signature="regress"),
     (200, lambda found: set(found) == {"results"} and len(found["results"]) == 2 and all(each in (0.0, 1.0, 2.0, 3.0) for each in found["results"]))),
    ("classify: several inputs", "POST", "/v1/models/examples:classify", examples(EXAMPLE_ROW, signature="classify"),
     (200, lambda found: [label for label, _ in found["results"][0]] == ["no", "yes"] and has_scores([score for _, score in found["results"][0]]))),
    ("a default for a feature that is missing", "POST", ROWS, examples({"a": 1.0}, signature="pairs"), results(pair(2.0, 14.0))),
    ("a default of several numbers", "POST", ROWS, examples({}, signature="whole"), results([["", 2.0], ["", 4.0]])),
    ("a feature that is missing, without a default", "POST", ROWS, examples({"b": 1}, signature="pairs"),
     error(400, "Name: <unknown>, Feature: a (data type: float) is required but could not be found.")),
    ("an empty list is a feature that is missing", "POST", ROWS, examples({"a": 1.0, "b": []}, signature="pairs"), results(pair(2.0, 14.0))),
    ("a feature that the signature has not", "POST", ROWS, examples({"a": 1.0, "c": "text", "d": [1.5, 2.5]}, signature="pairs"), results(pair(2.0, 14.0))),
    ("the context is every example's", "POST", ROWS, examples({"a": 1.0}, {"a": 2.0}, signature="pairs", context={"b": 3}), results(pair(2.0, 6.0), pair(4.0, 6.0))),
    ("an example's own feature comes before the context's", "POST", ROWS, examples({"a": 1.0, "b": 5}, {"a": 2.0}, signature="pairs", context={"b": 3}), results(pair(2.0, 10.0), pair(4.0, 6.0))),
    ("a number alone is a list of it", "POST", ROWS, examples({"a": [1.0], "b": [2]}, signature="pairs"), results(pair(2.0, 4.0))),
    ("true and false are whole numbers", "POST", ROWS, examples({"a": 1.0, "b": True}, signature="pairs"), results(pair(2.0, 2.0))),
    ("an exponent makes a float", "POST", ROWS, '{"signature_name": "pairs", "examples": [{"a": 1e1}]}', results(pair(20.0, 14.0))),
    ("NaN and Infinity are floats", "POST", ROWS, '{"signature_name": "all", "examples": [{"x": [NaN, -Infinity]}]}',
     (200, lambda found: math.isnan(found["results"][0][0][1]) and found["results"][0][1][1] == -math.inf)),
    ("a whole number for a float", "POST", ROWS, examples({"a": 1.5}, {"a": 1}, signature="pairs"), error(400, NO_TYPE.format("a", 1, "int64", "float"))),
    ("a float for a whole number", "POST", ROWS, examples({"a": 1.5, "b": 2.0}, signature="pairs"), error(400, NO_TYPE.format("b", 0, "float", "int64"))),
    ("a text for a float", "POST", ROWS, examples({"a": "1.5"}, signature="pairs"), error(400, NO_TYPE.format("a", 0, "string", "float"))),
    ("more numbers than the feature has", "POST", ROWS, examples({"x": [1.0, 2.0, 3.0]}, signature="all"), error(400, NO_COUNT.format("x", "float", 3, "2"))),
    ("fewer numbers than the feature has", "POST", ROWS, examples({"x": 1.0}, signature="all"), error(400, NO_COUNT.format("x", "float", 1, "2"))),
    ("numbers of several kinds", "POST", ROWS, examples({"x": [1.5, 2]}, signature="all"), error(400, "Unexpected element type in feature: x expecting type: float")),
    ("several kinds in a feature that the signature has not", "POST", ROWS, examples({"a": 1.0, "c": [1, "x"]}, signature="pairs"), error(400, "Unexpected element type in feature: c expecting type: int64")),
    ("null in an example", "POST", ROWS, examples({"a": None}, signature="pairs"), error(400, "Feature: a has element with unexpected JSON type: Null")),
    ("lists in a list", "POST", ROWS, examples({"x": [[1.0, 2.0]]}, signature="all"), error(400, "Feature: x has element with unexpected JSON type: Array")),
    ("an object in an example", "POST", ROWS, examples({"a": {"x": 1}}, signature="pairs"), error(400, "Feature: a has element with unexpected JSON type: Object")),
    ("whole numbers beyond int64", "POST", ROWS, examples({"b": 1 << 63}, signature="pairs"), error(400, "Feature: b has uint64 element. Only int64 is supported.")),
    ("floats beyond the type", "POST", ROWS, '{"signature_name": "pairs", "examples": [{"a": 1e39}]}', error(400, "Feature: a has an element that is 1e39, which is no number of type float32")),
    ("no examples", "POST", ROWS, {"signature_name": "pairs"}, error(400, "key 'examples' is expected and was not found")),
    ("examples are a list", "POST", ROWS, {"signature_name": "pairs", "examples": {"a": 1.0}}, error(400, "Expecting 'examples' value to be an list/array")),
    ("an empty list of examples", "POST", ROWS, examples(signature="pairs"), error(400, "'examples' value is an empty array")),
    ("an example is an object", "POST", ROWS, examples(1.5, signature="pairs"), error(400, "Example must be JSON object but got JSON Number")),
    ("a context is an object", "POST", ROWS, examples({"a": 1.0}, signature="pairs", context=[1]), error(400, "Example must be JSON object but got JSON Array")),
    ("a signature's name is a text", "POST", ROWS, examples({"a": 1.0}, signature=1), error(400, "'signature_name' key must be a string value.")),
    ("classify by an unknown signature", "POST", ROWS, examples({"a": 1.0}, signature="x"), error(400, "No signature was found with the name: x")),
    ("regress by a signature of classify", "POST", "/v1/models/rows:regress", examples({"a": 1.0}, signature="pairs"),
     error(400, "Expected regression signature method_name to be tensorflow/serving/regress. Was: tensorflow/serving/classify")),
    ("classify by a signature of regress", "POST", "/v1/models/examples:classify", examples(EXAMPLE_ROW, signature="regress"), error(400, "Was: tensorflow/serving/regress")),
    ("examples twice", "POST", ROWS, '{"signature_name": "pairs", "examples": [{"a": 1.0}], "examples": []}', error(400, "'examples' is given twice")),
    ("a feature twice: the last one", "POST", ROWS, '{"signature_name": "pairs", "examples": [{"a": "x", "a": 1.0}]}', results(pair(2.0, 14.0))),
    ("examples of bytes: a text", "POST", "/v1/models/texts:classify", examples({"text": "AB"}, signature="classify"), results([["", 130.0], ["", 132.0]])),
    ("examples of bytes: b64", "POST", "/v1/models/texts:classify", examples({"text": {"b64": "AgM="}}, {"text": [{"b64": "fw=="}]}, signature="classify"),
     results([["", 4.0], ["", 6.0]], [["", 254.0], ["", 0.0]])),
    ("examples of bytes: the default", "POST", "/v1/models/texts:classify", examples({}, signature="classify"), results([["", 130.0], ["", 0.0]])),
    ("examples of bytes: what is no b64", "POST", "/v1/models/texts:classify", examples({"text": {"b64": "*"}}, signature="classify"), error(400, "unable to base64 decode")),
    ("examples of bytes: two texts", "POST", "/v1/models/texts:classify", examples({"text": ["a", "b"]}, signature="classify"), error(400, NO_COUNT.format("text", "bytes", 2, ""))),
    ("examples of bytes: a text that is too long", "POST", "/v1/models/texts:classify", examples({"text": "abc"}, signature="classify"), error(400, "has a text of 3 bytes, expected at most 2")),
    ("classify is a POST", "GET", ROWS, None, error(400, "Malformed request: GET")),
    ("classify: no JSON", "POST", ROWS, "x", error(400, "JSON Parse error")),
    ("classify: the model has failed", "POST", ROWS, examples({"a": -500.0}, signature="pairs"), error(500, "the first number is -500")),
    ("predict of serialized examples", "POST", PLAIN.replace("plain", "rows"), {"signature_name": "pairs", "instances": [b64(example_proto(a=[1.5], b=[2])), {"inputs": b64(example_proto(a=[2.5]))}]},
     (200, {"predictions": [{"classes": ["low", "high"], "scores": [3.0, 4.0]}, {"classes": ["low", "high"], "scores": [5.0, 14.0]}]})),
    ("predict of serialized examples by columns", "POST", PLAIN.replace("plain", "rows"), {"signature_name": "pairs", "inputs": {"inputs": [b64(example_proto(a=[1.5], b=[2]))]}},
     (200, {"outputs": {"classes": [["low", "high"]], "scores": [[3.0, 4.0]]}})),
    ("predict of serialized examples without labels", "POST", PLAIN.replace("plain", "rows"), {"signature_name": "all", "instances": [b64(example_proto(x=[1.5, 2.0]))]}, (200, {"predictions": [[3.0, 4.0]]})),
    ("predict of what is no example", "POST", PLAIN.replace("plain", "rows"), {"signature_name": "pairs", "instances": [b64(b"\x0a\xff")]}, error(400, "Could not parse example input, at index 0")),
    ("predict of tensors beside a default signature of examples", "POST", PLAIN.replace("plain", "chosen"), {"signature_name": "predict", "instances": [[1, 2]]}, (200, {"predictions": [[2.0, 4.0]]})),
    ("metadata have all signatures", "GET", "/v1/models/chosen/metadata", None, (200, {"model_spec": {"name": "chosen", "signature_name": "", "version": "1"}, "metadata": {"signature_def": {"signature_def": {
        "predict": {"inputs": {"x": signature("x", [2])}, "outputs": {"y": signature("y", [2])}, "method_name": "tensorflow/serving/predict"},
        "serving_default": {"inputs": {"inputs": string_tensor("inputs")}, "outputs": {"classes": string_tensor("classes", 2), "scores": signature("scores", [2])},
                            "method_name": "tensorflow/serving/classify"}}}}})),
    ("a signature that does not fit is the version's error", "GET", "/v1/models/wrong", None,
     (200, lambda found: "the signature 'classify' has 1 labels for the 2 scores of 'y'" in found["model_version_status"][0]["status"]["error_message"] and
      "[E4187]" in found["model_version_status"][0]["status"]["error_message"])),
)

# Each rule: what the page says, the request, and the status and body of the answer. A body is compared as a whole, or asked by a function.
TENSORFLOW = (
    ("status: all versions, the highest first", "GET", "/v1/models/plain", None,
     (200, {"model_version_status": [version_state(2, "AVAILABLE"), version_state(1, "AVAILABLE")]})),
    ("status of a version", "GET", "/v1/models/plain/versions/1", None, (200, {"model_version_status": [version_state(1, "AVAILABLE")]})),
    ("status with a label", "GET", "/v1/models/plain/labels/stable", None, (200, lambda found: version_state(1, "AVAILABLE") in found["model_version_status"])),
    ("status of a version that cannot be loaded", "GET", "/v1/models/broken", None,
     (200, lambda found: found["model_version_status"][0]["state"] == "END" and found["model_version_status"][0]["status"]["error_code"] == "UNKNOWN" and
      "is not an application" in found["model_version_status"][0]["status"]["error_message"])),
    ("status of an unknown model", "GET", "/v1/models/none", None, error(404, "Could not find any versions of model none")),
    ("status of an unknown version", "GET", "/v1/models/plain/versions/9", None, error(404, "Could not find version 9 of model plain")),
    ("a version is a number", "GET", "/v1/models/plain/versions/x", None, error(404, "")),
    ("metadata are those of the highest version", "GET", "/v1/models/plain/metadata", None, (200, metadata_of(2))),
    ("metadata of a version", "GET", "/v1/models/plain/versions/1/metadata", None, (200, metadata_of(1))),
    ("metadata of a label", "GET", "/v1/models/plain/labels/stable/metadata", None, (200, metadata_of(1))),
    ("metadata of an unknown model", "GET", "/v1/models/none/metadata", None, error(404, "Servable not found for request: Latest(none)")),
    ("metadata of an unknown version", "GET", "/v1/models/plain/versions/9/metadata", None, error(404, "Specific(plain, 9)")),
    ("metadata of an unknown label", "GET", "/v1/models/plain/labels/x/metadata", None, error(400, "Unrecognized servable version label: x")),
    ("predict asks the highest version", "POST", PLAIN, {"instances": [[1, 2]]}, (200, {"predictions": [[2.0, 4.0]]})),
    ("predict asks a version", "POST", "/v1/models/plain/versions/1:predict", {"instances": [[1, 2]]}, (200, {"predictions": [[2.0, 4.0]]})),
    ("predict asks a label", "POST", "/v1/models/plain/labels/stable:predict", {"instances": [[1, 2]]}, (200, {"predictions": [[2.0, 4.0]]})),
    ("rows: one input needs no name, nor does one output", "POST", PLAIN, {"instances": [[1, 2], [3, 4], [5, 6]]}, (200, {"predictions": [[2.0, 4.0], [6.0, 8.0], [10.0, 12.0]]})),
    ("rows: one input may have its name", "POST", PLAIN, {"instances": [{"x": [1, 2]}, {"x": [3, 4]}]}, (200, {"predictions": [[2.0, 4.0], [6.0, 8.0]]})),
    ("columns: one input needs no name, nor does one output", "POST", PLAIN, {"inputs": [[1, 2], [3, 4]]}, (200, {"outputs": [[2.0, 4.0], [6.0, 8.0]]})),
    ("columns: one input may have its name", "POST", PLAIN, {"inputs": {"x": [[1, 2]]}}, (200, {"outputs": [[2.0, 4.0]]})),
    ("rows: several outputs are an object for each", "POST", SCORES, {"instances": [ROW, ROW]},
     (200, lambda found: len(found["predictions"]) == 2 and all(set(each) == {"class", "scores"} and has_scores(each["scores"]) for each in found["predictions"]))),
    ("columns: several outputs are an object of lists", "POST", SCORES, {"inputs": {"pixels": [PIXELS] * 2, "size": [SIZE] * 2}},
     (200, lambda found: set(found["outputs"]) == {"class", "scores"} and len(found["outputs"]["class"]) == 2 and all(map(has_scores, found["outputs"]["scores"])))),
    ("the names of an object may come in any order", "POST", SCORES, {"instances": [{"size": SIZE, "pixels": PIXELS}]}, (200, lambda found: has_scores(found["predictions"][0]["scores"]))),
    ("more samples than a batch has", "POST", PLAIN, {"instances": [[i, -i] for i in range(11)]}, (200, {"predictions": [[2.0 * i, -2.0 * i] for i in range(11)]})),
    ("the signature serving_default", "POST", PLAIN, {"signature_name": "serving_default", "instances": [[1, 2]]}, (200, {"predictions": [[2.0, 4.0]]})),
    ("no signature's name is the default", "POST", PLAIN, {"signature_name": "", "instances": [[1, 2]]}, (200, {"predictions": [[2.0, 4.0]]})),
    ("an unknown signature", "POST", PLAIN, {"signature_name": "other", "instances": [[1, 2]]}, error(400, "Serving signature name: \"other\" not found in signature def")),
    ("the signature may follow the data", "POST", PLAIN, '{"instances": [[1, 2]], "signature_name": "other"}', error(400, "not found in signature def")),
    ("numbers: whole, with a part, with an exponent, below 0", "POST", PLAIN, '{"instances": [[-1, 0.25], [1e2, -2.5E-1]]}', (200, {"predictions": [[-2.0, 0.5], [200.0, -0.5]]})),
    ("NaN and Infinity are words, in requests and answers", "POST", PLAIN, '{"instances": [[NaN, 1], [Infinity, -Infinity]]}',
     (200, lambda found: math.isnan(found["predictions"][0][0]) and found["predictions"][1] == [math.inf, -math.inf])),
    ("white space may stand anywhere", "POST", PLAIN, '\n{ "instances"\t: [ [ 1 , 2 ] ] }\r\n', (200, {"predictions": [[2.0, 4.0]]})),
    ("characters of keys may be escaped", "POST", PLAIN, '{"\\u0069nstances": [[1, 2]]}', (200, {"predictions": [[2.0, 4.0]]})),
    ("the largest number", "POST", PLAIN, {"instances": [[FP32_MOST / 2, 0]]}, (200, {"predictions": [[FP32_MOST, 0.0]]})),
    ("an unknown model", "POST", "/v1/models/none:predict", {"instances": [[1, 2]]}, error(404, "Servable not found for request: Latest(none)")),
    ("an unknown version", "POST", "/v1/models/plain/versions/9:predict", {"instances": [[1, 2]]}, error(404, "Servable not found for request: Specific(plain, 9)")),
    ("an unknown label", "POST", "/v1/models/plain/labels/x:predict", {"instances": [[1, 2]]}, error(400, "Unrecognized servable version label: x")),
    ("a version that cannot be loaded", "POST", "/v1/models/broken:predict", {"instances": [[1, 2]]}, error(404, "Servable not found for request: Latest(broken)")),
    ("rows and columns at once", "POST", PLAIN, {"instances": [[1, 2]], "inputs": [[1, 2]]}, error(400, "either 'instances' or 'inputs'")),
    ("neither rows nor columns", "POST", PLAIN, {"signature_name": ""}, error(400, "either 'instances' or 'inputs'")),
    ("no rows", "POST", PLAIN, {"instances": []}, error(400, "is no list, or an empty one")),
    ("rows are a list", "POST", PLAIN, {"instances": {"x": [1, 2]}}, error(400, "is no list, or an empty one")),
    ("a column is a list", "POST", PLAIN, {"inputs": 1}, error(400, "")),
    ("columns of several lengths", "POST", SCORES, {"inputs": {"pixels": [PIXELS] * 2, "size": [SIZE]}}, error(400, "input 'size' has 1 samples, the ones before 2")),
    ("several inputs need names", "POST", SCORES, {"instances": [PIXELS]}, error(400, "the model has 2 inputs")),
    ("an input is missing", "POST", SCORES, {"instances": [{"pixels": PIXELS}]}, error(400, "input 'size' is missing")),
    ("an unknown input", "POST", SCORES, {"instances": [{**ROW, "x": 1}]}, error(400, "there is no input 'x'")),
    ("each row has all inputs", "POST", SCORES, {"instances": [ROW, {"size": SIZE}]}, error(400, "input 'pixels' is missing")),
    ("fewer numbers than the shape", "POST", PLAIN, {"instances": [[1]]}, error(400, "expected numbers of shape (2), found something of shape (1)")),
    ("more dimensions than the shape", "POST", PLAIN, {"instances": [[[1, 2]]]}, error(400, "expected numbers of shape (2)")),
    ("fewer dimensions than the shape", "POST", PLAIN, {"instances": [1]}, error(400, "expected numbers of shape (2)")),
    ("lists of several lengths", "POST", SCORES, {"instances": [{**ROW, "pixels": [[1, 2, 3], [4, 5]]}]}, error(400, "expected numbers of shape (2, 3)")),
    ("a text for a number", "POST", PLAIN, {"instances": [["1", 2]]}, error(400, "is the text \"1\", expected a number")),
    ("a truth for a number", "POST", PLAIN, {"instances": [[True, 2]]}, error(400, "is true, expected a number")),
    ("null for a number", "POST", PLAIN, {"instances": [[None, 2]]}, error(400, "is null, expected a number")),
    ("bytes for numbers", "POST", PLAIN, {"instances": [{"b64": "AAAA"}]}, error(400, "there is no input 'b64'")),
    ("a number beyond the type", "POST", PLAIN, '{"instances": [[1e39, 0]]}', error(400, "is no number of type float32")),
    ("no JSON", "POST", PLAIN, "x", error(400, "JSON Parse error")),
    ("no body", "POST", PLAIN, None, error(400, "JSON Parse error")),
    ("JSON with something after it", "POST", PLAIN, '{"instances": [[1, 2]]} {}', error(400, "JSON Parse error")),
    ("no object", "POST", PLAIN, [[1, 2]], error(400, "expected a JSON object")),
    ("bytes: b64", "POST", TEXTS, {"instances": [{"b64": "AgM="}, {"b64": "fw=="}]}, (200, {"predictions": [[4.0, 6.0], [254.0, 0.0]]})),
    ("bytes: b64 with the input's name", "POST", TEXTS, {"instances": [{"x": {"b64": "AgM="}}]}, (200, {"predictions": [[4.0, 6.0]]})),
    ("bytes: b64 in columns", "POST", TEXTS, {"inputs": {"x": [{"b64": "AgM="}]}}, (200, {"outputs": [[4.0, 6.0]]})),
    ("bytes: a text is its UTF-8", "POST", TEXTS, {"instances": ["a", "\u00e9"]}, (200, {"predictions": [[194.0, 0.0], [390.0, 338.0]]})),
    ("bytes: what is no b64", "POST", TEXTS, {"instances": [{"b64": "*"}]}, error(400, "unable to base64 decode")),
    ("bytes: numbers", "POST", TEXTS, {"instances": [[1, 2]]}, error(400, "expected a text, or {\"b64\": \"...\"}")),
    *EXAMPLES,
    ("predict is a POST", "GET", PLAIN, None, error(400, "Malformed request: GET")),
    ("status is a GET", "POST", "/v1/models/plain", {}, error(400, "Malformed request: POST")),
    ("metadata are a GET", "POST", "/v1/models/plain/metadata", {}, error(400, "Malformed request: POST")),
    ("another verb", "POST", "/v1/models/plain:other", {}, error(400, "Malformed request: POST")),
    ("a path that is none", "GET", "/v1/other", None, error(404, "Not found")),
    ("the model has failed", "POST", PLAIN, {"instances": [[-500, 0]]}, error(500, "the first number is -500")),
    ("metrics for Prometheus", "GET", "/monitoring/prometheus/metrics", None, (200, lambda found: b"# TYPE stagecraft_requests_total counter" in found)),
)


def tensor(datatype="FP32", data=(1, 2), shape=(1, 2), name="x", **more):
    return {"name": name, "shape": list(shape), "datatype": datatype, "data": data, **more}


def request(*inputs, **more):
    return {"inputs": list(inputs), **more}


def answered(data, shape=None, **more):
    return 200, {"model_name": "plain", "model_version": "2", **more,
                 "outputs": [{"name": "y", "datatype": "FP32", "shape": list(shape or [len(data) // 2, 2]), "data": [float(each) for each in data]}]}


def without(key):
    one = tensor()
    del one[key]
    return request(one)


TWO = (tensor(name="pixels", shape=[1, 2, 3], data=[PIXELS]), tensor(name="size", data=SIZE))
KSERVE = (
    ("live", "GET", "/v2/health/live", None, (200, {"live": True})),
    ("ready: not all models are", "GET", "/v2/health/ready", None, (503, {"ready": False})),
    ("a model is ready", "GET", "/v2/models/plain/ready", None, (200, {"name": "plain", "ready": True})),
    ("a version is ready", "GET", "/v2/models/plain/versions/1/ready", None, (200, {"name": "plain", "ready": True})),
    ("an unknown model is not ready", "GET", "/v2/models/none/ready", None, error(404, "none")),
    ("an unknown version is not ready", "GET", "/v2/models/plain/versions/9/ready", None, error(404, "9")),
    ("the server: name, version, extensions", "GET", "/v2", None,
     (200, lambda found: set(found) == {"name", "version", "extensions"} and found["name"] == "stagecraft" and "binary_tensor_data" in found["extensions"])),
    ("a model: name, versions, platform, inputs, outputs", "GET", "/v2/models/plain", None,
     (200, {"name": "plain", "versions": ["1", "2"], "platform": "stagecraft", "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}],
            "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 2]}]})),
    ("a version's metadata", "GET", "/v2/models/plain/versions/1", None, (200, lambda found: found["name"] == "plain" and found["inputs"][0]["name"] == "x")),
    ("an unknown model's metadata", "GET", "/v2/models/none", None, error(404, "none")),
    ("an unknown version's metadata", "GET", "/v2/models/plain/versions/9", None, error(404, "9")),
    ("infer: the highest version, and all outputs", "POST", INFER, request(tensor()), answered([2, 4])),
    ("infer: a version", "POST", "/v2/models/plain/versions/1/infer", request(tensor()), (200, lambda found: found["model_version"] == "1" and found["outputs"][0]["data"] == [2.0, 4.0])),
    ("the id comes back", "POST", INFER, request(tensor(), id="a \"b\""), answered([2, 4], id="a \"b\"")),
    ("data in rows", "POST", INFER, request(tensor(data=[[1, 2], [3, 4]], shape=[2, 2])), answered([2, 4, 6, 8])),
    ("data in one list, row by row", "POST", INFER, request(tensor(data=[1, 2, 3, 4], shape=[2, 2])), answered([2, 4, 6, 8])),
    ("no outputs in the list are all outputs", "POST", INFER, request(tensor(), outputs=[]), answered([2, 4])),
    ("outputs by name, in their order", "POST", "/v2/models/scores/infer", request(*TWO, outputs=[{"name": "scores"}, {"name": "class"}]),
     (200, lambda found: [each["name"] for each in found["outputs"]] == ["scores", "class"] and found["outputs"][0]["shape"] == [1, 2])),
    ("inputs in any order", "POST", "/v2/models/scores/infer", request(*reversed(TWO)), (200, lambda found: len(found["outputs"]) == 2)),
    ("parameters that are not known have no effect", "POST", INFER, request(tensor(parameters={"a": [1]}), parameters={"b": "c"}, outputs=[{"name": "y", "parameters": {"d": 1}}]), answered([2, 4])),
    ("keys that are not known have no effect", "POST", INFER, request(tensor(more={"a": 1}), other=[{}]), answered([2, 4])),
    *((f"type {datatype}", "POST", INFER, request(tensor(datatype, data)), answered([2 * each for each in data]))
      for datatype, data in (("BOOL", [True, False]), ("UINT8", [255, 0]), ("UINT16", [65535, 0]), ("UINT32", [1 << 31, 0]), ("UINT64", [1 << 63, 0]), ("INT8", [-128, 127]),
                             ("INT16", [-32768, 0]), ("INT32", [-1 << 31, 0]), ("INT64", [-1 << 63, 0]), ("FP16", [-65504, 0.5]), ("BF16", [1.5, -2]), ("FP32", [0.25, -1]), ("FP64", [0.25, -1]))),
    ("BYTES for an input of bytes", "POST", "/v2/models/texts/infer", request(tensor("BYTES", ["a"], [1, 1])), (200, lambda found: found["outputs"][0]["data"] == [194.0, 0.0])),
    ("texts for an input of numbers: its datatype", "POST", INFER, request(tensor("BYTES", ["1", "2"])), error(400, "input 'x' has datatype 'BYTES', which is not taken")),
    ("texts as data of numbers", "POST", INFER, request(tensor(data=["1", 2])), error(400, "is the text \"1\"")),
    ("an unknown datatype", "POST", INFER, request(tensor("FP128")), error(400, "datatype 'FP128'")),
    ("words have their case", "POST", INFER, request(tensor("fp32")), error(400, "datatype 'fp32'")),
    ("names have their case", "POST", INFER, request(tensor(name="X")), error(400, "there is no input 'X'")),
    ("a number that the datatype has not", "POST", INFER, request(tensor("UINT8", [256, 0])), error(400, "is 256, which is no number of type uint8")),
    ("a part for whole numbers", "POST", INFER, request(tensor("INT32", [0.5, 0])), error(400, "is 0.5, which is no number of type int32")),
    ("no inputs", "POST", INFER, {}, error(400, "a list 'inputs'")),
    ("inputs are a list", "POST", INFER, {"inputs": tensor()}, error(400, "a list 'inputs'")),
    ("an input is an object", "POST", INFER, {"inputs": [1]}, error(400, "an input is no object")),
    ("an input has a name", "POST", INFER, without("name"), error(400, "there is no input ''")),
    ("an input has a datatype", "POST", INFER, without("datatype"), error(400, "datatype ''")),
    ("an input has a shape", "POST", INFER, without("shape"), error(400, "input 'x'")),
    ("an input has data", "POST", INFER, without("data"), error(400, "input 'x' has no data")),
    ("an input that is missing", "POST", "/v2/models/scores/infer", request(TWO[0]), error(400, "input 'size' is missing")),
    ("an input twice", "POST", "/v2/models/scores/infer", request(TWO[1], TWO[1]), error(400, "input 'pixels' is missing")),
    ("one input too many", "POST", INFER, request(tensor(), tensor(name="z")), error(400, "more inputs than the model's")),
    ("an unknown output", "POST", INFER, request(tensor(), outputs=[{"name": "z"}]), error(400, "there is no output 'z'")),
    ("an output twice", "POST", "/v2/models/scores/infer", request(*TWO, outputs=[{"name": "class"}] * 2), error(400, "output 'class' is asked for twice")),
    ("outputs are a list", "POST", INFER, request(tensor(), outputs={"name": "y"}), error(400, "'outputs' is no list")),
    ("another shape", "POST", INFER, request(tensor(shape=[2])), error(400, "has shape (2,), expected a batch of (2,)")),
    ("a shape of another length", "POST", INFER, request(tensor(shape=[1, 3], data=[1, 2, 3])), error(400, "expected a batch of (2,)")),
    ("a shape below 0", "POST", INFER, request(tensor(shape=[-1, 2])), error(400, "input 'x'")),
    ("no samples", "POST", INFER, request(tensor(shape=[0, 2], data=[])), error(400, "input 'x'")),
    ("a shape is whole numbers", "POST", INFER, request(tensor(shape=["1", 2])), error(400, "'shape'")),
    ("more data than the shape", "POST", INFER, request(tensor(data=[1, 2, 3])), error(400, "has 3 numbers, expected 2")),
    ("less data than the shape", "POST", INFER, request(tensor(data=[1])), error(400, "has 1 numbers, expected 2")),
    ("rows of several lengths", "POST", INFER, request(tensor(data=[[1, 2], [3]], shape=[2, 2])), error(400, "expected 'data' of shape")),
    ("an id is a text", "POST", INFER, request(tensor(), id=1), error(400, "'id'")),
    ("parameters are an object", "POST", INFER, request(tensor(), parameters=[1]), error(400, "'parameters' is no object")),
    ("an unknown model", "POST", "/v2/models/none/infer", request(tensor()), error(404, "none")),
    ("an unknown version", "POST", "/v2/models/plain/versions/9/infer", request(tensor()), error(404, "9")),
    ("a model that cannot be loaded", "POST", "/v2/models/broken/infer", request(tensor()), error(404, "broken")),
    ("no JSON", "POST", INFER, "{", error(400, "JSON")),
    ("infer is a POST", "GET", INFER, None, error(404, "Not found: GET")),
    ("metadata are a GET", "POST", "/v2/models/plain", {}, error(404, "Not found: POST")),
    ("a path that is none", "GET", "/v2/other", None, error(404, "Not found")),
    ("the model has failed", "POST", INFER, request(tensor(data=[-500, 0])), error(500, "the first number is -500")),
)

BINARY_X = {"name": "x", "shape": [1, 2], "datatype": "FP32", "parameters": {"binary_data_size": 8}}
TWO_NUMBERS = struct.pack("<2f", 1, 2)
BINARY_Y = {"outputs": [{"name": "y", "parameters": {"binary_data": True}}]}
# Triton's extension: the JSON, the bytes after it, the length that the header says (None: that of the JSON), and the answer: a status with
# the JSON's outputs and the bytes, or an error.
BINARY = (
    ("an input in binary", request(BINARY_X), TWO_NUMBERS, None, (200, [2.0, 4.0], b"")),
    ("an output in binary", request(tensor(), **BINARY_Y), b"", None, (200, None, struct.pack("<2f", 2, 4))),
    ("both", request(BINARY_X, **BINARY_Y), TWO_NUMBERS, None, (200, None, struct.pack("<2f", 2, 4))),
    ("all outputs in binary", request(BINARY_X, parameters={"binary_data_output": True}), TWO_NUMBERS, None, (200, None, struct.pack("<2f", 2, 4))),
    ("one output is not", request(BINARY_X, parameters={"binary_data_output": True}, outputs=[{"name": "y", "parameters": {"binary_data": False}}]), TWO_NUMBERS, None, (200, [2.0, 4.0], b"")),
    *((f"{datatype} in binary", request({**BINARY_X, "datatype": datatype, "parameters": {"binary_data_size": len(data)}}), data, None, (200, [2.0, 4.0], b""))
      for datatype, data in (("UINT8", bytes([1, 2])), ("UINT16", struct.pack("<2H", 1, 2)), ("UINT32", struct.pack("<2I", 1, 2)), ("UINT64", struct.pack("<2Q", 1, 2)),
                             ("INT8", bytes([1, 2])), ("INT16", struct.pack("<2h", 1, 2)), ("INT32", struct.pack("<2i", 1, 2)), ("INT64", struct.pack("<2q", 1, 2)),
                             ("FP16", struct.pack("<2e", 1, 2)), ("BF16", bytes([0x80, 0x3f, 0, 0x40])), ("FP64", struct.pack("<2d", 1, 2)))),
    ("BOOL in binary", request({**BINARY_X, "datatype": "BOOL", "parameters": {"binary_data_size": 2}}), b"\1\0", None, (200, [2.0, 0.0], b"")),
    ("BOOL is 0 or 1", request({**BINARY_X, "datatype": "BOOL", "parameters": {"binary_data_size": 2}}), b"\1\2", None, error(400, "is 2, which is no number of type bool")),
    ("a size that is not the shape's", request({**BINARY_X, "parameters": {"binary_data_size": 4}}), TWO_NUMBERS, None, error(400, "binary_data_size is 4, expected 8")),
    ("fewer bytes than the size", request(BINARY_X), TWO_NUMBERS[:4], None, error(400, "of 4 bytes that are left")),
    ("more bytes than the inputs'", request(BINARY_X), TWO_NUMBERS + b"a", None, error(400, "1 bytes behind the JSON belong to no input")),
    ("data, and binary data as well", request({**BINARY_X, "data": [1, 2]}), TWO_NUMBERS, None, error(400, "has 'data', and binary data as well")),
    ("a length beyond the body", request(BINARY_X), TWO_NUMBERS, 10000, error(400, "Inference-Header-Content-Length is more than there is")),
    ("a length that is none", request(BINARY_X), TWO_NUMBERS, "x", error(400, "Inference-Header-Content-Length is no number")),
    ("no length: the body is JSON", request(BINARY_X), TWO_NUMBERS, "", error(400, "JSON Parse error")),
)


def check_tables(server):
    for page, rules in ("TensorFlow Serving", TENSORFLOW), ("KServe", KSERVE):
        for rule, method, path, body, (status, expected) in rules:
            found_status, found = server.ask(method, path, body)
            check(f"{page}: {rule}", found_status == status and (expected(found) if callable(expected) else same(found, expected)), method, path, body, found_status, found)
            wanted = "text/plain" if path.endswith("metrics") else "application/json"
            check(f"{page}: the type of an answer", server.headers["Content-Type"].startswith(wanted), method, path, server.headers["Content-Type"])
        check("each rule stands once", len({each[0] for each in rules}) == len(rules), page)
    for rule, body, data, length, expected in BINARY:
        text = json.dumps(body).encode()
        status, found = server.ask("POST", INFER, text + data, {} if length == "" else {"Inference-Header-Content-Length": str(len(text) if length is None else length)})
        if len(expected) == 2:
            check(f"binary tensors: {rule}", status == expected[0] and expected[1](found), status, found)
            continue
        header, found_bytes = found, b""
        if "Inference-Header-Content-Length" in server.headers:
            size = int(server.headers["Inference-Header-Content-Length"])
            check("binary tensors: the type of an answer", server.headers["Content-Type"] == "application/octet-stream", server.headers["Content-Type"])
            header, found_bytes = json.loads(found[:size]), found[size:]
        output = header["outputs"][0] if status == 200 else {}
        check(f"binary tensors: {rule}", (status, output.get("data"), found_bytes) == expected and
              output.get("parameters", {}).get("binary_data_size") == (len(found_bytes) or None), status, found)


def check_export(server):
    """The signatures of an export (applications_test.cpp) answer what its outputs are."""
    image, size = [0.0, 0.25, 0.5, 0.5, 0.75, 1.0], [0.5, 2.0]
    predicted = server.ask("POST", "/v1/models/exported:predict", {"instances": [{"image": [image[:3], image[3:]], "size": size}]})[1]["predictions"][0]
    best = sorted(zip("abcd", predicted["scores"]), key=lambda each: -each[1])[:2]
    found = server.ask("POST", "/v1/models/exported:classify", examples({"image": image, "size": size}, signature="best"))
    check("an export's classification", found == (200, {"results": [list(map(list, best))]}), found, best)
    for example in {"image": image, "width": 0.5}, {"image": image, "width": 0.5, "height": 2}:
        found = server.ask("POST", "/v1/models/exported:regress", examples(example, signature="other"))
        check("an export's regression", found == (200, {"results": predicted["other"]}), found, predicted)


with whole_test(250), tempfile.TemporaryDirectory() as folder:
    config = make_plain_models(pathlib.Path(folder))
    with serve("--model_config_file", config) as server:
        check_tables(server)
    with serve("--model", f"exported={FOLDER / 'exported'}") as server:
        check_export(server)
    print(len(TENSORFLOW) + len(KSERVE) + len(BINARY), "rules")
