// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/ensemble.hpp"

#include "serve/http/http_message.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <utility>

namespace stagecraft::tool {

namespace {

using shape_type = std::vector<std::int64_t>;

serving::tensor_spec const* find(std::vector<serving::tensor_spec> const& specs, std::string const& name) {
  auto const found = std::find_if(specs.begin(), specs.end(), [&](auto const& one) { return one.name == name; });
  return found == specs.end() ? nullptr : &*found;
}

/// True if `dims` of a file may be this shape: -1 is any length, and a single number has [1], as Triton's do.
bool fits(shape_type const& dims, shape_type const& shape) {
  if (shape.empty() && dims == shape_type{1}) return true;
  return std::equal(dims.begin(), dims.end(), shape.begin(), shape.end(),
                    [](std::int64_t told, std::int64_t own) { return told == -1 || told == own; });
}

struct described_step {
  ensemble_step step;
  serving::servable_description of;
};

/// Finds how the parts of an ensemble fit together. All functions throw file_error E5303.
class ensemble_checker {
 public:
  explicit ensemble_checker(std::string const& name) : name_(name) {}

  [[noreturn]] void fail(std::string const& why) const {
    throw file_error("E5303", "ensemble '" + name_ + "': " + why);
  }

  void check_names(described_step const& each) const {
    auto const& [step, of] = each;
    for (auto const& [own, tensor] : step.inputs)
      if (find(of.inputs, own) == nullptr) fail("model '" + step.model + "' has no input '" + own + "'");
    for (auto const& spec : of.inputs)
      if (!step.inputs.contains(spec.name))
        fail("the step of model '" + step.model + "' has no input_map for its input '" + spec.name + "'");
    for (auto const& [own, tensor] : step.outputs)
      if (find(of.outputs, own) == nullptr) fail("model '" + step.model + "' has no output '" + own + "'");
  }

  /// An input of the ensemble has the shape of the model's input that reads it.
  serving::tensor_spec input(ensemble_settings::tensor const& told, std::vector<described_step> const& steps) const {
    for (auto const& [step, of] : steps)
      for (auto const& [own, tensor] : step.inputs) {
        if (tensor != told.name) continue;
        auto spec = *find(of.inputs, own);
        if (spec.is_bytes != told.is_bytes)
          fail("input '" + told.name + "' and input '" + own + "' of model '" + step.model +
               "' are not both of TYPE_STRING, or both not");
        spec.name = told.name;
        if (!told.is_bytes) check_dims("input", told, spec.shape);
        return spec;
      }
    fail("no step reads the input '" + told.name + "'");
  }

  void check_dims(std::string const& what, ensemble_settings::tensor const& told, shape_type const& shape) const {
    if (told.shape && !fits(*told.shape, shape))
      fail(what + " '" + told.name + "' has dims " + io::shape_text(*told.shape) + ", but shape " +
           io::shape_text(shape));
  }

  /// True if all that a step reads is there, with its shape.
  [[nodiscard]] bool can_follow(described_step const& each, std::map<std::string, shape_type> const& made) const {
    for (auto const& [own, tensor] : each.step.inputs) {
      auto const found = made.find(tensor);
      if (found == made.end()) return false;
      auto const& wanted = find(each.of.inputs, own)->shape;
      if (found->second != wanted)
        fail("'" + tensor + "' has shape " + io::shape_text(found->second) + ", but input '" + own + "' of model '" +
             each.step.model + "' has " + io::shape_text(wanted));
    }
    return true;
  }

