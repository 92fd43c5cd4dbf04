// SPDX-License-Identifier: BSD-3-Clause
// Whole models in folders, from which training continues: `save` and `load` of a trainer or predictor, and
// `save_model`. Include it anywhere in the program; not part of <stagecraft/stagecraft.hpp>.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/bundle_folder.hpp>
#include <stagecraft/io/detail/config_differences.hpp>
#include <stagecraft/io/detail/match_weights.hpp>
#include <stagecraft/io/detail/model_config.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/io/detail/training_config.hpp>
#include <stagecraft/io/model_formats.hpp>
#include <stagecraft/io/weights.hpp>
#include <stagecraft/training/trained_model.hpp>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {

namespace io {

/// Describes a session's model: model.json.
template <class Session>
[[nodiscard]] json describe_model() {
  using staged = typename Session::sizes::model;
  auto model = model_config<typename stagecraft::detail::traced_model<staged>::type>();
  add_graphcore_options<staged, Session::sizes::training>(model["config"]);
  model["keras_version"] = "2.6.0";
  model["backend"] = "tensorflow";
  return model;
}

/// The names in a bundle of the optimizer's numbers for each trained weight, in the order of get_optimizer_weights.
template <class M, class Session>
[[nodiscard]] std::vector<std::string> optimizer_paths() {
  std::vector<std::string> paths;
  if constexpr (Session::sizes::slots > 0) {
    constexpr auto optimizer = Session::sizes::training.optimizer;
    auto const begin =
        std::string(optimizer_prefix) + json_of_object(optimizer)["class_name"].template get<std::string>() + "/";
    for (int const weight : stagecraft::detail::trained_weight_order<M>)
      for (std::size_t slot = 0; slot < std::size_t{Session::sizes::slots}; ++slot)
        paths.push_back(begin + stagecraft::detail::optimizer_weight_name(
                                    weight_path<M>(weight), stagecraft::detail::slot_name<optimizer>(slot)));
  }
  return paths;
}

/// Calls `visit(name, type, counter)` for each counter of a training, in the order of a bundle.
template <class Progress, class Visit>
void for_each_counter(Progress& progress, Visit const& visit) {
  visit("seed", element_type::uint64, progress.seed);
  visit("fits", element_type::uint64, progress.fits);
  visit("epochs", element_type::int64, progress.epochs);
  visit("steps", element_type::uint64, progress.steps);
  visit("iterations", element_type::int64, progress.updates);
  visit("learning_rate", element_type::float32, progress.learning_rate);
  visit("loss_scale", element_type::float32, progress.loss_scale);
  visit("good_steps", element_type::int32, progress.good_steps);
  visit("overflowed", element_type::int64, progress.overflowed);
}

/// Appends the counters of a training; `part` precedes their names.
inline void append_progress(engine::training_progress const& progress, tensor_file& to, std::string const& part = "") {
  for_each_counter(progress, [&](std::string_view name, element_type type, auto value) {
    to.tensors.push_back(number_tensor(std::string(counter_prefix).append(part).append(name), type, value));
  });
}

/// Reads a model's weights and counters from the tensors of a bundle, and lists the differences.
class tensor_taker {
 public:
  tensor_taker(tensor_file const& file, difference_list& differences) : differences_(differences) {
    for (auto const& tensor : file.tensors) tensors_.emplace(tensor.name, &tensor);
  }

