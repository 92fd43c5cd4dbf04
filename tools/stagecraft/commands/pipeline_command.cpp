// SPDX-License-Identifier: BSD-3-Clause
#include "commands/pipeline_command.hpp"

#include "commands/product_options.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace stagecraft::tool {

void pipeline_command::run() const { find_pipeline(read_pipeline_configuration(pipeline_cfg), job); }

void add_pipeline_command(CLI::App& app) {
  auto const command = std::make_shared<pipeline_command>();
  auto* const own = app.add_subcommand("pipeline", "Divides an exported model into pipeline stages");
  auto& machine = command->job.machine;
  own->add_option("folder", command->job.folder, "An exported model")->required();
  own->add_option("--pipeline_cfg", command->pipeline_cfg,
                  "How, in JSON or a file with it: {\"converter\": \"auto\"}, \"manual\" or \"load\"")
      ->required();
  own->add_option("--batch_per_step", command->job.batch_per_step, "Batches for each stage in one execution")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  add_product_options(*own, machine);
  own->add_option("--compiler", command->job.compiler.program,
                  "The C++ compiler; default: the environment's CXX, or c++");
  own->add_option("--include", command->job.compiler.include, "Where the library's headers are");
  own->callback([command] { command->run(); });
}

}  // namespace stagecraft::tool
