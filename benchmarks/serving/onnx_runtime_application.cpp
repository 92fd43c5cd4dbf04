// SPDX-License-Identifier: BSD-3-Clause
// The peer of load.py: an application around ONNX Runtime, so that the same server serves the same model by it. It is
// Python's onnxruntime, whose wheel has no headers, in an interpreter inside of the server. The environment says
// the rest, also where the model is, since the server runs a copy of this object that lies elsewhere:
//
//     ONNX_RUNTIME_MODEL       the model's file, whose first axes are the batch
//     ONNX_RUNTIME_PYTHON      the interpreter's program, such as a virtual environment's bin/python
//     ONNX_RUNTIME_BATCH_SIZE  samples of a batch, at most; ONNX Runtime computes only those that there are
//     ONNX_RUNTIME_THREADS     of its operations; 1 by default, as the applications of `stagecraft compile` have
//
// A session's inputs and outputs are bound to the program's memory once, so that a run copies nothing.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stagecraft/serving/application_interface.h>
#include <stagecraft/serving/detail/application_marker.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace serving = stagecraft::serving;

// ONNX Runtime looks at the processor itself.
[[gnu::used]] constexpr serving::detail::application_marker marker{
    serving::detail::application_marker::magic, static_cast<std::uint32_t>(stagecraft_interface_version), 0};

constexpr char const* session_functions = R"(
import functools
import numpy
import onnxruntime

def make_session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

def specs(session):
    return [[(each.name, list(each.shape[1:])) for each in of] for of in (session.get_inputs(), session.get_outputs())]

def runs(session, batch_size, inputs, outputs):
    def run_of(samples):
        binding = session.io_binding()
        for of, addresses, bind in ((session.get_inputs(), inputs, binding.bind_input),
                                    (session.get_outputs(), outputs, binding.bind_output)):
            for each, address in zip(of, addresses):
                bind(each.name, "cpu", 0, numpy.float32, [samples, *each.shape[1:]], address)
        return functools.partial(session.run_with_iobinding, binding)
    return [run_of(samples) for samples in range(1, batch_size + 1)]
)";

/// A reference to an object of Python; whoever touches it has the lock.
class reference {
 public:
  explicit reference(PyObject* own) : own_(own) {
    if (own_ == nullptr) throw std::runtime_error(text_of_error());
  }
  reference(reference&& other) noexcept : own_(std::exchange(other.own_, nullptr)) {}
  reference& operator=(reference&&) = delete;
  ~reference() { Py_XDECREF(own_); }

  [[nodiscard]] PyObject* get() const { return own_; }

 private:
  static std::string text_of_error() {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    auto* const text = value == nullptr ? nullptr : PyObject_Str(value);
    auto const* const bytes = text == nullptr ? nullptr : PyUnicode_AsUTF8(text);
    std::string result = bytes == nullptr ? "an unknown error of Python" : bytes;
    PyErr_Clear();
    for (auto* each : {type, value, trace, text}) Py_XDECREF(each);
    return result;
  }

  PyObject* own_;
};

/// Python's lock, which any thread takes.
class python_lock {
 public:
  python_lock() : state_(PyGILState_Ensure()) {}
  python_lock(python_lock const&) = delete;
  python_lock& operator=(python_lock const&) = delete;
  ~python_lock() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

std::string text_of(char const* variable, char const* otherwise) {
  auto const* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

/// One interpreter for the process. It has no end: NumPy cannot be begun twice.
void start_python() {
  if (Py_IsInitialized() != 0) return;
  // Extension modules look for Python's functions among those that all see.
  Dl_info library{};
  if (::dladdr(reinterpret_cast<void*>(&Py_IsInitialized), &library) != 0)
    (void)::dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;  // they are the server's
  auto const program = text_of("ONNX_RUNTIME_PYTHON", "python3");
  auto status = PyConfig_SetBytesString(&config, &config.program_name, program.c_str());
  if (PyStatus_Exception(status) == 0) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status) != 0)
    throw std::runtime_error(status.err_msg == nullptr ? "Python does not start" : status.err_msg);
  (void)PyEval_SaveThread();
}

struct tensor {
  std::string name;
  std::vector<std::int64_t> shape;

  [[nodiscard]] std::size_t size() const {
    std::size_t product = 1;
    for (auto const length : shape) product *= static_cast<std::size_t>(length);
    return product;
  }
};

/// The model beside this file, of which there is one; never destroyed, as the interpreter.
class model {
 public:
  static model& only() {
    static auto* const own = new model;
    return *own;
  }

  [[nodiscard]] stagecraft_description const* description() const { return &description_; }
  [[nodiscard]] std::string const& problem() const { return problem_; }
  [[nodiscard]] std::vector<tensor> const& inputs() const { return inputs_; }
  [[nodiscard]] std::vector<tensor> const& outputs() const { return outputs_; }
  [[nodiscard]] int batch_size() const { return description_.batch_size; }

  /// Functions that run the model on one sample, two, and so on to a batch, at these addresses.
  [[nodiscard]] reference runs(std::vector<float*> const& from, std::vector<float*> const& to) const {
    return reference(
        PyObject_CallFunction(function("runs"), "OiNN", session_, batch_size(), addresses(from), addresses(to)));
  }

 private:
  model() {
    description_.name = "onnx_runtime";
    description_.stagecraft_version = "ONNX Runtime";
    description_.iterations = description_.stages = description_.replicas = 1;
    description_.batch_size = std::max(1, std::atoi(text_of("ONNX_RUNTIME_BATCH_SIZE", "1").c_str()));
    for (int size = 1; size <= description_.batch_size; ++size) batch_sizes_.push_back(size);
    description_.batch_size_count = description_.batch_size;
    description_.batch_sizes = batch_sizes_.data();
    try {
      start_python();
      python_lock const lock;
      open();
    } catch (std::exception const& why) {
      problem_ = why.what();
    }
  }

