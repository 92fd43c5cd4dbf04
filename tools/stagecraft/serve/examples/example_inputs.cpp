// SPDX-License-Identifier: BSD-3-Clause
#include "serve/examples/example_inputs.hpp"

#include "protobuf_tag.hpp"
#include "serve/http/http_message.hpp"
#include "serve/input_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <protozero/pbf_reader.hpp>

namespace stagecraft::tool {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr auto message_tag(std::uint32_t number) { return tag(number, pbf_wire_type::length_delimited); }

char const* name_of(bound_feature::kind kind) {
  switch (kind) {
    case bound_feature::kind::floats: return "float";
    case bound_feature::kind::integers: return "int64";
    case bound_feature::kind::bytes: return "string";
  }
  return "";
}

/// Reads a list of values: FloatList and Int64List packed or not, BytesList.
void read_list(pbf_reader list, feature_value* to, std::size_t room, bound_feature::kind kind) {
  using enum bound_feature::kind;
  if (to != nullptr) to->begin(kind);
  auto const add = [&](auto value) {
    if (to != nullptr) to->add(static_cast<float>(value), room);
  };
  while (list.next()) {
    auto const found = list.tag_and_type();
    if (kind == bytes && found == message_tag(1)) {
      auto const view = list.get_view();
      if (to != nullptr) to->add({view.data(), view.size()}, room);
    } else if (kind == floats && found == tag(1, pbf_wire_type::fixed32)) {
      add(list.get_float());
    } else if (kind == floats && found == message_tag(1)) {
      for (auto const each : list.get_packed_float()) add(each);
    } else if (kind == integers && found == tag(1, pbf_wire_type::varint)) {
      add(list.get_int64());
    } else if (kind == integers && found == message_tag(1)) {
      for (auto const each : list.get_packed_int64()) add(each);
    } else {
      list.skip();
    }
  }
}

}  // namespace

example_inputs::example_inputs(bound_signature const& signature, serving::servable_description const& known,
                               counted_bytes& counted, std::size_t most)
    : inputs(known.inputs.size()),
      signature_(signature),
      known_(known),
      counted_(counted),
      most_(most),
      values_(signature.features.size()),
      context_(signature.features.size()) {
  for (auto const& each : known.inputs) sample_bytes_ += static_cast<std::size_t>(each.size()) * sizeof(float);
}

void example_inputs::refuse(bound_feature const& feature, std::string const& what) const {
  throw http_error{400, "Name: <unknown>, Key: " + feature.name + ", Index: " + std::to_string(samples) + ".  " + what};
}

void example_inputs::begin() { values_ = context_; }

feature_value* example_inputs::find(std::string_view name) {
  auto const& all = signature_.features;
  auto const found = std::find_if(all.begin(), all.end(), [&](auto const& one) { return one.name == name; });
  return found == all.end() ? nullptr : &values_[static_cast<std::size_t>(found - all.begin())];
}

std::size_t example_inputs::room(feature_value const* value) const {
  return value == nullptr ? 0 : signature_.features[static_cast<std::size_t>(value - values_.data())].size;
}

void example_inputs::end_context() { context_ = values_; }

void example_inputs::read_features(std::string_view serialized) {
  begin();
  try {
    pbf_reader example(serialized.data(), serialized.size());
    while (example.next()) {
      if (example.tag_and_type() != message_tag(1)) {
        example.skip();
        continue;
      }
      auto features = example.get_message();
      while (features.next()) {
        if (features.tag_and_type() != message_tag(1)) {
          features.skip();
          continue;
        }
        auto entry = features.get_message();
        std::string_view name, feature;
        while (entry.next()) {
          if (entry.tag_and_type() != message_tag(1) && entry.tag_and_type() != message_tag(2)) {
            entry.skip();
            continue;
          }
          bool const is_name = entry.tag() == 1;
          auto const view = entry.get_view();
          (is_name ? name : feature) = {view.data(), view.size()};
        }
        // A later entry of a map replaces an earlier one.
        auto* const to = find(name);
        if (to != nullptr) to->clear();
        pbf_reader lists(feature.data(), feature.size());
        while (lists.next()) {
          using enum bound_feature::kind;
          switch (lists.tag_and_type()) {
            case message_tag(1): read_list(lists.get_message(), to, room(to), bytes); break;
            case message_tag(2): read_list(lists.get_message(), to, room(to), floats); break;
            case message_tag(3): read_list(lists.get_message(), to, room(to), integers); break;
            default: lists.skip();
          }
        }
      }
    }
  } catch (protozero::exception const&) {
    throw http_error{400, "Could not parse example input, at index " + std::to_string(samples)};
  }
}

