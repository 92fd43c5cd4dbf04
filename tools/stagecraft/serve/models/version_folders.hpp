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
  std::string problem;  ///< the reason why the version cannot be served, that two folders have its number (E5207);
                        ///< empty: it can
};

/// The versions below a folder, the highest first: each is a folder with an application, whose name is a number from 1
/// on; a folder with an application is itself version 1, and the only one. `any_folder`: folders without an application
/// are versions, too, and without one of them the folder itself is version 1. None if the folder cannot be read. Throws
/// std::bad_alloc.
[[nodiscard]] std::vector<version_folder> list_versions(std::string const& folder, bool any_folder = false);

}  // namespace stagecraft::tool
