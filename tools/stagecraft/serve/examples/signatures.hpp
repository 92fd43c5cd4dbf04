// SPDX-License-Identifier: BSD-3-Clause
// The signatures of a version: one of tensors, and those of examples in its application.json.
#pragma once

#include <stagecraft/serving/detail/example_signatures.hpp>
#include <stagecraft/training/export_options.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

class json_reader;

using serving::detail::bound_feature;
using serving::detail::bound_signature;
using serving::detail::signature_table;

inline constexpr std::string_view default_signature = "serving_default";

/// The signatures of a version by their names. It does not change.
class model_signatures {
 public:
  model_signatures() = default;
  explicit model_signatures(signature_table of_examples) : of_examples_(std::move(of_examples)) {}

  [[nodiscard]] signature_table const& of_examples() const noexcept { return of_examples_; }
  /// The name of the signature of tensors: another signature may be the default one.
  [[nodiscard]] std::string_view of_tensors() const noexcept {
    return of_examples_.contains(default_signature) ? "predict" : default_signature;
  }
  /// The name that a request means.
  [[nodiscard]] static std::string_view name_of(std::string_view asked) noexcept {
    return asked.empty() ? default_signature : asked;
  }
  /// True if there is a signature of the name that a request has, which may be empty.
  [[nodiscard]] bool has(std::string_view asked) const noexcept {
    return name_of(asked) == of_tensors() || of_examples_.contains(name_of(asked));
  }
  /// The signature of examples that a request names; null: it is the one of tensors, or there is none.
  [[nodiscard]] bound_signature const* find(std::string_view asked) const noexcept {
    auto const found = of_examples_.find(name_of(asked));
    return found == of_examples_.end() ? nullptr : &found->second;
  }

 private:
  signature_table of_examples_;
};

/// Reads the value of "signatures" in the application.json of `path`. Throws file_error E4187 for keys and values that
/// are none of a signature.
[[nodiscard]] std::vector<example_signature> read_signatures(json_reader& reader, std::string const& path);

}  // namespace stagecraft::tool
