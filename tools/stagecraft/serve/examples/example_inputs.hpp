// SPDX-License-Identifier: BSD-3-Clause
// Reads examples, TensorFlow's tf.Example, into the inputs of a model, one after the other: features that the signature
// does not have are not kept. Rules and words are those of TensorFlow's ParseExample.
#pragma once

#include "serve/examples/signatures.hpp"
#include "serve/http/counted_bytes.hpp"

#include <stagecraft/serving/servable.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The values of a feature in an example: what its place has room for, and how many there are.
struct feature_value {
  bound_feature::kind kind = bound_feature::kind::floats;
  bool is_there = false;
  std::size_t count = 0;
  std::vector<float> numbers;
  std::string text;  ///< the first one, or so much of it that it is too long

  void clear() noexcept {
    is_there = false;
    count = 0;
    numbers.clear();
    text.clear();
  }
  /// Makes the feature one of this kind; values of another kind are gone.
  void begin(bound_feature::kind of) {
    if (is_there && kind == of) return;
    clear();
    is_there = true;
    kind = of;
  }
  void add(float number, std::size_t most) {
    if (count++ < most) numbers.push_back(number);
  }
  void add(std::string_view bytes, std::size_t most) {
    if (count++ == 0) text = bytes.substr(0, most + 1);
  }
};

/// The inputs of a call, from examples. All functions throw http_error: 400 an example is wrong, 413 the numbers of all
/// examples are more than `most` bytes, 503 more than all requests may have now.
class example_inputs {
 public:
  /// Keeps references.
  example_inputs(bound_signature const& signature, serving::servable_description const& known, counted_bytes& counted,
                 std::size_t most);

  std::vector<std::vector<float>> inputs;  ///< in the model's order
  std::int64_t samples = 0;

  /// The features that all examples have, unless they have their own: a serialized tf.Example, which comes first.
  void read_context(std::string_view serialized);
  /// Adds a sample: a serialized tf.Example.
  void read(std::string_view serialized);

  /// An example may also come feature by feature: `begin`, `find` for each feature, and `end_context` or `end`.
  void begin();
  /// Where the values of a feature go, with values of the context; null: the signature has no such feature.
  [[nodiscard]] feature_value* find(std::string_view name);
  /// The most numbers or bytes of that feature that are kept.
  [[nodiscard]] std::size_t room(feature_value const* value) const;
  void end_context();
  void end();

 private:
  [[noreturn]] void refuse(bound_feature const& feature, std::string const& what) const;
  void read_features(std::string_view serialized);
  void append(bound_feature const& feature, feature_value const& value, float* to) const;

  bound_signature const& signature_;
  serving::servable_description const& known_;
  counted_bytes& counted_;
  std::size_t most_, sample_bytes_ = 0, bytes_ = 0;
  std::vector<feature_value> values_, context_;  ///< as the signature's features
};

/// The classes that are answered for a sample, as indices.
[[nodiscard]] std::vector<std::size_t> answered_classes(bound_signature const& signature, float const* scores);
/// Counts an answer's bytes, which labels may make larger than its numbers. Throws http_error as example_inputs.
void count_answer(bound_signature const& signature, std::int64_t samples, counted_bytes& counted, std::size_t most);

/// The model's inputs with the shapes of samples as clients see them: a text is one element without axes.
[[nodiscard]] std::vector<serving::tensor_spec> visible_inputs(serving::servable_description const& known);
/// Names and shapes of a signature of examples, as a client sees them.
[[nodiscard]] std::vector<serving::tensor_spec> signature_inputs();
[[nodiscard]] std::vector<serving::tensor_spec> signature_outputs(bound_signature const& signature,
                                                                  serving::servable_description const& known);

}  // namespace stagecraft::tool
