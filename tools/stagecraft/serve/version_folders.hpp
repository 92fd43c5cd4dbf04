// SPDX-License-Identifier: BSD-3-Clause
// The folders of a model's versions, as TensorFlow Serving names them: numbers, which may begin with zeros.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tool {

struct version_folder {
  std::int64_t number = 1;
  std::string path;     ///< path of the folder, whose name may be "export/003" for version 3
  std::string problem;  ///< if it is not empty, why the version cannot be told: two folders have its number (E5207)
};

/// The versions below a folder, each a folder with an application whose name is a number from 1 on, from the highest
/// on; a folder with an application is itself version 1, and the only one. None if the folder cannot be read. Throws
/// std::bad_alloc.
[[nodiscard]] std::vector<version_folder> list_versions(std::string const& folder);

}  // namespace stagecraft::tool
