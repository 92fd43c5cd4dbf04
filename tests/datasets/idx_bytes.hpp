// SPDX-License-Identifier: BSD-3-Clause
// Makes IDX files for the tests, in memory and on disk.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace stagecraft_test {

using byte_string = std::vector<unsigned char>;

inline byte_string idx_header_bytes(int type, std::initializer_list<std::uint32_t> shape) {
  byte_string bytes{0, 0, static_cast<unsigned char>(type), static_cast<unsigned char>(shape.size())};
  for (std::uint32_t const extent : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<unsigned char>(extent >> shift));
  }
  return bytes;
}

/// Images whose k-th pixel is k modulo 251.
inline byte_string image_bytes(std::uint32_t samples, std::uint32_t rows = 28, std::uint32_t columns = 28) {
  byte_string bytes = idx_header_bytes(8, {samples, rows, columns});
  for (std::uint32_t k = 0; k < samples * rows * columns; ++k) bytes.push_back(static_cast<unsigned char>(k % 251));
  return bytes;
}

/// Labels 0, 1, ..., 9, 0, ...
inline byte_string label_bytes(std::uint32_t samples) {
  byte_string bytes = idx_header_bytes(8, {samples});
  for (std::uint32_t k = 0; k < samples; ++k) bytes.push_back(static_cast<unsigned char>(k % 10));
  return bytes;
}

/// A folder that is gone at the end of the test.
class temporary_folder {
 public:
  explicit temporary_folder(std::string const& name)
      : path_(std::filesystem::temp_directory_path() /
              ("stagecraft_" + name + "_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + "_" +
               std::to_string(std::filesystem::file_time_type::clock::now().time_since_epoch().count()))) {
    std::filesystem::create_directories(path_);
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path() const { return path_.string(); }

  std::string write(std::string const& file, byte_string const& bytes) const {
    std::ofstream stream(path_ / file, std::ios::binary);
    stream.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return (path_ / file).string();
  }

 private:
  std::filesystem::path path_;
};

/// The code of the file_error that `action` throws, "" if it throws none; `text` receives the message.
template <class Action>
std::string file_error_of(Action const& action, std::string* text = nullptr) {
  try {
    action();
  } catch (stagecraft::file_error const& error) {
    if (text != nullptr) *text = error.what();
    return std::string(error.code());
  }
  return "";
}

inline bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace stagecraft_test
