// SPDX-License-Identifier: BSD-3-Clause
// All differences between a file and a model, said in one error.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// Collects texts, one a difference.
class difference_list {
 public:
  void add(std::string text) { texts_.push_back(std::move(text)); }
  [[nodiscard]] bool empty() const noexcept { return texts_.empty(); }
  [[nodiscard]] std::vector<std::string> const& texts() const noexcept { return texts_; }

  /// "w.safetensors: does not fit model 'mlp', 2 differences:", and a line for each. Throws file_error if there are
  /// any.
  void raise(std::string_view code, std::string const& file, std::string_view model) const {
    if (texts_.empty()) return;
    std::string text = "does not fit model '" + std::string(model) + "', " + std::to_string(texts_.size()) +
                       (texts_.size() == 1 ? " difference:" : " differences:");
    for (auto const& each : texts_) text += "\n  " + each;
    refuse(code, file, text);
  }

 private:
  std::vector<std::string> texts_;
};

}  // namespace stagecraft::io
