// SPDX-License-Identifier: BSD-3-Clause
// A model's weights in files: `save_weights` and `load_weights` of a trainer or predictor; its states, which stateful
// layers keep from batch to batch: `sc::save_states` and `sc::load_states`. Include it anywhere in the program; not
// part of <stagecraft/stagecraft.hpp>.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/detail/keras_positions.hpp>
#include <stagecraft/io/detail/match_weights.hpp>
#include <stagecraft/io/weight_formats.hpp>
#include <stagecraft/training/layer_states.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

namespace io {

/// Appends the tensors of weights, under their names in files.
inline void append_weights(std::vector<weight_array> const& weights, std::vector<std::string> const& paths,
                           tensor_file& to) {
  for (std::size_t i = 0; i < weights.size(); ++i)
    to.tensors.push_back(float_tensor(paths[i], weights[i].shape, weights[i].values));
}

/// The places of all weights in files of Keras, in Keras's order.
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
/// names, such as "dense/kernel:0"; the name of a nested model precedes them: "encoder/dense/kernel:0". The optimizer's
/// state is not saved; save_model writes a whole bundle.
///
/// Until the new file is whole and on the disk, the former one stays at `path`. Throws file_error: E5041 the file
/// cannot be written, E5042 the name has another ending; data_error E4042 while steps run.
template <class Session>
void save_weights_of(file_functions, trained_model<Session> const& model, std::string const& path) {
  using M = trained_type<Session>;
  auto const& format = io::format_of(path);
  tensor_file file;
  file.metadata.emplace_back("format", "stagecraft weights");
  io::append_weights(model.get_weights(), io::weight_paths<M>(), file);
  if (format.write == nullptr) io::refuse("E5042", path, "files of this format are only read");
  format.write(path, file);
}

/// `model.load_weights("w.safetensors")`, "w.npz", or a bundle. All names and shapes must be the model's; otherwise
/// E5021 lists each difference, and nothing is changed. ":0" at the end of a name may be missing. Numbers in float16,
/// bfloat16 and float64 are converted.
///
/// With `.by_name = true`, layers that only one side has are skipped, as in Keras, and with `.skip_mismatch = true`
/// also layers whose weights differ; the result lists them. If no layer is left, that is E5021, too. The optimizer's
/// state stays as it is. Throws file_error: E5001, E5011 to E5015 for damaged files, E5021, E5022 skip_mismatch without
/// by_name, E5042 the name has another ending; data_error E4042 while steps run.
template <class Session>
loaded_weights load_weights_of(file_functions, trained_model<Session>& model, std::string const& path,
                               load_weights_options const& options) {
  using M = trained_type<Session>;
  auto weights = model.get_weights();
  auto const paths = io::weight_paths<M>();
  auto file = io::read_weights(path);
  io::name_keras_weights(file, io::weight_places<M>());
  auto result = io::match_weights(weights, paths, file, path, model.name(), options);
  model.set_weights(weights);
  return result;
}

}  // namespace stagecraft::trainers

namespace stagecraft::io {

/// The paths of all states that layers keep from batch to batch.
template <class M>
[[nodiscard]] std::vector<std::string> state_paths() {
  std::vector<std::string> paths;
  for (int const state : trainers::all_states<M>) paths.push_back(weight_path<M>(state));
  return paths;
}

}  // namespace stagecraft::io

namespace stagecraft {

/// Writes the states that the layers of a trainer or predictor keep from batch to batch to a file: "s.safetensors" or
/// "s.npz", under names such as "lstm/hidden:0". Weights are not among them: save_weights writes these. Call it while
/// no step runs. Throws file_error: E5041 the file cannot be written, E5042 the name has another ending.
template <class Trained>
void save_states(Trained& model, std::string const& path) {
  using M = typename Trained::session_type::model;
  auto const& format = io::format_of(path);
  if (format.write == nullptr) io::refuse("E5042", path, "files of this format are only read");
  tensor_file file;
  file.metadata.emplace_back("format", "stagecraft states");
  io::append_weights(trainers::copy_weights<M, trainers::all_states<M>>(model.session()), io::state_paths<M>(), file);
  format.write(path, file);
}

/// Sets the states of a trainer or predictor to those of a file of save_states: the next batch continues where the
/// program was that wrote it. If a name or shape differs, E5021 lists each difference, and nothing is changed. Throws
/// file_error: E5001, E5011 to E5015 for damaged files, E5021, E5042 the name has another ending.
template <class Trained>
void load_states(Trained& model, std::string const& path) {
  using M = typename Trained::session_type::model;
  auto states = trainers::copy_weights<M, trainers::all_states<M>>(model.session());
  io::match_weights(states, io::state_paths<M>(), io::format_of(path).read(path), path, model.name(), {});
  trainers::assign_weights<M, trainers::all_states<M>>(model.session(), states, false);
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
