// SPDX-License-Identifier: BSD-3-Clause
// A model's weights in files: what `save_weights` and `load_weights` of a trainer or predictor do. Include it anywhere
// in the program; not part of <stagecraft/stagecraft.hpp>.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/detail/keras_positions.hpp>
#include <stagecraft/io/detail/match_weights.hpp>
#include <stagecraft/io/weight_formats.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

namespace io {

/// Tensors of weights, under the names that they have in files.
inline void append_weights(std::vector<weight_array> const& weights, std::vector<std::string> const& paths,
                           tensor_file& to) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    to.tensors.push_back(float_tensor(paths[i], weights[i].shape, weights[i].values));
}

/// Where files of Keras have all weights, in Keras's order.
template <class M>
[[nodiscard]] std::vector<weight_place> weight_places() {
  std::vector<weight_place> places;
  auto const& graph = graph_of<M>;
  for (int const weight : stagecraft::detail::weight_order<M>) {
    auto const& parameter = graph.parameters[weight];
    auto const layer = graph.layer_of_parameter(weight);
    places.push_back({weight_path<M>(weight),
                      stagecraft::detail::outermost_name(graph, layer),
                      path_of_layer(graph, layer),
                      parameter.trainable,
                      {parameter.shape.begin(), parameter.shape.end()}});
  }
  return places;
}

}  // namespace io

}  // namespace stagecraft

namespace stagecraft::trainers {

/// `model.save_weights("w.safetensors")`, or "w.npz": all weights in float32, in Keras's layouts and under Keras's
/// names, such as "dense/kernel:0"; in a nested model, its name stands before: "encoder/dense/kernel:0". The
/// optimizer's state is not among them: save_model writes a whole bundle.
///
/// The file at `path` is the former one until the new one is whole and on the disk.
/// Throws file_error: E5041 the file cannot be written, E5042 the name has another ending; data_error E4042 while
/// steps run.
template <class M, class Session>
void save_weights_of(file_functions, trained_model<M, Session> const& model, std::string const& path) {
  auto const& format = io::format_of(path);
  tensor_file file;
  file.metadata.emplace_back("format", "stagecraft weights");
  io::append_weights(model.get_weights(), io::weight_paths<M>(), file);
  if (format.write == nullptr) io::refuse("E5042", path, "files of this format are only read");
  format.write(path, file);
}

/// `model.load_weights("w.safetensors")`, "w.npz", or a bundle. Names and shapes must be the model's, all of them:
/// else E5021 lists each difference, and nothing has changed. ":0" at the end of a name may be missing. Numbers in
/// float16, bfloat16 and float64 are converted.
///
/// With `.by_name = true` layers of other names are left out on both sides, as in Keras, and with `.skip_mismatch =
/// true` layers whose weights differ, too; what is returned lists them. That none is left is E5021 all the same. The
/// optimizer's state stays as it is. Throws file_error: E5001, E5011 to E5015 what is wrong with the file, E5021, E5022
/// skip_mismatch without by_name, E5042 the name has another ending; data_error E4042 while steps run.
template <class M, class Session>
loaded_weights load_weights_of(file_functions, trained_model<M, Session>& model, std::string const& path,
                               load_weights_options const& options) {
  auto weights = model.get_weights();
  auto const paths = io::weight_paths<M>();
  auto file = io::read_weights(path);
  io::name_keras_weights(file, io::weight_places<M>());
  auto result = io::match_weights(weights, paths, file, path, model.name(), options);
  model.set_weights(weights);
  return result;
}

}  // namespace stagecraft::trainers

#include <stagecraft/diagnostics/end_headers.hpp>