  void take(std::vector<weight_array>& weights, std::vector<std::string> const& paths) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      auto const* const tensor = find(paths[i], "weight '" + paths[i] + "' is not in the file");
      if (tensor == nullptr) continue;
      if (auto const what = difference_of(*tensor, weights[i]); !what.empty())
        differences_.add("weight '" + paths[i] + "' " + what);
      else
        weights[i].values = to_floats(*tensor);
    }
  }
  void take(engine::training_progress& progress, std::string const& part = "") {
    for_each_counter(progress, [&](std::string_view name, element_type type, auto& counter) {
      take(std::string(part).append(name), type, counter);
    });
  }
  template <class Number>
  void take(std::string const& name, element_type type, Number& counter) {
    auto const path = std::string(counter_prefix) + name;
    auto const* const tensor = find(path, "counter '" + path + "' is not in the file");
    if (tensor == nullptr) return;
    if (tensor->type != type || !tensor->shape.empty())
      differences_.add("counter '" + path + "' is not one number of type " + std::string(stagecraft::name(type)));
    else
      counter = little_endian_at<Number>(tensor->bytes.data());
  }
  /// Lists the tensors that the model did not read, except those whose names begin with one of `others`.
  void finish(std::vector<std::string_view> const& others) {
    for (auto const& [name, tensor] : tensors_) {
      bool counts = true;
      for (auto const other : others) counts = counts && !name.starts_with(other);
      if (counts) differences_.add("weight '" + std::string(name) + "' of the file is not in the model");
    }
  }

 private:
  stored_tensor const* find(std::string const& name, std::string const& otherwise) {
    auto const found = tensors_.find(name);
    if (found == tensors_.end()) {
      differences_.add(otherwise);
      return nullptr;
    }
    auto const* const tensor = found->second;
    tensors_.erase(found);
    return tensor;
  }

  difference_list& differences_;
  std::map<std::string_view, stored_tensor const*, std::less<>> tensors_;
};

/// The description and the weights of a model for a bundle, without the state of a training.
template <class Session>
[[nodiscard]] bundle_contents contents_of(trainers::trained_model<Session> const& model) {
  using M = trainers::trained_type<Session>;
  bundle_contents contents{describe_model<Session>(), training_config<Session::sizes::training>(), {}, {}, {}};
  for (int const weight : stagecraft::detail::weight_order<M>) {
    bool const is_trained = graph_of<M>.parameters[weight].trainable;
    (is_trained ? contents.trainable_weights : contents.non_trainable_weights).push_back(weight_path<M>(weight));
  }
  contents.tensors.metadata.emplace_back("format", "stagecraft weights");
  contents.tensors.metadata.emplace_back(bundle_metadata, std::to_string(bundle_version));
  append_weights(model.get_weights(), weight_paths<M>(), contents.tensors);
  return contents;
}

/// A bundle's description without entries that change no number; `trains`: keeps entries that only training reads.
[[nodiscard]] inline json comparable(json model, bool trains) {
  model.erase("keras_version");
  model.erase("backend");
  if (!model.contains("config") || !model["config"].is_object()) return model;
  auto& config = model["config"];
  for (char const* const key :
       {"pipeline_stage_assignment", "pipeline_stage_assignment_valid", "asynchronous_callbacks", "infeed_kwargs",
        "outfeed_kwargs", "replicated_metric_reduction_method", "input_layers"})
    config.erase(key);
  if (!trains)
    for (char const* const key : {"gradient_accumulation_steps_per_replica", "gradient_accumulation_reduction_method",
                                  "pipelining_gradient_accumulation_steps_per_replica", "pipelining_device_mapping",
                                  "pipelining_accumulate_outfeed", "pipeline_stages"})
      config.erase(key);
  return model;
}

/// True if a bundle was saved with an optimizer of the same class; options that differ are listed.
inline bool compare_optimizers(json const& own, json const& found, difference_list& differences) {
  if (!found.is_object() || !found.contains("optimizer") || !found["optimizer"].is_object()) {
    differences.add("the file is of a predictor: it has no optimizer");
    return false;
  }
  auto const& mine = own["optimizer"];
  auto const& other = found["optimizer"];
  if (!other.contains("class_name") || other["class_name"] != mine["class_name"]) {
    differences.add("optimizer is " + value_text(mine["class_name"]) + ", in the file " +
                    value_text(other.contains("class_name") ? other["class_name"] : json()));
    return false;
  }
  compare_config(mine, other, "optimizer: ", differences);
  return true;
}

}  // namespace io

}  // namespace stagecraft

