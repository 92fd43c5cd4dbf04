// SPDX-License-Identifier: BSD-3-Clause
// The formats that a bundle is exported to: the ending of a name says which.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

struct export_format {
  std::string_view ending;
  std::string_view what;  ///< description for `--help`
  void (*write)(std::string const& path, io::bundle_contents const& contents);
  /// Returns the parts of a bundle that such a file lacks, though others of its kind have them; null: there are none.
  std::string (*note)(io::bundle_contents const& contents) = nullptr;
};

/// All formats, longer endings first where one ends in another.
[[nodiscard]] std::vector<export_format> const& export_formats();

}  // namespace stagecraft::tool
