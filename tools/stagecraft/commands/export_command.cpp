// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"
#include "commands/export_formats.hpp"
#include "progress.hpp"

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
  auto& shown = progress::shown();
  shown.begin("reading " + bundle);
  auto const contents = io::read_contents(io::without_slash(bundle));
  shown.begin("writing " + to);
  chosen->write(to, contents);
  shown.end();
  std::printf("wrote %s\n", to.c_str());
  if (auto const note = chosen->note == nullptr ? std::string() : chosen->note(contents); !note.empty())
    std::printf("note: the model is there without its optimizer: %s [E5121]\n", note.c_str());
}

}  // namespace stagecraft::tool