namespace stagecraft::trainers {

template <class Session>
void save_bundle_of(file_functions, trained_model<Session> const& model, std::string const& path) {
  using M = trained_type<Session>;
  auto const place = io::without_slash(path);
  auto const* const format = io::model_format_of(place);
  auto contents = io::contents_of(model);
  if constexpr (Session::sizes::trains) {
    io::append_weights(model.get_optimizer_weights(), io::optimizer_paths<M, Session>(), contents.tensors);
    io::append_progress(model.progress(), contents.tensors);
  }
  if (format != nullptr) return format->write(place, contents);
  io::replace_bundle(place, [&](std::string const& folder) { io::write_contents(folder, contents); });
}

/// Continues from a file of another program: takes over all weights by name and, in a trainer, the optimizer.
template <class Session>
void load_kept_training(trained_model<Session>& model, std::string const& path, io::model_format const& format) {
  using M = trained_type<Session>;
  if (format.read == nullptr)
    io::refuse("E5042", path, "files of this format hold no training to go on from; load_weights reads their weights");
  auto from = format.read(path);
  auto weights = model.get_weights();
  auto const paths = io::weight_paths<M>();
  io::name_keras_weights(from.weights, io::weight_places<M>());
  io::match_weights(weights, paths, from.weights, path, model.name(), {});
  if constexpr (Session::sizes::trains) {
    static constexpr auto optimizer = Session::sizes::training.optimizer;
    std::vector<std::string> trained, slots;
    for (int const weight : trained_weight_order<M>) trained.push_back(io::weight_path<M>(weight));
    for (std::size_t slot = 0; slot < std::size_t{Session::sizes::slots}; ++slot)
      slots.push_back(slot_name<optimizer>(slot));
    auto numbers = model.get_optimizer_weights();
    auto progress = model.progress();
    io::take_optimizer(from, io::json_of_object(optimizer), trained, slots, numbers, progress, path);
    model.set_optimizer_weights(numbers);
    model.set_progress(progress);
  }
  model.set_weights(weights);
}

template <class Session>
void load_bundle_of(file_functions, trained_model<Session>& model, std::string const& path) {
  using M = trained_type<Session>;
  constexpr bool trains = Session::sizes::trains;
  if (auto const* const format = io::model_format_of(io::without_slash(path)))
    return load_kept_training(model, path, *format);
  auto const contents = io::read_contents(io::without_slash(path));
  io::difference_list differences;
  io::compare_config(io::comparable(io::describe_model<Session>(), trains), io::comparable(contents.model, trains), "",
                     differences);
  auto weights = model.get_weights();
  io::tensor_taker taker(contents.tensors, differences);
  taker.take(weights, io::weight_paths<M>());
  if constexpr (trains) {
    auto numbers = model.get_optimizer_weights();
    auto progress = model.progress();
    if (io::compare_optimizers(io::training_config<Session::sizes::training>(), contents.training, differences)) {
      taker.take(numbers, io::optimizer_paths<M, Session>());
      taker.take(progress);
      taker.finish({});
    } else {
      taker.finish({io::optimizer_prefix, io::counter_prefix});
    }
    differences.raise("E5032", path, model.name());
    model.set_weights(weights);
    model.set_optimizer_weights(numbers);
    model.set_progress(progress);
  } else {
    taker.finish({io::optimizer_prefix, io::counter_prefix});
    differences.raise("E5032", path, model.name());
    model.set_weights(weights);
  }
}

}  // namespace stagecraft::trainers

namespace stagecraft {

/// Writes a model to a folder: `sc::save_model(model, "digits")`, the same as `model.save("digits")`.
///
/// - `model.json`: the model as in Keras 2's `to_json`, with its options and stages under Graphcore's keys;
/// - `weights.safetensors`: the weights under Keras's names, the optimizer's numbers of each, the counters of weight
///   updates, steps and calls of fit, the learning rate and the seed;
/// - `training.json`: the version of the format, the optimizer, loss and metrics, and the checksums of the files.
///
/// `again.load("digits")`, on a trainer of the same model and training description, continues from there: with
/// `{.epochs = 5, .initial_epoch = 2}` the bits are those of five epochs at once. A predictor reads the weights, and a
/// trainer with other stages or options may: `load_weights("digits")`.
///
/// A bundle has nothing that does not belong to the model: no data, callbacks, state of callbacks, history or machine;
/// nor gradients of micro-batches whose weight update is still to come, as after single calls of train_on_batch. Of
/// layers and losses of your own, the names of their classes are saved and the options that layers list; their code is
/// in the program.
///
/// The folder is written beside the former one, to the disk, and then takes its place in one step: whenever the program
/// ends, one of the two is there, whole, and readers see one of the two. A symbolic link stays; the folder that it
/// points to is replaced. A folder that holds anything but a bundle is not overwritten (E5033). Throws file_error
/// E5033, E5041 it cannot be written; data_error E4042 while steps run. Definition: tf.keras.models.save_model.
template <class Model>
void save_model(Model const& model, std::string const& path) {
  model.save(path);
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
