// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the datasets of files, by the first one: a table of numbers, a .npy, .npz or IDX file, lines
// of text. Anything but a file_error or samples of one size fails, and lines that hold more than the file.
#include <stagecraft/data/csv.hpp>
#include <stagecraft/data/idx.hpp>
#include <stagecraft/data/npy.hpp>
#include <stagecraft/data/npz.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace data = stagecraft::data;

namespace {

template <class Open>
void read(Open const& open) {
  try {
    auto const dataset = open();
    auto const pass = dataset.begin_pass(0);
    std::size_t size = 0;
    for (int i = 0; i < 1000; ++i) {
      auto const sample = pass->next();
      if (!sample) break;
      if (i > 0 && sample->size() != size) std::abort();
      size = sample->size();
    }
  } catch (stagecraft::file_error const&) {
  }
}

void read_lines(std::string const& path, std::size_t size) {
  auto const pass = data::text_lines(path).begin_pass(0);
  std::size_t found = 0;
  while (auto const line = pass->next()) {
    if (line->find('\n') != std::string::npos) std::abort();
    found += line->size() + 1;
  }
  if (found > size + 1 || (size > 0 && found == 0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  static std::string const path =
      (std::filesystem::temp_directory_path() / ("data_fuzz_" + std::to_string(::getpid()))).string();
  if (size == 0) return 0;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || std::fwrite(bytes + 1, 1, size - 1, file) != size - 1 || std::fclose(file) != 0) std::abort();
  switch (bytes[0] % 6) {
    case 0: read([] { return data::csv(path); }); break;
    case 1: read([] { return data::npy(path); }); break;
    case 2: read([] { return data::idx(path); }); break;
    case 3: read([] { return data::npz(path, "x"); }); break;
    case 4: read_lines(path, size - 1); break;
    default: read([] { return data::csv(path, {.header = true, .field_delim = ';', .select_cols = {1, 0}}); });
  }
  std::filesystem::remove(path);
  return 0;
}
