// SPDX-License-Identifier: BSD-3-Clause
#include "serve/examples/examples_api.hpp"

#include "serve/examples/json_examples.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::tool {

namespace {

/// The numbers of an output for each sample.
class answered_samples {
 public:
  answered_samples(server_state& state, served_version const& version, http_request& request,
                   bound_signature const& signature, example_inputs& examples, non_finite how)
      : signature_(signature), known_(version.description()), how_(how), samples_(examples.samples) {
    std::string().swap(request.body);
    count_answer(signature, samples_, *request.counted, state.max_bytes_in_flight);
    auto outputs = call_version(state, version, std::move(examples.inputs), samples_, *request.counted,
                                {.time = state.time, .sequence = {}, .parent = request.parent});
    values_ = std::move(outputs[signature.output]);
  }

  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  [[nodiscard]] float const* of(std::int64_t sample) const {
    return values_.data() + static_cast<std::size_t>(sample) * signature_.classes;
  }
  void write_number(float const* value, std::string& to) const {
    write_tensor(value, {}, how_, known_.outputs[signature_.output].name, to);
  }
  /// Writes the number of a regression, as the output has it: alone, or in a list.
  void write_output(std::int64_t sample, std::string& to) const {
    write_tensor(of(sample), known_.outputs[signature_.output].shape, how_, known_.outputs[signature_.output].name, to);
  }
  /// Writes pairs of labels and scores.
  void write_pairs(std::int64_t sample, std::string& to) const {
    write_list(sample, to, [&](std::size_t one) {
      to += '[';
      write_text(signature_.labels.empty() ? std::string_view() : signature_.labels[one], to);
      to += ", ";
      write_number(of(sample) + one, to);
      to += ']';
    });
  }
  void write_labels(std::int64_t sample, std::string& to) const {
    write_list(sample, to, [&](std::size_t one) { write_text(signature_.labels[one], to); });
  }
  void write_scores(std::int64_t sample, std::string& to) const {
    write_list(sample, to, [&](std::size_t one) { write_number(of(sample) + one, to); });
  }
  /// Writes all samples as a list.
  template <class Write>
  void write_all(std::string& to, Write const& write) const {
    to += '[';
    for (std::int64_t sample = 0; sample < samples_; ++sample) {
      if (sample > 0) to += ", ";
      write(sample);
    }
    to += ']';
  }

 private:
  template <class Write>
  void write_list(std::int64_t sample, std::string& to, Write const& write) const {
    to += '[';
    bool is_first = true;
    for (auto const one : answered_classes(signature_, of(sample))) {
      if (!std::exchange(is_first, false)) to += ", ";
      write(one);
    }
    to += ']';
  }

  bound_signature const& signature_;
  serving::servable_description const& known_;
  non_finite how_;
  std::int64_t samples_;
  std::vector<float> values_;
};

}  // namespace

http_response answer_examples(server_state& state, served_version const& version, http_request& request,
                              bool classifies) {
  request_keys keys;
  bound_signature const* signature = nullptr;
  std::optional<example_inputs> examples;
  json_reader::read_all(request.body, [&](json_reader& reader) {
    keys.read(reader);
    signature = &find_signature(version, keys.signature, classifies);
    read_examples(reader, keys,
                  examples.emplace(*signature, version.description(), *request.counted, state.max_bytes_in_flight));
  });
  answered_samples const answered(state, version, request, *signature, *examples, keys.how);
  std::string text = "{\n    \"results\": ";
  answered.write_all(text, [&](std::int64_t sample) {
    if (classifies)
      answered.write_pairs(sample, text);
    else
      answered.write_number(answered.of(sample), text);
  });
  return {.body = std::move(text += "\n}\n")};
}

std::optional<http_response> predict_examples(server_state& state, served_version const& version,
                                              http_request& request) {
  if (version.signatures->of_examples().empty()) return std::nullopt;
  request_keys keys;
  bound_signature const* signature = nullptr;
  std::optional<example_inputs> examples;
  bool has_rows = false;
  json_reader::read_all(request.body, [&](json_reader& reader) {
    keys.read(reader);
    signature = version.signatures->find(keys.signature);
    if (signature == nullptr) return;
    has_rows = read_serialized_examples(
        reader, keys, examples.emplace(*signature, version.description(), *request.counted, state.max_bytes_in_flight));
  });
  if (signature == nullptr) return std::nullopt;
  answered_samples const answered(state, version, request, *signature, *examples, keys.how);
  bool const has_labels = !signature->labels.empty();
  std::string text = has_rows ? "{\n    \"predictions\": " : "{\n    \"outputs\": ";
  auto const write_scores = [&](std::int64_t sample) {
    if (signature->classifies)
      answered.write_scores(sample, text);
    else
      answered.write_output(sample, text);
  };
  if (!has_labels) {
    answered.write_all(text, write_scores);
  } else if (has_rows) {
    answered.write_all(text, [&](std::int64_t sample) {
      text += "{\"classes\": ";
      answered.write_labels(sample, text);
      text += ", \"scores\": ";
      answered.write_scores(sample, text);
      text += '}';
    });
  } else {
    text += "{\"classes\": ";
    answered.write_all(text, [&](std::int64_t sample) { answered.write_labels(sample, text); });
    text += ", \"scores\": ";
    answered.write_all(text, write_scores);
    text += '}';
  }
  return http_response{.body = std::move(text += "\n}\n")};
}

}  // namespace stagecraft::tool
