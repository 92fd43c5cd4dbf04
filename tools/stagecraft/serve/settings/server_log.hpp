// SPDX-License-Identifier: BSD-3-Clause
// What a server prints, and Triton's settings of it.
#pragma once

#include "serve/http/http_message.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace stagecraft::tool {

/// Settings by Triton's names.
using log_values = std::map<std::string, std::variant<bool, std::uint32_t, std::string>>;

/// Any thread may read and change them.
struct log_settings {
  std::atomic<bool> info = true;           ///< log_info: versions that come and go, on the standard output
  std::atomic<bool> warning = true;        ///< log_warning: options of files that have no effect
  std::atomic<bool> error = true;          ///< log_error: what cannot be served
  std::atomic<std::uint32_t> verbose = 0;  ///< log_verbose_level: from 1 on, each call of a model

  [[nodiscard]] log_values values() const {
    return {{"log_file", ""},
            {"log_info", info.load()},
            {"log_warning", warning.load()},
            {"log_error", error.load()},
            {"log_verbose_level", verbose.load()},
            {"log_format", "default"}};
  }
  /// Changes some of them, or none. Throws http_error 400: a setting that is unknown, of another type, or cannot be
  /// changed.
  void change(log_values const& to) {
    for (auto const& [name, value] : to) {
      if (name == "log_file") throw http_error{400, "log file location can not be updated through network protocol"};
      auto const known = values();
      auto const found = known.find(name);
      if (found == known.end()) throw http_error{400, "unknown log setting '" + name + "'"};
      if (found->second.index() != value.index()) throw http_error{400, "log setting '" + name + "' has another type"};
      if (name == "log_format" && value != found->second)
        throw http_error{400, "log setting 'log_format' is 'default' alone"};
    }
    for (auto const& [name, value] : to) {
      if (name == "log_info") info = std::get<bool>(value);
      if (name == "log_warning") warning = std::get<bool>(value);
      if (name == "log_error") error = std::get<bool>(value);
      if (name == "log_verbose_level") verbose = std::get<std::uint32_t>(value);
    }
  }
};

/// The program's settings; a module in another file asks server_calls for them.
[[nodiscard]] inline log_settings& log() {
  static log_settings own;
  return own;
}

}  // namespace stagecraft::tool
