// SPDX-License-Identifier: BSD-3-Clause
// Training steps of one's own in files: `save`, `load` and their relatives of a step's trainer, for checkpoints and
// backups, too. Include it beside <stagecraft/steps.hpp>; not part of <stagecraft/stagecraft.hpp>.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/bundle.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// Describes the models of a step, which of them each sub-step moves, and how often it is carried out: model.json.
template <class Trainer>
[[nodiscard]] json describe_step() {
  auto models = json::array(), sub_steps = json::array();
  Trainer::for_each_model([&]<class M>(std::type_identity<M>, std::string_view name) {
    models.push_back({{"name", std::string(name)}, {"model", model_config<M>()}});
  });
  Trainer::for_each_optimizer([&](auto const&, std::vector<std::string> const& moved, int times, int every) {
    sub_steps.push_back({{"moves", moved}, {"times", times}, {"every", every}});
  });
  return {{"class_name", "TrainingStep"}, {"config", {{"models", models}, {"sub_steps", sub_steps}}}};
}
/// The optimizers of a step: `training` of training.json.
template <class Trainer>
[[nodiscard]] json optimizers_of_step() {
  auto result = json::object();
  int number = 0;
  Trainer::for_each_optimizer([&](auto const& optimizer, auto const&...) {
    result["sub_step_" + std::to_string(number++)] = json_of_object(optimizer);
  });
  return result;
}
[[nodiscard]] inline std::vector<std::string> names_of(std::vector<weight_array> const& weights,
                                                       std::string_view prefix = "") {
  std::vector<std::string> result;
  for (auto const& each : weights) result.push_back(std::string(prefix) + each.name);
  return result;
}
/// Calls `visit(name, number)` for each value that a step's replicas have reported last.
template <class Values, class Visit>
void for_each_value(Values& of_replicas, Visit const& visit) {
  for (std::size_t replica = 0; replica < of_replicas.size(); ++replica)
    for (std::size_t i = 0; i < of_replicas[replica].size(); ++i)
      visit("value_" + std::to_string(replica) + "_" + std::to_string(i), of_replicas[replica][i]);
}
[[nodiscard]] inline std::string part_of_sub_step(std::size_t number) {
  return "sub_step_" + std::to_string(number) + "/";
}

}  // namespace stagecraft::io

namespace stagecraft::trainers {

/// The trainer of a training step of one's own.
template <class Trainer>
concept StepTrainer = requires { typename Trainer::step_progress; };

template <StepTrainer Trainer>
void save_weights_of(file_functions, Trainer const& model, std::string const& path) {
  auto const& format = io::format_of(path);
  auto const weights = model.get_weights();
  tensor_file file;
  file.metadata.emplace_back("format", "stagecraft weights");
  io::append_weights(weights, io::names_of(weights), file);
  if (format.write == nullptr) io::refuse("E5042", path, "files of this format are only read");
  format.write(path, file);
}
template <StepTrainer Trainer>
loaded_weights load_weights_of(file_functions, Trainer& model, std::string const& path,
                               load_weights_options const& options) {
  auto weights = model.get_weights();
  auto const file = io::read_weights(path);
  auto result = io::match_weights(weights, io::names_of(weights), file, path, model.name(), options);
  model.set_weights(weights);
  return result;
}

template <StepTrainer Trainer>
void save_bundle_of(file_functions, Trainer const& model, std::string const& path) {
  auto const place = io::without_slash(path);
  if (io::model_format_of(place) != nullptr)
    io::refuse("E5042", path, "a training step is saved to a folder; models of other programs have no such steps");
  auto const weights = model.get_weights(), numbers = model.get_optimizer_weights();
  io::bundle_contents contents{io::describe_step<Trainer>(), io::optimizers_of_step<Trainer>(), {}, {}, {}};
  contents.trainable_weights = io::names_of(weights);
  contents.tensors.metadata.emplace_back("format", "stagecraft weights");
  contents.tensors.metadata.emplace_back(io::bundle_metadata, std::to_string(io::bundle_version));
  io::append_weights(weights, io::names_of(weights), contents.tensors);
  io::append_weights(numbers, io::names_of(numbers, io::optimizer_prefix), contents.tensors);
  auto const progress = model.progress_of_step();
  io::append_progress(progress.of_trainer, contents.tensors);
  for (std::size_t i = 0; i < progress.of_sub_steps.size(); ++i)
    io::append_progress(progress.of_sub_steps[i], contents.tensors, io::part_of_sub_step(i));
  io::for_each_value(progress.values, [&](std::string const& name, double value) {
    contents.tensors.tensors.push_back(
        io::number_tensor(std::string(io::counter_prefix) + name, element_type::float64, value));
  });
  io::replace_bundle(place, [&](std::string const& folder) { io::write_contents(folder, contents); });
}

template <StepTrainer Trainer>
void load_bundle_of(file_functions, Trainer& model, std::string const& path) {
  auto const place = io::without_slash(path);
  if (io::model_format_of(place) != nullptr)
    io::refuse("E5042", path, "a training step goes on from the folder that its save has written");
  auto const contents = io::read_contents(place);
  io::difference_list differences;
  io::compare_config(io::describe_step<Trainer>(), contents.model, "", differences);
  io::compare_config(io::optimizers_of_step<Trainer>(), contents.training, "optimizers: ", differences);
  auto weights = model.get_weights(), numbers = model.get_optimizer_weights();
  auto progress = model.progress_of_step();
  io::tensor_taker taker(contents.tensors, differences);
  taker.take(weights, io::names_of(weights));
  taker.take(numbers, io::names_of(numbers, io::optimizer_prefix));
  taker.take(progress.of_trainer);
  for (std::size_t i = 0; i < progress.of_sub_steps.size(); ++i)
    taker.take(progress.of_sub_steps[i], io::part_of_sub_step(i));
  io::for_each_value(progress.values,
                     [&](std::string const& name, double& value) { taker.take(name, element_type::float64, value); });
  taker.finish({});
  differences.raise("E5032", path, model.name());
  model.set_weights(weights);
  model.set_optimizer_weights(numbers);
  model.set_progress(progress);
}

}  // namespace stagecraft::trainers

#include <stagecraft/diagnostics/end_headers.hpp>
