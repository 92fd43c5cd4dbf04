// SPDX-License-Identifier: BSD-3-Clause
#include "commands/plan_command.hpp"

#include "applications/scratch_folder.hpp"
#include "commands/product_options.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/serving/detail/export_folder.hpp>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

source_text name_in_header(std::string const& name, char const* option) {
  auto text = type_in_header(name);
  if (!text)
    throw file_error("E5264", std::string(option) + " '" + name +
                                  "' is no name of the header, such as mine::mlp; give an alias or a constant");
  return *std::move(text);
}

/// ".ipus = {1, 2}, "; empty without values.
source_text choice_text(own_text name, std::vector<int> const& values) {
  if (values.empty()) return {};
  std::vector<source_text> list;
  for (int const value : values) list.push_back(number_text(value));
  return "."_cpp + name + " = {" + comma_list(list) + "}, ";
}
source_text schedules_text(std::vector<std::string> const& names) {
  if (names.empty()) return {};
  std::vector<source_text> list;
  for (auto const& name : names)
    list.push_back("sc::schedule::"_cpp + (name == "grouped"       ? "grouped"_cpp
                                           : name == "interleaved" ? "interleaved"_cpp
                                                                   : "sequential"_cpp));
  return ".schedules = {"_cpp + comma_list(list) + "}, ";
}

/// What the program is made of: the header that it includes first, the model's type, and what is done with it.
struct plan_subject {
  std::string header;
  source_text type, description;
};

source_text inference_text(int batch_size) {
  return "sc::inference{.batch_size = "_cpp + number_text(batch_size) + "}";
}

plan_subject subject_of_folder(plan_command const& command, std::string const& header) {
  if (!command.model.empty() || !command.training.empty())
    throw file_error("E5209",
                     command.from + ": --model and --training are for headers; a folder says itself what it has");
  auto const how = read_json_file(command.from + "/application.json");
  auto const found = how.is_object() ? how.value("batch_size", io::json(1)) : io::json();
  if (!found.is_number_integer())
    throw file_error("E5030", command.from + "/application.json: has no 'batch_size' that is a whole number");
  auto type = write_model_header(command.from, header);
  return {header, std::move(type), inference_text(command.batch_size > 0 ? command.batch_size : found.get<int>())};
}

plan_subject subject_of_header(plan_command const& command) {
  if (!fs::is_regular_file(command.from)) throw file_error("E5001", command.from + ": is no header that can be read");
  if (command.model.empty())
    throw file_error("E5264", command.from + ": --model is missing, the name of the model's type in the header");
  if (command.batch_size > 0 && !command.training.empty())
    throw file_error("E5209",
                     "--batch_size is for predictions; the description '" + command.training + "' has its own");
  return {fs::absolute(command.from).string(), name_in_header(command.model, "--model"),
          command.training.empty() ? inference_text(command.batch_size > 0 ? command.batch_size : 1)
                                   : name_in_header(command.training, "--training")};
}

/// The IPUs; with --ranks a cluster of them, whose number of ranks is that of each choice.
source_text machine_text(plan_command const& command) {
  auto const ipus = "sc::ipu_devices<"_cpp + ipu_config_text(command.machine) + ">";
  if (command.ranks.empty()) return ipus;
  return "sc::cluster<"_cpp + ipus + ", sc::ranks{" + number_text(command.ranks_of_host) +
         "}, sc::network{.gigabits = " + number_text(command.gigabits) +
         ", .latency_us = " + number_text(command.latency_us) +
         ", .ranks_of_host = " + number_text(command.ranks_of_host) + "}>";
}

source_text program_text(plan_command const& command, plan_subject const& subject) {
  source_text text(
      "#include <stagecraft/description/inference.hpp>\n#include <stagecraft/machines/ipu_devices.hpp>\n"
      "#include <stagecraft/mpi/cluster_plan.hpp>\n#include <stagecraft/report/plan_data_of.hpp>\n"
      "#include <stagecraft/report/plan_html.hpp>\n"
      "#include <cstdio>\n#include <exception>\n\nnamespace sc = stagecraft;\n\n");
  text += "using machine = "_cpp + machine_text(command) + ";\n";
  text += "inline constexpr sc::plan_choices choices{"_cpp + choice_text("ipus", command.ipus) +
          choice_text("stages_per_ipu", command.stages_per_ipu) + schedules_text(command.schedules) +
          choice_text("micro_batches", command.micro_batches) + choice_text("replicas", command.replicas) +
          choice_text("ranks", command.ranks) + "};\n";
  text += "\nint main(int count, char** argv) try {\n  auto const data = sc::plan_data_of<"_cpp + subject.type + ", " +
          subject.description + ", machine, choices>();\n";
  text +=
      "  sc::write_plan_html(data, argv[1]);\n  if (count > 2) sc::write_plan_json(data, argv[2]);\n"
      "  auto const& best = data.entries[static_cast<std::size_t>(data.best())];\n"
      "  std::printf(\"%d combinations; the fastest that fits: %s, %s samples per second\\n\",\n"
      "              data.choices.combinations(), sc::reports::entry_text(best).c_str(),\n"
      "              sc::reports::rate_text(best.samples_per_second()).c_str());\n"
      "} catch (std::exception const& problem) {\n  std::printf(\"%s\\n\", problem.what());\n  return 1;\n}\n";
  return text;
}

}  // namespace

