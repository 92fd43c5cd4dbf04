// SPDX-License-Identifier: BSD-3-Clause
// Writes a bundle as an ONNX file.
#include "onnx_bundle.hpp"
#include "onnx_builder.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/io/stored_tensor.hpp>

namespace stagecraft::tool {

namespace {

void give_weights(source_model& model, std::string const& prefix, tensor_file const& from, std::string const& path) {
  for (auto& layer : model.layers) {
    if (layer.nested) give_weights(*layer.nested, prefix + layer.name + "/", from, path);
    for (auto const& weight : layer.weights) {
      auto const name = prefix + layer.name + "/" + weight.name + ":0";
      auto const* const found = from.find(name);
      if (found == nullptr) throw file_error("E5065", path + ": the bundle has no weight '" + name + "'");
      if (found->shape != weight.shape)
        throw file_error("E5065", path + ": weight '" + name + "' has the shape " + io::shape_text(found->shape) +
                                      ", expected " + io::shape_text(weight.shape));
      layer.values.push_back({weight.name, weight.shape, io::to_floats(*found)});
    }
  }
}

}  // namespace

void write_onnx(std::string const& path, io::bundle_contents const& contents) {
  auto model = read_config(contents.model, path, {});
  give_weights(model, "", contents.tensors, path);
  auto const bytes = onnx_of(model, path);
  io::replace_file(path, [&](io::file_writer& to) { to.write(bytes); });
}

}  // namespace stagecraft::tool
