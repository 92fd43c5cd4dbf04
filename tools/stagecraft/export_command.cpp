// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"
#include "export_formats.hpp"

#include <stagecraft/io/detail/bundle_folder.hpp>
#include <cstdio>

namespace stagecraft::tool {

std::string export_command::endings() {
  std::string text;
  for (auto const& format : export_formats())
    text += (text.empty() ? "" : "; ") + std::string(format.ending) + ": " + std::string(format.what);
  return text;
}

void export_command::run() const {
  export_format const* chosen = nullptr;
  for (auto const& format : export_formats())
    if (chosen == nullptr && to.ends_with(format.ending)) chosen = &format;
  if (chosen == nullptr) {
    std::string endings;
    for (auto const& format : export_formats()) endings += (endings.empty() ? "" : ", ") + std::string(format.ending);
    io::refuse("E5042", to, "expected a name that ends in one of: " + endings);
  }
  chosen->write(to, io::read_contents(io::place_of_bundle(io::without_slash(bundle))));
  std::printf("wrote %s\n", to.c_str());
}

}  // namespace stagecraft::tool
