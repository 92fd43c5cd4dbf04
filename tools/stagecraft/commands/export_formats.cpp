// SPDX-License-Identifier: BSD-3-Clause
#include "commands/export_formats.hpp"
#include "onnx/export/onnx_bundle.hpp"
#include "source/header_export.hpp"

#include <stagecraft/io/keras/keras_h5.hpp>
#include <stagecraft/io/npz.hpp>
#include <stagecraft/io/safetensors.hpp>
#include <stagecraft/io/tfjs.hpp>
#include <stagecraft/io/weight_formats.hpp>

namespace stagecraft::tool {

namespace {

/// The weights of a bundle, without its other tensors.
tensor_file weights_of(io::bundle_contents const& contents) {
  tensor_file file;
  file.metadata.emplace_back("format", "stagecraft weights");
  for (auto const& tensor : contents.tensors.tensors)
    if (!tensor.name.starts_with(io::optimizer_prefix) && !tensor.name.starts_with(io::counter_prefix))
      file.tensors.push_back(tensor);
  return file;
}

template <io::keras_version Version>
std::string note_of(io::bundle_contents const& contents) {
  return io::keras_training_of(contents, Version).note;
}

template <stored_weights Stored>
void write_header_with(std::string const& path, io::bundle_contents const& contents) {
  write_header(path, contents, Stored);
}

}  // namespace

std::vector<export_format> const& export_formats() {
  static std::vector<export_format> const all{
      {".weights.h5", "weights for Keras 3", &io::write_keras_weights_h5, &note_of<io::keras_version::keras_3>},
      {".h5", "a model for Keras 2, and for Keras 3", &io::write_keras_h5, &note_of<io::keras_version::keras_2>},
      {".hdf5", "the same", &io::write_keras_h5, &note_of<io::keras_version::keras_2>},
      {".keras", "a model for Keras 3", &io::write_keras_archive, &note_of<io::keras_version::keras_3>},
      {"model.json", "a model for TensorFlow.js, with files of weights beside it", &io::write_tfjs},
      {"/", "a folder of a model for TensorFlow.js", &io::write_tfjs},
      {".onnx", "a model for ONNX Runtime and others, opset 17", &write_onnx},
      {".int8.hpp", "a C++ header as below, with kernels as int8", &write_header_with<stored_weights::bytes>},
      {".hpp", "a C++ header with the model and its weights, for programs without an operating system",
       &write_header_with<stored_weights::floats>},
      {".npz", "weights for NumPy",
       [](std::string const& path, io::bundle_contents const& contents) { write_npz(path, weights_of(contents)); }},
      {".safetensors", "weights", [](std::string const& path, io::bundle_contents const& contents) {
         write_safetensors(path, weights_of(contents));
       }}};
  return all;
}

}  // namespace stagecraft::tool
