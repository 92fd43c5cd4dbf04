// SPDX-License-Identifier: BSD-3-Clause
// What a server is told about a model: its folder, which of its versions are served, and names for versions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace stagecraft::tool {

/// The versions of a folder that are served: TensorFlow Serving's ServableVersionPolicy.
struct version_policy {
  enum class kind { latest, all, specific };

  kind which = kind::latest;
  std::int64_t count = 1;           ///< the number of highest versions, for latest
  std::set<std::int64_t> versions;  ///< the versions, for specific

  friend bool operator==(version_policy const&, version_policy const&) = default;
};

/// A model of the command line, of --model_config_file, or of a request to reload.
struct model_settings {
  std::string name, folder;
  version_policy policy;
  std::map<std::string, std::int64_t, std::less<>> labels;  ///< names of versions, such as "stable"

  friend bool operator==(model_settings const&, model_settings const&) = default;
};

/// What a request says of the version that it means: a number, a label, or nothing, which is the highest one.
struct version_choice {
  std::int64_t number = 0;  ///< 0: none
  std::string label;        ///< empty: none
};

}  // namespace stagecraft::tool
