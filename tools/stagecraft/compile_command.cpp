// SPDX-License-Identifier: BSD-3-Clause
#include "compile_command.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <stagecraft/serving/detail/export_folder.hpp>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <sstream>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

/// Where the library's headers are: what the environment says, beside this program once it is installed, or where it
/// was built.
std::string include_folder() {
  if (char const* const own = std::getenv("STAGECRAFT_INCLUDE"); own != nullptr) return own;
  std::error_code problem;
  auto const program = fs::read_symlink("/proc/self/exe", problem);
  if (auto const beside = program.parent_path().parent_path() / "include"; fs::exists(beside / "stagecraft/serving"))
    return beside;
  return STAGECRAFT_INCLUDE_DIR;
}

/// The lines of a compiler's output that say what is wrong.
std::string errors_of(std::string const& output) {
  constexpr std::size_t longest = 1000;
  std::string errors;
  for (std::size_t begin = 0; begin < output.size();) {
    auto const end = std::min(output.find('\n', begin), output.size());
    if (auto const line = output.substr(begin, std::min(end - begin, longest)); line.find("error") != std::string::npos)
      errors += line + "\n";
    begin = end + 1;
  }
  return errors.empty() ? output : errors;
}

}  // namespace

void compile_command::run() const {
  auto const source = folder + "/application.cpp";
  if (fs::exists(folder + "/model.json") && fs::exists(folder + "/application.json"))
    write_application_source(folder, machine);
  else if (!fs::exists(source))
    throw file_error("E5094", folder + ": has neither application.cpp nor model.json and application.json");
  auto const target = output.empty() ? folder + "/" + serving::application_file::default_name : output;
  auto const beside = target + ".compiling-" + std::to_string(::getpid());
  char const* const from_environment = std::getenv("CXX");
  auto const program = !compiler.empty() ? compiler : from_environment != nullptr ? from_environment : "c++";
  std::vector<std::string> arguments{program, "-std=c++20", "-O3"};
  auto const add = [&](std::initializer_list<std::string> more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
  };
  if (march != "off") add({"-march=" + march});
  add({"-fPIC", "-shared", "-fvisibility=hidden", "-DSTAGECRAFT_NO_PROCESSOR_CHECK"});
  // Two applications in one program must not share what has one name in both.
  if (std::string version; io::run_program({program, "--version"}, version) == 0 && !version.starts_with("clang") &&
                           version.find("clang version") == std::string::npos)
    add({"-fno-gnu-unique"});
  if (char const* const more = std::getenv("CXXFLAGS"); more != nullptr) {
    std::istringstream words(more);
    arguments.insert(arguments.end(), std::istream_iterator<std::string>(words), {});
  }
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  add({"-I", include.empty() ? include_folder() : include, source, "-o", beside, "-pthread", "-lzip", "-lz"});
  std::string said;
  if (int const code = io::run_program(arguments, said); code != 0) {
    fs::remove(beside);
    if (code < 0)
      throw file_error("E5094", folder + ": the compiler '" + arguments.front() + "' cannot be started: " + said);
    throw file_error("E5094", folder + ": the compiler has failed:\n" + errors_of(said));
  }
  fs::rename(beside, target);
  if (!is_silent) std::printf("wrote %s\n", target.c_str());
}

void add_compile_command(CLI::App& app) {
  auto const command = std::make_shared<compile_command>();
  auto* const own =
      app.add_subcommand("compile", "Makes an application of an exported model, with this machine's C++ compiler");
  own->add_option("folder", command->folder, "An exported model, or a folder with application.cpp")->required();
  own->add_option("--march", command->march, "The processor that it is compiled for; off: any")->capture_default_str();
  own->add_option("--compiler", command->compiler, "The C++ compiler; default: the environment's CXX, or c++");
  own->add_option("--include", command->include, "Where the library's headers are");
  own->add_option("--output", command->output, "The shared object; default: application.so in the folder");
  own->add_option("--flag", command->flags, "One more flag for the compiler; several times")->take_all();
  own->add_option("--threads", command->machine.threads, "Threads of the host")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  own->callback([command] { command->run(); });
}

}  // namespace stagecraft::tool
