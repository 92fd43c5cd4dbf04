// SPDX-License-Identifier: BSD-3-Clause
#include "commands/compile_command.hpp"

#include "applications/cxx_compiler.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/application_file.hpp>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <unistd.h>

namespace stagecraft::tool {

namespace fs = std::filesystem;

void compile_command::run() const {
  auto const source = folder + "/application.cpp";
  if (fs::exists(folder + "/model.json") && fs::exists(folder + "/application.json"))
    write_application_source(folder, machine);
  else if (!fs::exists(source))
    throw file_error("E5094", folder + ": has neither application.cpp nor model.json and application.json");
  else if (machine.threads != 1 || !machine.allowed_batch_sizes.empty())
    throw file_error("E5209", folder + (machine.threads != 1 ? ": --threads" : ": --allowed_batch_sizes") +
                                  " is for exported models; application.cpp says itself what it is compiled for");
  auto const target = output.empty() ? folder + "/" + serving::application_file::default_name : output;
  auto const beside = target + ".compiling-" + std::to_string(::getpid());
  std::vector<std::string> options{"-O3"};
  if (march != "off") options.push_back("-march=" + march);
  for (auto const* const each : {"-fPIC", "-shared", "-fvisibility=hidden", "-DSTAGECRAFT_NO_PROCESSOR_CHECK"})
    options.emplace_back(each);
  cxx_compiler const cxx{compiler, include};
  // Two applications in one program must not share variables of the same name.
  if (cxx.is_gcc()) options.emplace_back("-fno-gnu-unique");
  auto rest = flags;
  rest.insert(rest.end(), {source, "-o", beside, "-pthread", "-lzip", "-lz"});
  try {
    cxx.run(options, rest, folder);
  } catch (...) {
    std::error_code none;
    fs::remove(beside, none);
    throw;
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
  own->add_option("--allowed_batch_sizes", command->machine.allowed_batch_sizes,
                  "Sizes of batches, such as 1,8,32, up to the batch size; default: those of the export")
      ->delimiter(',')
      ->allow_extra_args(false);
  own->callback([command] { command->run(); });
}

}  // namespace stagecraft::tool
