// SPDX-License-Identifier: BSD-3-Clause
// Signatures of examples, with the places that their names mean in an application: what an export checks, and what a
// server reads examples by.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/servable.hpp>
#include <stagecraft/training/export_options.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::serving::detail {

/// A feature whose numbers go to the places from `first` on of a sample of an input.
struct bound_feature {
  enum class kind : unsigned char { floats, integers, bytes };

  std::string name;
  kind type = kind::floats;
  std::size_t input = 0;
  std::size_t first = 0, size = 0;  ///< numbers of a sample
  std::vector<std::int64_t> shape = {};
  std::vector<float> default_value = {};  ///< `size` numbers; empty: examples must have the feature

  friend bool operator==(bound_feature const&, bound_feature const&) = default;
};

/// A signature whose features fill all inputs.
struct bound_signature {
  bool classifies = false;
  std::size_t output = 0;
  std::vector<std::string> labels = {};  ///< empty: it has none
  std::size_t classes = 0, top = 0;  ///< numbers of the output, and those that are answered, in falling order; 0: all
  std::vector<bound_feature> features = {};

  /// Classes of an answer.
  [[nodiscard]] std::size_t answered() const noexcept { return top == 0 ? classes : top; }
  [[nodiscard]] std::string method_name() const {
    return classifies ? "tensorflow/serving/classify" : "tensorflow/serving/regress";
  }
};

/// The signatures of examples by their names.
using signature_table = std::map<std::string, bound_signature, std::less<>>;

/// Finds the places of one signature's names. Keeps references.
class signature_binder {
 public:
  signature_binder(example_signature const& signature, servable_description const& known, std::string const& owner)
      : signature_(signature), known_(known), owner_(owner) {}

  [[nodiscard]] bound_signature bind() const {
    bound_signature result{.classifies = signature_.classifies, .output = 0, .labels = signature_.labels};
    result.output = place_of(known_.outputs, signature_.output, "output");
    bind_output(result);
    auto features = signature_.features;
    if (features.empty())
      for (auto const& each : known_.inputs) features.push_back({.name = each.name});
    std::vector<int> counts(known_.inputs.size());
    for (auto const& each : features) ++counts[input_of(each)];
    std::vector<std::size_t> filled(known_.inputs.size());
    for (auto const& each : features) {
      for (auto const& before : result.features)
        if (before.name == each.name) refuse("has the feature '" + each.name + "' twice");
      auto const input = input_of(each);
      result.features.push_back(bind_feature(each, input, counts[input] == 1, filled[input]));
    }
    for (std::size_t i = 0; i < filled.size(); ++i)
      if (auto const size = size_of(known_.inputs[i]); filled[i] != size)
        refuse("fills " + std::to_string(filled[i]) + " of the " + std::to_string(size) + " numbers of input '" +
               known_.inputs[i].name + "' with features");
    return result;
  }

 private:
  [[noreturn]] void refuse(std::string const& what) const {
    throw file_error("E4187", owner_ + ": the signature '" + signature_.name + "' " + what);
  }
  [[nodiscard]] static std::size_t size_of(tensor_spec const& of) { return static_cast<std::size_t>(of.size()); }

  [[nodiscard]] std::size_t place_of(std::vector<tensor_spec> const& specs, std::string const& name,
                                     std::string const& what) const {
    if (name.empty() && specs.size() == 1) return 0;
    auto const found = std::find_if(specs.begin(), specs.end(), [&](auto const& one) { return one.name == name; });
    if (found != specs.end()) return static_cast<std::size_t>(found - specs.begin());
    std::string names;
    for (auto const& each : specs) names += (names.empty() ? "'" : ", '") + each.name + "'";
    refuse(name.empty() ? "names no " + what + ", and there are " + names
                        : "names the " + what + " '" + name + "', and there are " + names);
  }
  [[nodiscard]] std::size_t input_of(example_feature const& feature) const {
    if (feature.name.empty()) refuse("has a feature without a name");
    if (feature.input.empty() && known_.inputs.size() == 1) return 0;
    return place_of(known_.inputs, feature.input.empty() ? feature.name : feature.input, "input");
  }

