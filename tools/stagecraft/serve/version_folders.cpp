// SPDX-License-Identifier: BSD-3-Clause
#include "serve/version_folders.hpp"

#include <stagecraft/serving/application_file.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

bool has_application(fs::path const& folder) {
  std::error_code none;
  return fs::exists(folder / serving::application_file::default_name, none);
}

}  // namespace

std::vector<version_folder> list_versions(std::string const& folder) {
  if (has_application(folder)) return {{1, folder, ""}};
  std::vector<version_folder> found;
  std::error_code none;
  for (fs::directory_iterator each(folder, none), end; !none && each != end; each.increment(none)) {
    auto const name = each->path().filename().string();
    std::int64_t number = 0;
    auto const [last, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem == std::errc() && last == name.data() + name.size() && number > 0 && has_application(each->path()))
      found.push_back({number, each->path().string(), ""});
  }
  std::sort(found.begin(), found.end(),
            [](auto const& a, auto const& b) { return std::tie(b.number, b.path) < std::tie(a.number, a.path); });
  std::vector<version_folder> result;
  for (auto& each : found) {
    if (result.empty() || result.back().number != each.number) {
      result.push_back(std::move(each));
    } else if (auto& other = result.back(); other.problem.empty()) {
      auto const name = [](std::string const& path) { return fs::path(path).filename().string(); };
      other.problem = folder + ": the folders '" + name(each.path) + "' and '" + name(other.path) +
                      "' are both version " + std::to_string(each.number) + "; rename or remove one [E5207]";
    }
  }
  return result;
}

}  // namespace stagecraft::tool
