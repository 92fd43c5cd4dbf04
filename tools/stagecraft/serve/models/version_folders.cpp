// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/version_folders.hpp"

#include <stagecraft/serving/application_file.hpp>
#include <algorithm>
#include <charconv>
#include <dirent.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace stagecraft::tool {

namespace {

// Used in place of std::filesystem, whose directory_iterator (GCC 12) ends the program when memory is short.
struct folder_closer {
  void operator()(DIR* of) const noexcept { ::closedir(of); }
};

bool has_application(std::string const& folder) {
  return ::access((folder + "/" + serving::application_file::default_name).c_str(), F_OK) == 0;
}

bool is_folder(std::string const& path) {
  struct stat known{};
  return ::stat(path.c_str(), &known) == 0 && S_ISDIR(known.st_mode);
}

std::string name_of(std::string const& path) { return path.substr(path.find_last_of('/') + 1); }

}  // namespace

std::vector<version_folder> list_versions(std::string const& folder, bool any_folder) {
  if (!any_folder && has_application(folder)) return {{1, folder, ""}};
  std::vector<version_folder> found;
  std::unique_ptr<DIR, folder_closer> const entries(::opendir(folder.c_str()));
  if (!entries) return {};
  while (auto const* const each = ::readdir(entries.get())) {
    std::string_view const name = each->d_name;
    std::int64_t number = 0;
    auto const [last, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem != std::errc() || last != name.data() + name.size() || number < 1) continue;
    auto path = folder + (folder.ends_with('/') ? "" : "/") + each->d_name;
    if (has_application(path) || (any_folder && is_folder(path))) found.push_back({number, std::move(path), ""});
  }
  if (found.empty() && any_folder) return {{1, folder, ""}};
  std::sort(found.begin(), found.end(),
            [](auto const& a, auto const& b) { return std::tie(b.number, b.path) < std::tie(a.number, a.path); });
  std::vector<version_folder> result;
  for (auto& each : found) {
    if (result.empty() || result.back().number != each.number) {
      result.push_back(std::move(each));
    } else if (auto& other = result.back(); other.problem.empty()) {
      other.problem = folder + ": the folders '" + name_of(each.path) + "' and '" + name_of(other.path) +
                      "' are both version " + std::to_string(each.number) + "; rename or remove one [E5207]";
    }
  }
  return result;
}

}  // namespace stagecraft::tool
