// SPDX-License-Identifier: BSD-3-Clause
// What Linux says that the processor has: the flags of /proc/cpuinfo, which know nothing of the library's own question.
#pragma once

#include <stagecraft/kernels/simd/processor_check.hpp>
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

namespace tests {

/// Names without what Linux and compilers separate their parts by: "sse4_1" and "sse4.1".
inline std::string without_separators(std::string name) {
  std::erase_if(name, [](char c) { return c == '_' || c == '.' || c == '-'; });
  return name;
}

/// The library's instruction sets that the first processor's flags name.
inline stagecraft::kernels::instruction_sets instruction_sets_of_cpuinfo() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  std::istringstream words(line);
  std::set<std::string> flags;
  for (std::string word; words >> word;) flags.insert(without_separators(word));
  stagecraft::kernels::instruction_sets found = 0;
  auto const& names = stagecraft::kernels::detail::instruction_set_names;
  for (std::size_t i = 0; i < std::size(names); ++i) {
    std::string name = without_separators(names[i]);
    if (name == "sse3") name = "pni";  // Prescott's new instructions
    if (name == "bmi") name = "bmi1";
    if (name == "lzcnt") name = "abm";  // AMD's advanced bit manipulation
    if (flags.contains(name)) found |= 1ULL << i;
  }
  return found;
}

}  // namespace tests