  void bind_output(bound_signature& to) const {
    auto const& of = known_.outputs[to.output];
    to.classes = size_of(of);
    if (!to.classifies) {
      if (of.shape.size() > 1 || to.classes != 1)
        refuse("is a regression, whose output has one number a sample, but '" + of.name + "' has " +
               std::to_string(to.classes));
      return;
    }
    if (of.shape.size() != 1)
      refuse("is a classification, whose output is a row of scores a sample, but '" + of.name + "' has the rank " +
             std::to_string(of.shape.size()));
    if (!to.labels.empty() && to.labels.size() != to.classes)
      refuse("has " + std::to_string(to.labels.size()) + " labels for the " + std::to_string(to.classes) +
             " scores of '" + of.name + "'");
    if (signature_.top < 0 || static_cast<std::size_t>(signature_.top) > to.classes)
      refuse("has top " + std::to_string(signature_.top) + ", and there are " + std::to_string(to.classes) + " scores");
    if (signature_.top > 0 && to.labels.empty()) refuse("has top, but no labels, which would say what is answered");
    to.top = static_cast<std::size_t>(signature_.top);
  }

  [[nodiscard]] bound_feature bind_feature(example_feature const& from, std::size_t input, bool is_only,
                                           std::size_t& filled) const {
    auto const& of = known_.inputs[input];
    auto const is = "has the feature '" + from.name + "', ";
    using enum bound_feature::kind;
    bound_feature result{.name = from.name, .type = of.is_bytes ? bytes : floats, .input = input, .first = filled};
    if (from.dtype == "DT_INT64")
      result.type = integers;
    else if (from.dtype == "DT_FLOAT")
      result.type = floats;
    else if (from.dtype == "DT_STRING")
      result.type = bytes;
    else if (!from.dtype.empty())
      refuse(is + "whose dtype '" + from.dtype + "' is not DT_FLOAT, DT_INT64 or DT_STRING");
    if ((result.type == bytes) != of.is_bytes)
      refuse(is + "which is " + (of.is_bytes ? "no DT_STRING for an input" : "DT_STRING for an input that is none") +
             " of TYPE_STRING in config.pbtxt");
    constexpr long long most = 1LL << 40;
    long long size = 1;
    for (auto const length : from.shape) {
      if (length < 1 || size > most / length) refuse(is + "whose shape has the length " + std::to_string(length));
      size *= length;
    }
    if (of.is_bytes) {
      if (!is_only || size != 1) refuse(is + "for which input '" + of.name + "' takes one text");
      result.size = size_of(of);
      if (from.default_value.size() > result.size)
        refuse(is + "whose default_value has more bytes than input '" + of.name + "'");
    } else {
      result.shape.assign(from.shape.begin(), from.shape.end());
      if (from.shape.empty() && is_only) {
        result.shape = of.shape;
        size = of.size();
      }
      result.size = static_cast<std::size_t>(size);
      if (auto const count = from.default_value.size(); count > 1 && count != result.size)
        refuse(is + "whose default_value has " + std::to_string(count) + " numbers, and its shape " +
               std::to_string(result.size));
    }
    if (result.size > size_of(of) - filled) refuse(is + "which is larger than what is left of input '" + of.name + "'");
    filled += result.size;
    if (from.default_value.empty()) return result;
    result.default_value = from.default_value;
    if (!of.is_bytes && result.default_value.size() == 1)
      result.default_value.assign(result.size, from.default_value[0]);
    result.default_value.resize(result.size);
    return result;
  }

  example_signature const& signature_;
  servable_description const& known_;
  std::string const& owner_;
};

/// Finds what the names of signatures mean in an application. Throws file_error E4187 for what it does not have, and
/// for names that are there twice or taken.
[[nodiscard]] inline signature_table bound_signatures(std::vector<example_signature> const& signatures,
                                                      servable_description const& known, std::string const& owner) {
  signature_table result;
  for (auto const& each : signatures) {
    if (each.name.empty() || each.name == "predict")
      throw file_error("E4187", owner + (each.name.empty() ? ": a signature has no name"
                                                           : ": a signature of examples has the name 'predict', which "
                                                             "is that of the signature of tensors"));
    if (!result.emplace(each.name, signature_binder(each, known, owner).bind()).second)
      throw file_error("E4187", owner + ": there are two signatures '" + each.name + "'");
  }
  return result;
}

/// Throws as bound_signatures. Inputs for which features are DT_STRING pass as inputs of bytes, which config.pbtxt says
/// after the export.
inline void check_signatures(std::vector<example_signature> const& signatures, servable_description known,
                             std::string const& owner) {
  for (auto const& signature : signatures)
    for (auto const& feature : signature.features)
      for (auto& input : known.inputs)
        if (feature.dtype == "DT_STRING" && (feature.input.empty() ? feature.name : feature.input) == input.name)
          input.is_bytes = true;
  (void)bound_signatures(signatures, known, owner);
}

}  // namespace stagecraft::serving::detail