void example_inputs::read_context(std::string_view serialized) {
  read_features(serialized);
  end_context();
}

void example_inputs::read(std::string_view serialized) {
  read_features(serialized);
  end();
}

void example_inputs::append(bound_feature const& feature, feature_value const& value, float* to) const {
  using enum bound_feature::kind;
  if (!value.is_there) {
    if (feature.default_value.empty())
      throw http_error{400, "Name: <unknown>, Feature: " + feature.name + " (data type: " + name_of(feature.type) +
                                ") is required but could not be found."};
    std::copy(feature.default_value.begin(), feature.default_value.end(), to);
    return;
  }
  if (value.kind != feature.type)
    refuse(feature, std::string("Data types don't match. Data type: ") + name_of(value.kind) +
                        " but expected type: " + name_of(feature.type));
  auto const expected = feature.type == bytes ? 1 : feature.size;
  if (value.count != expected) {
    std::string shape;
    for (auto const length : feature.shape) shape += (shape.empty() ? "" : ",") + std::to_string(length);
    refuse(feature, std::string("Number of ") + (feature.type == bytes ? "bytes" : name_of(feature.type)) +
                        " values != expected.  Values size: " + std::to_string(value.count) + " but output shape: [" +
                        shape + "]");
  }
  if (feature.type != bytes) {
    std::copy(value.numbers.begin(), value.numbers.end(), to);
    return;
  }
  std::vector<float> numbers;
  append_bytes(known_.inputs[feature.input], value.text, numbers);
  std::copy(numbers.begin(), numbers.end(), to);
}

void example_inputs::end() {
  bytes_ += sample_bytes_;
  // A small example may have large defaults.
  if (bytes_ > most_)
    throw http_error{413, "the examples have more than " + std::to_string(most_) + " bytes of numbers"};
  if (!counted_.grow_to(bytes_, most_))
    throw http_error{503, "the requests that are there have as many bytes as they may have"};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i].resize(inputs[i].size() + static_cast<std::size_t>(known_.inputs[i].size()));
  for (std::size_t i = 0; i < values_.size(); ++i) {
    auto const& feature = signature_.features[i];
    auto& input = inputs[feature.input];
    auto const size = static_cast<std::size_t>(known_.inputs[feature.input].size());
    append(feature, values_[i], input.data() + (input.size() - size) + feature.first);
  }
  ++samples;
}

std::vector<std::size_t> answered_classes(bound_signature const& signature, float const* scores) {
  std::vector<std::size_t> order(signature.classes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (signature.top == 0) return order;
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(signature.top), order.end(),
                    [scores](std::size_t a, std::size_t b) { return is_better_score(scores, a, b); });
  order.resize(signature.top);
  return order;
}

void count_answer(bound_signature const& signature, std::int64_t samples, counted_bytes& counted, std::size_t most) {
  // A class has its label and a number, each with what surrounds it in JSON or in a message.
  constexpr std::size_t around = 40;
  std::size_t longest = 0;
  for (auto const& each : signature.labels) longest = std::max(longest, each.size());
  auto const classes = static_cast<double>(signature.classifies ? signature.answered() : 1);
  auto const bytes = static_cast<double>(samples) * classes * static_cast<double>(longest + around);
  if (bytes > static_cast<double>(most))
    throw http_error{413, "the answer would have more than " + std::to_string(most) + " bytes: ask for fewer examples"};
  if (!counted.grow_to(static_cast<std::size_t>(bytes), most))
    throw http_error{503, "the requests that are there have as many bytes as they may have"};
}

std::vector<serving::tensor_spec> visible_inputs(serving::servable_description const& known) {
  auto result = known.inputs;
  for (auto& each : result)
    if (each.is_bytes) each.shape.clear();
  return result;
}

std::vector<serving::tensor_spec> signature_inputs() { return {{.name = "inputs", .shape = {}, .is_bytes = true}}; }

std::vector<serving::tensor_spec> signature_outputs(bound_signature const& signature,
                                                    serving::servable_description const& known) {
  if (!signature.classifies) return {{.name = "outputs", .shape = known.outputs[signature.output].shape}};
  std::vector<std::int64_t> const shape{static_cast<std::int64_t>(signature.answered())};
  std::vector<serving::tensor_spec> result;
  if (!signature.labels.empty()) result.push_back({.name = "classes", .shape = shape, .is_bytes = true});
  result.push_back({.name = "scores", .shape = shape});
  return result;
}

}  // namespace stagecraft::tool
