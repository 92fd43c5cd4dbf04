// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/pipeline_program.hpp"

#include "applications/scratch_folder.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/serving/detail/export_folder.hpp>
#include <filesystem>
#include <initializer_list>
#include <string_view>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

/// The C++ of the given stages, or of their search.
source_text staged_text(pipeline_question const& question) {
  if (!question.solution.empty())
    return "inline constexpr char solution[] = "_cpp + lines_literal(question.solution) +
           ";\nusing staged = sc::pipelined<model_type, sc::pipeline::solution_file<solution>>;\n";
  auto const ipus = number_text(question.num_ipus);
  auto const& how = question.configuration;
  return "using staged = sc::auto_pipeline<model_type, inference, machine,\n"
         "                                 sc::auto_pipeline_options{.min_ipus = "_cpp +
         ipus + ", .max_ipus = " + ipus + ", .fine_tune_iter = " + number_text(how.fine_tune_iter) +
         ", .priority = sc::auto_pipeline_priority::" +
         (how.priority == pipeline_priority::memory ? "memory"_cpp : "cycle"_cpp) + "}>;\n";
}

constexpr own_text profile_text = R"(
  using profile = sc::tiles::model_profile<sc::jobs::job_on<staged, inference, machine>>;
  std::string memory;
  for (int i = 0; i < profile::ipus(); ++i)
    if (profile::memory(i).peak() > machine::target.bytes_per_tile)
      memory += (memory.empty() ? "" : ", ") + ("IPU " + std::to_string(i)) + " needs " +
                std::to_string(profile::memory(i).peak()) + " bytes of each tile, which has " +
                std::to_string(machine::target.bytes_per_tile);
  if (memory.empty() && profile::out_of_memory()) memory = "streaming memory does not suffice";
  char text[200];
  std::snprintf(text, sizeof text, "%d stages on %d IPUs: %.0f samples/s, latency %.3g ms, fullest tile %.0f KiB",
                profile::stages(), profile::ipus(), profile::samples_per_second(), 1e3 * profile::latency(), [] {
                  long long most = 0;
                  for (int i = 0; i < profile::ipus(); ++i)
                    if (profile::memory(i).peak() > most) most = profile::memory(i).peak();
                  return static_cast<double>(most) / 1024;
                }());
  answer["memory"] = memory;
  answer["description"] = text;
  std::string const folder = argv[1];
  auto const data = sc::profile_data_of<staged, inference, machine>();
  sc::write_profile_text(data, folder + "/profile.txt");
  sc::write_profile_html(data, folder + "/profile.html");
  sc::write_profile_trace(data, folder + "/profile.trace.json");
  sc::write_profile_json(data, folder + "/profile.json");
)";

source_text program_text(source_text const& type, pipeline_job const& job, pipeline_question const& question,
                         int batch_size) {
  auto machine = job.machine;
  machine.num_ipus = question.num_ipus;
  bool const is_searched = question.solution.empty(), is_profiled = !question.profile_folder.empty();
  source_text text("#include \"model.hpp\"\n\n");
  auto const include = [&](std::initializer_list<own_text> headers) {
    for (auto const header : headers) text += "#include <stagecraft/"_cpp + header + ".hpp>\n";
  };
  include({"description/inference", "io/detail/training_config", "pipeline/solution_file", "report/profile_text"});
  if (is_searched || is_profiled)
    include({"machines/ipu_devices", "ipu/profile/auto_pipeline", "report/profile_data_of", "report/profile_html",
             "report/profile_json", "report/profile_text", "report/profile_trace"});
  text += "#include <cstdio>\n#include <string>\n\nnamespace sc = stagecraft;\n\n";
  text += "using model_type = " + type + ";\n";
  text += "inline constexpr auto inference = sc::inference{.batch_size = " + number_text(batch_size) +
          ", .steps_per_execution = " + number_text(question.iterations) + "};\n";
  if (is_searched || is_profiled) text += "using machine = sc::ipu_devices<" + ipu_config_text(machine) + ">;\n";
  text += staged_text(question);
  text += "\nint main(int, char** argv) {\n  sc::io::json answer;\n";
  if (is_profiled) text += profile_text;
  text +=
      "  (void)argv;\n  answer[\"solution\"] = sc::solution_text<staged>();\n"
      "  auto& config = answer[\"config\"] = sc::io::json::object();\n"
      "  sc::io::add_graphcore_options<staged, inference>(config);\n"
      "  std::printf(\"%s\\n\", answer.dump().c_str());\n}\n";
  return text;
}

/// True if a compiler's failure is about the stages, for which the library has codes.
bool is_about_stages(std::string_view text) {
  for (auto at = text.find("[E"); at != std::string_view::npos; at = text.find("[E", at + 1))
    if (at + 2 < text.size() && (text[at + 2] == '2' || text.substr(at + 2, 2) == "30")) return true;
  return false;
}

}  // namespace

pipeline_answer ask_library(pipeline_job const& job, pipeline_question const& question) {
  scratch_folder const scratch;
  auto const type = write_model_header(job.folder, scratch / "model.hpp");
  auto const how = read_json_file(job.folder + "/application.json");
  auto const found = how.is_object() ? how.value("batch_size", io::json(1)) : io::json();
  if (!found.is_number_integer())
    throw file_error("E5030", job.folder + "/application.json: has no 'batch_size' that is a whole number");
  int const batch_size = found.get<int>();
  io::replace_file(scratch / "pipeline.cpp",
                   [&](io::file_writer& to) { to.write(program_text(type, job, question, batch_size).view()); });
  pipeline_answer answer;
  answer.problem =
      job.compiler.try_run({"-O0", "-w"}, {scratch / "pipeline.cpp", "-o", scratch / "pipeline"}, job.folder);
  while (answer.problem.ends_with('\n')) answer.problem.pop_back();
  if (!answer.problem.empty() && !is_about_stages(answer.problem))
    throw file_error("E5094", job.folder + ": the compiler has failed:\n" + answer.problem);
  if (!answer.problem.empty()) return answer;
  if (!question.profile_folder.empty()) fs::create_directories(question.profile_folder);
  std::string said;
  auto const folder = question.profile_folder.empty() ? "." : question.profile_folder;
  if (io::run_program({scratch / "pipeline", folder}, said) != 0)
    throw file_error("E5094", job.folder + ": the program that asks for costs has failed: " + said);
  auto const given = io::json::parse(said);
  answer.memory = given.value("memory", "");
  answer.solution = given.at("solution").get<std::string>();
  answer.config = given.at("config");
  answer.description = given.value("description", "");
  return answer;
}

}  // namespace stagecraft::tool
