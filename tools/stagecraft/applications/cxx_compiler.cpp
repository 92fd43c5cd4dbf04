// SPDX-License-Identifier: BSD-3-Clause
#include "applications/cxx_compiler.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/detail/export_folder.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

/// The folder of the library's headers: the environment's, the one beside an installed program, or the one that this
/// program was built from.
std::string include_folder() {
  if (char const* const own = std::getenv("STAGECRAFT_INCLUDE"); own != nullptr) return own;
  std::error_code problem;
  auto const program = fs::read_symlink("/proc/self/exe", problem);
  if (auto const beside = program.parent_path().parent_path() / "include"; fs::exists(beside / "stagecraft/serving"))
    return beside;
  return STAGECRAFT_INCLUDE_DIR;
}

/// The library's own text in a line of the compiler's output: the quoted texts among the template arguments of its
/// error or, with newer compilers, the text of a failed assertion. Empty: none.
std::string library_error(std::string_view line) {
  constexpr std::string_view assertion = "static assertion failed: ";
  if (auto const at = line.find(assertion); at != std::string_view::npos)
    return std::string(line.substr(at + assertion.size()));
  std::string text;
  auto at = line.find("model_error<");
  if (at == std::string_view::npos) return text;
  while ((at = line.find("{\"", at)) != std::string_view::npos)
    for (at += 2; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && at + 1 < line.size()) ++at;
      text += line[at];
    }
  return text;
}

/// The error in a compiler's output: the library's own text, or otherwise the compiler's.
std::string errors_of(std::string const& output) {
  constexpr std::size_t longest = 1000;
  std::string errors, of_library;
  for (std::size_t begin = 0; begin < output.size();) {
    auto const end = std::min(output.find('\n', begin), output.size());
    auto const line = std::string_view(output).substr(begin, end - begin);
    begin = end + 1;
    if (line.find("error") == std::string_view::npos) continue;
    errors += std::string(line.substr(0, longest)) + "\n";
    if (auto const text = library_error(line); text.ends_with(']') && of_library.find(text) == std::string::npos)
      of_library += text + "\n";
  }
  return !of_library.empty() ? of_library : errors.empty() ? output : errors;
}

}  // namespace

std::string compiler_environment() {
  std::string text;
  for (char const* const name : {"CXX", "CXXFLAGS", "STAGECRAFT_INCLUDE"}) {
    char const* const value = std::getenv(name);
    text += std::string(name) + " " + (value == nullptr ? "" : value) + "\n";
  }
  return text;
}

std::string cxx_compiler::program_name() const {
  char const* const from_environment = std::getenv("CXX");
  return !program.empty() ? program : from_environment != nullptr ? from_environment : "c++";
}

bool cxx_compiler::is_gcc() const {
  std::string version;
  return io::run_program({program_name(), "--version"}, version) == 0 && !version.starts_with("clang") &&
         version.find("clang version") == std::string::npos;
}

std::string cxx_compiler::try_run(std::vector<std::string> const& options, std::vector<std::string> const& rest,
                                  std::string const& what) const {
  std::vector<std::string> arguments{program_name(), "-std=c++20"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  if (char const* const more = std::getenv("CXXFLAGS"); more != nullptr) {
    std::istringstream words(more);
    arguments.insert(arguments.end(), std::istream_iterator<std::string>(words), {});
  }
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  arguments.insert(arguments.end(), {"-I", include.empty() ? include_folder() : include});
  std::string said;
  int const code = io::run_program(arguments, said);
  if (code < 0)
    throw file_error("E5094", what + ": the compiler '" + arguments.front() + "' cannot be started: " + said);
  if (code == 0) return {};
  auto errors = errors_of(said);
  return errors.empty() ? "it says nothing" : errors;
}

void cxx_compiler::run(std::vector<std::string> const& options, std::vector<std::string> const& rest,
                       std::string const& what) const {
  if (auto const problem = try_run(options, rest, what); !problem.empty())
    throw file_error("E5094", what + ": the compiler has failed:\n" + problem);
}

}  // namespace stagecraft::tool