  void open() {
    functions_ = PyDict_New();
    PyDict_SetItemString(functions_, "__builtins__", PyEval_GetBuiltins());
    reference const done(PyRun_String(session_functions, Py_file_input, functions_, functions_));
    auto const path = text_of("ONNX_RUNTIME_MODEL", "model.onnx");
    int const threads = std::atoi(text_of("ONNX_RUNTIME_THREADS", "1").c_str());
    session_ = PyObject_CallFunction(function("make_session"), "si", path.c_str(), threads);
    if (session_ == nullptr) reference{nullptr};
    reference const specs(PyObject_CallFunction(function("specs"), "O", session_));
    inputs_ = tensors_of(PyList_GetItem(specs.get(), 0));
    outputs_ = tensors_of(PyList_GetItem(specs.get(), 1));
    described_inputs_ = described(inputs_);
    described_outputs_ = described(outputs_);
    description_.input_count = static_cast<int>(inputs_.size());
    description_.inputs = described_inputs_.data();
    description_.output_count = static_cast<int>(outputs_.size());
    description_.outputs = described_outputs_.data();
  }

  [[nodiscard]] PyObject* function(char const* name) const { return PyDict_GetItemString(functions_, name); }

  static PyObject* addresses(std::vector<float*> const& of) {
    auto* const list = PyList_New(static_cast<Py_ssize_t>(of.size()));
    for (std::size_t i = 0; i < of.size(); ++i)
      PyList_SetItem(list, static_cast<Py_ssize_t>(i), PyLong_FromVoidPtr(of[i]));
    return list;
  }
  static std::vector<tensor> tensors_of(PyObject* list) {
    std::vector<tensor> result;
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
      auto* const pair = PyList_GetItem(list, i);
      auto& each = result.emplace_back(tensor{PyUnicode_AsUTF8(PyTuple_GetItem(pair, 0)), {}});
      auto* const shape = PyTuple_GetItem(pair, 1);
      for (Py_ssize_t axis = 0; axis < PyList_Size(shape); ++axis) {
        auto* const length = PyList_GetItem(shape, axis);
        if (PyLong_Check(length) == 0)
          throw std::runtime_error("'" + each.name + "' has an axis of no known length behind the batch");
        each.shape.push_back(PyLong_AsLongLong(length));
      }
    }
    return result;
  }
  static std::vector<stagecraft_tensor> described(std::vector<tensor> const& of) {
    std::vector<stagecraft_tensor> result;
    for (auto const& each : of)
      result.push_back({each.name.c_str(), static_cast<int>(each.shape.size()), each.shape.data()});
    return result;
  }

  std::string problem_;
  PyObject* functions_ = nullptr;
  PyObject* session_ = nullptr;
  std::vector<tensor> inputs_, outputs_;
  std::vector<stagecraft_tensor> described_inputs_, described_outputs_;
  std::vector<int> batch_sizes_;
  stagecraft_description description_{};
};

int fail(stagecraft_message* message, char const* why) {
  std::snprintf(message->text, sizeof message->text, "%s", why);
  return stagecraft_failed;
}

/// Memory of a batch, and the functions that run on it.
class program {
 public:
  // Locked by `create`.
  program()
      : inputs_(memory_of(model::only().inputs())),
        outputs_(memory_of(model::only().outputs())),
        from_(places_of(inputs_)),
        to_(places_of(outputs_)),
        runs_(model::only().runs(from_, to_)) {}

  int run(stagecraft_feed const& feed) {
    int const samples = feed.feed(feed.context, 0, from_.data());
    if (samples < 0) return stagecraft_ended;
    {
      python_lock const lock;
      auto* const own = PyList_GetItem(runs_.get(), std::clamp(samples, 1, model::only().batch_size()) - 1);
      reference const done(PyObject_CallNoArgs(own));
    }
    feed.take(feed.context, 0, to_.data());
    return stagecraft_ok;
  }

 private:
  using memory = std::vector<std::vector<float>>;

  static memory memory_of(std::vector<tensor> const& tensors) {
    memory result;
    for (auto const& each : tensors)
      result.emplace_back(each.size() * static_cast<std::size_t>(model::only().batch_size()));
    return result;
  }
  static std::vector<float*> places_of(memory& of) {
    std::vector<float*> result;
    for (auto& each : of) result.push_back(each.data());
    return result;
  }

  memory inputs_, outputs_;
  std::vector<float*> from_, to_;
  reference runs_;
};

stagecraft_description const* describe() { return model::only().description(); }

int create(char const*, stagecraft_program** made, stagecraft_message* message) {
  if (!model::only().problem().empty()) return fail(message, model::only().problem().c_str());
  python_lock const lock;
  try {
    *made = reinterpret_cast<stagecraft_program*>(new program);
    return stagecraft_ok;
  } catch (std::exception const& why) {
    return fail(message, why.what());
  }
}

int run(stagecraft_program* own, stagecraft_feed const* feed, stagecraft_message* message) {
  try {
    return reinterpret_cast<program*>(own)->run(*feed);
  } catch (std::exception const& why) {
    return fail(message, why.what());
  }
}

void destroy(stagecraft_program* own) {
  python_lock const lock;
  delete reinterpret_cast<program*>(own);
}

}  // namespace

extern "C" stagecraft_application const* stagecraft_get_application() {
  static constexpr stagecraft_application result{stagecraft_interface_version, describe, create, run, destroy};
  return &result;
}