void plan_command::run() const {
  scratch_folder const scratch;
  auto const subject =
      fs::is_directory(from) ? subject_of_folder(*this, scratch / "model.hpp") : subject_of_header(*this);
  io::replace_file(scratch / "plan.cpp", [&](io::file_writer& to) { to.write(program_text(*this, subject).view()); });
  auto rest = flags;
  rest.insert(rest.end(), {"-include", subject.header, scratch / "plan.cpp", "-o", scratch / "plan"});
  compiler.run({"-O0", "-w"}, rest, from);
  std::vector<std::string> arguments{scratch / "plan", output};
  if (!json.empty()) arguments.push_back(json);
  std::string said;
  if (io::run_program(arguments, said) != 0)
    throw file_error("E5094", from + ": the program that asks for plans has failed: " + said);
  std::printf("%swrote %s\n", said.c_str(), output.c_str());
}

void add_plan_command(CLI::App& app) {
  auto const command = std::make_shared<plan_command>();
  auto* const own = app.add_subcommand(
      "plan", "Writes a page on which divisions of a model among emulated IPUs are compared, with reasons");
  own->add_option("from", command->from, "A header that declares a model, or an exported model's folder")->required();
  own->add_option("--model", command->model, "The model's type in the header, such as mine::mlp");
  own->add_option("--training", command->training,
                  "The header's constant that says how it is trained, or how it predicts; default: it predicts");
  own->add_option("--batch_size", command->batch_size,
                  "Samples of a micro-batch of predictions; default: 1, or the "
                  "export's")
      ->check(CLI::Range(1, 1'000'000));
  auto const add_numbers = [&](char const* name, std::vector<int>& values, char const* what) {
    return own->add_option(name, values, what)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 1'000'000));
  };
  add_numbers("--ipus", command->ipus, "Numbers of IPUs of a replica, such as 1,2,4; default: 1,2,3,4");
  add_numbers("--stages_per_ipu", command->stages_per_ipu, "Numbers of stages for each IPU; default: 1");
  add_numbers("--micro_batches", command->micro_batches,
              "Micro-batches of a replica per weight update; default: the description's");
  add_numbers("--replicas", command->replicas, "Numbers of copies of the model, of each rank; default: 1");
  auto* const ranks = add_numbers("--ranks", command->ranks, "Numbers of processes of a cluster; default: 1");
  own->add_option("--gigabits", command->gigabits, "1e9 bits that a host sends in a second; for --ranks")
      ->check(CLI::Range(0.0, 1e9))
      ->needs(ranks);
  own->add_option("--latency_us", command->latency_us, "Microseconds of a short message between hosts; default: 0")
      ->check(CLI::Range(0.0, 1e9))
      ->needs(ranks);
  own->add_option("--ranks_of_host", command->ranks_of_host, "Ranks that share a host; default: 1")
      ->check(CLI::Range(1, 4096))
      ->needs(ranks);
  own->add_option("--schedules", command->schedules, "Default: grouped,interleaved,sequential")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"grouped", "interleaved", "sequential"}));
  add_product_options(*own, command->machine);
  own->add_option("--output,-o", command->output, "The page")->capture_default_str();
  own->add_option("--json", command->json, "Also writes the numbers of all combinations to this file");
  own->add_option("--compiler", command->compiler.program, "The C++ compiler; default: the environment's CXX, or c++");
  own->add_option("--include", command->compiler.include, "Where the library's headers are");
  own->add_option("--flag", command->flags, "One more flag for the compiler; several times")->take_all();
  own->callback([command] { command->run(); });
}

}  // namespace stagecraft::tool