 private:
  std::string const& name_;
};

}  // namespace

ensemble::ensemble(std::string name, model_config const& config, describe_function const& describe) {
  auto const& told = *config.ensemble;
  ensemble_checker const checks(name);
  if (told.steps.empty() || told.inputs.empty() || told.outputs.empty())
    checks.fail("it has no step, no input, or no output");
  std::vector<described_step> left;
  for (auto const& each : told.steps) {
    left.push_back({each, describe(each)});
    checks.check_names(left.back());
  }
  known_.name = std::move(name);
  known_.batch_size = config.max_batch_size > 0 ? config.max_batch_size : left.front().of.batch_size;
  std::map<std::string, shape_type> made;
  auto const make = [&](std::string const& tensor, shape_type const& shape) {
    if (!made.emplace(tensor, shape).second) checks.fail("'" + tensor + "' is made twice");
  };
  for (auto const& each : told.inputs) {
    known_.inputs.push_back(checks.input(each, left));
    make(each.name, known_.inputs.back().shape);
  }
  while (!left.empty()) {
    auto const next =
        std::find_if(left.begin(), left.end(), [&](auto const& each) { return checks.can_follow(each, made); });
    if (next == left.end()) {
      auto const& step = left.front().step;
      for (auto const& [own, tensor] : step.inputs)
        if (!made.contains(tensor))
          checks.fail("the step of model '" + step.model + "' reads '" + tensor +
                      "', which is neither an input nor made by a step before it");
    }
    for (auto const& [own, tensor] : next->step.outputs) make(tensor, find(next->of.outputs, own)->shape);
    for (auto const& [own, tensor] : next->step.inputs) last_use_[tensor] = steps_.size();
    if (config.max_batch_size == 0) known_.batch_size = std::min(known_.batch_size, next->of.batch_size);
    steps_.push_back(std::move(next->step));
    left.erase(next);
  }
  for (auto const& each : told.outputs) {
    auto const found = made.find(each.name);
    if (found == made.end()) checks.fail("no step makes the output '" + each.name + "'");
    if (find(known_.outputs, each.name) != nullptr) checks.fail("it has the output '" + each.name + "' twice");
    checks.check_dims("output", each, found->second);
    known_.outputs.push_back({each.name, found->second});
    last_use_[each.name] = steps_.size();
  }
  shapes_ = std::move(made);
}

ensemble::tensors ensemble::run(tensors inputs, std::int64_t samples, call_function const& call) const {
  auto const fail = [&](ensemble_step const& step, std::string const& tensor) {
    throw http_error{500, "ensemble '" + known_.name + "': model '" + step.model +
                              "' has changed since the ensemble was loaded: see '" + tensor + "'"};
  };
  std::map<std::string, std::vector<float>> made;
  for (std::size_t i = 0; i < inputs.size(); ++i) made[known_.inputs[i].name] = std::move(inputs[i]);
  for (std::size_t place = 0; place < steps_.size(); ++place) {
    auto const& step = steps_[place];
    auto [of, outputs] = call(step, [&](serving::servable_description const& model) {
      tensors own;
      for (auto const& spec : model.inputs) {
        auto const found = step.inputs.find(spec.name);
        if (found == step.inputs.end() || shapes_.at(found->second) != spec.shape) fail(step, spec.name);
        auto& from = made.at(found->second);
        // The last reader takes it, unless the step reads it twice.
        bool const is_once = std::count_if(step.inputs.begin(), step.inputs.end(),
                                           [&](auto const& one) { return one.second == found->second; }) == 1;
        if (is_once && last_use_.at(found->second) == place)
          own.push_back(std::move(from));
        else
          own.push_back(from);
      }
      return own;
    });
    for (auto const& [own, tensor] : step.outputs) {
      auto const* const spec = find(of.outputs, own);
      if (spec == nullptr || spec->shape != shapes_.at(tensor)) fail(step, own);
      made[tensor] = std::move(outputs[static_cast<std::size_t>(spec - of.outputs.data())]);
    }
  }
  tensors result;
  for (auto const& each : known_.outputs) {
    result.push_back(std::move(made.at(each.name)));
    if (static_cast<std::int64_t>(result.back().size()) != samples * each.size())
      throw http_error{500, "ensemble '" + known_.name + "': a model has another number of samples"};
  }
  return result;
}

}  // namespace stagecraft::tool
