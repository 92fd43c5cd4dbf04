// SPDX-License-Identifier: BSD-3-Clause
#include "applications/application_cache.hpp"

#include "applications/cxx_compiler.hpp"
#include "commands/compile_command.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/kernels/simd/processor_check.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <stagecraft/version.hpp>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <openssl/evp.h>
#include <pwd.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

std::string cache_folder() {
  if (char const* const own = std::getenv("XDG_CACHE_HOME"); own != nullptr && *own != '\0')
    return std::string(own) + "/stagecraft";
  char const* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    auto const* const user = ::getpwuid(::getuid());
    home = user == nullptr ? "" : user->pw_dir;
  }
  // Never a folder that others may write to, since files in the cache are run.
  if (*home == '\0') throw file_error("E5095", "--init_ipu: there is no cache: set XDG_CACHE_HOME, or HOME");
  return std::string(home) + "/.cache/stagecraft";
}

/// The SHA-256 of bytes in hexadecimal digits.
std::string sha256_of(std::string const& bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw file_error("E5095", "--init_ipu: OpenSSL has no SHA-256 here");
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(digest[i]));
    text += digits;
  }
  return text;
}

}  // namespace

std::string application_on_ipus(std::string const& dir, application_machine const& machine) {
  std::string key = "stagecraft " + std::to_string(version_major) + "." + std::to_string(version_minor) + "." +
                    std::to_string(version_patch) + " processor " +
                    std::to_string(kernels::detail::instruction_sets_of_processor()) + "\n" +
                    ipu_config_text(machine).str() + "\n" + compiler_environment();
  std::vector<std::string> names{"model.json", "application.json"};
  if (fs::exists(dir + "/application.json"))
    if (auto header = processing_header(dir); !header.empty()) names.push_back(std::move(header));
  std::vector<std::vector<std::byte>> contents;
  for (auto const& name : names) {
    if (!fs::exists(dir + "/" + name))
      throw file_error("E5095", "--init_ipu: " + dir + " has no " + name +
                                    ": only exported models are compiled for another machine");
    io::byte_source const source(dir + "/" + name);
    auto const& bytes = contents.emplace_back(source.read(0, source.size()));
    key += name + " " + std::to_string(bytes.size()) + "\n";
    key.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  }
  auto const place = cache_folder() + "/" + sha256_of(key);
  // A new application gets its final name when it is complete.
  if (fs::exists(place + "/" + serving::application_file::default_name)) return place;
  fs::create_directories(place);
  // Writes the files that the key was computed from, even if they have changed since, each in one step: other processes
  // may make the same application.
  for (std::size_t i = 0; i < names.size(); ++i)
    io::replace_file(place + "/" + names[i], [&](io::file_writer& to) { to.write(contents[i]); });
  compile_command compile;
  compile.folder = place;
  compile.machine = machine;
  compile.is_silent = true;
  compile.run();
  return place;
}

}  // namespace stagecraft::tool
