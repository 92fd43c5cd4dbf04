// SPDX-License-Identifier: BSD-3-Clause
// Which images a folder has, of which classes, in which order: as Keras lists them.
#pragma once

#include <stagecraft/io/detail/byte_source.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::data::detail {

/// Images, one after the other, and the numbers of their classes.
struct image_files {
  std::vector<std::string> paths;
  std::vector<int> labels;
  std::vector<std::string> class_names;
};

[[nodiscard]] inline bool is_image(std::string name) {
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (char const* const ending : {".bmp", ".gif", ".jpeg", ".jpg", ".png"})  // those that Keras takes
    if (name.ends_with(ending)) return true;
  return false;
}

/// The names in a folder, in order: of folders, or of files. E5001.
[[nodiscard]] inline std::vector<std::string> sorted_names(std::filesystem::path const& folder, bool of_folders,
                                                           bool follow_links) {
  std::vector<std::string> names;
  std::error_code problem;
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    std::error_code none;
    bool const is_folder = at->is_directory(none) && (follow_links || !at->is_symlink(none));
    if (of_folders ? is_folder : at->is_regular_file(none)) names.push_back(at->path().filename().string());
  }
  if (problem) io::refuse("E5001", folder.string(), "expected a readable folder, found: " + problem.message());
  std::sort(names.begin(), names.end());
  return names;
}

/// A folder and those inside it.
inline void add_folders(std::filesystem::path const& folder, bool follow_links, int depth,
                        std::vector<std::string>& to) {
  constexpr int deepest = 64;
  if (depth > deepest) io::refuse("E5104", folder.string(), "expected folders at most 64 deep");
  to.push_back(folder.string());
  for (auto const& name : sorted_names(folder, true, follow_links))
    add_folders(folder / name, follow_links, depth + 1, to);
}

/// The images of a folder and those inside it, folder by folder.
inline void add_images(std::filesystem::path const& folder, int label, bool follow_links, image_files& to) {
  std::vector<std::string> folders;
  add_folders(folder, follow_links, 0, folders);
  std::sort(folders.begin(), folders.end());
  for (std::filesystem::path const each : folders)
    for (auto const& name : sorted_names(each, false, follow_links))
      if (is_image(name)) {
        to.paths.push_back((each / name).string());
        to.labels.push_back(label);
      }
}

/// NumPy's `RandomState(seed).shuffle`, which Keras divides data by.
template <class Element>
void shuffle_as_numpy(std::vector<Element>& list, std::uint32_t seed) {
  std::mt19937 generator(seed);
  for (std::size_t i = list.size(); i-- > 1;) {
    auto mask = static_cast<std::uint32_t>(i);
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    std::uint32_t drawn = 0;
    do drawn = static_cast<std::uint32_t>(generator()) & mask;
    while (drawn > i);
    std::swap(list[i], list[drawn]);
  }
}

}  // namespace stagecraft::data::detail
