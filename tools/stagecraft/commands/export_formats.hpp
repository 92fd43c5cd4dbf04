// SPDX-License-Identifier: BSD-3-Clause
// The formats that a bundle is exported to, by the ending of the output's name.
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
  /// Returns a note on parts of the bundle that the file lacks, though other files of the format have them; null: there
  /// are none.
  std::string (*note)(io::bundle_contents const& contents) = nullptr;
};

/// All formats; an ending that contains another one comes first.
[[nodiscard]] std::vector<export_format> const& export_formats();

}  // namespace stagecraft::tool
