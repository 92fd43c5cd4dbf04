// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/pipeline_search.hpp"

#include "pipeline/pipeline_program.hpp"
#include "source/layer_stages.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/report/profile_text.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>

namespace stagecraft::tool {

namespace {

class pipeline_finder {
 public:
  pipeline_finder(pipeline_configuration const& configuration, pipeline_job const& job)
      : configuration_(configuration), job_(job) {}

  pipeline_solution find() {
    if (!configuration_.ipu_model)
      throw file_error("E5180", job_.folder +
                                    ": the pipeline configuration has \"ipu_model\": false, and there are no "
                                    "IPUs but emulated ones");
    switch (configuration_.converter) {
      case pipeline_converter::automatic: return search();
      case pipeline_converter::manual:
        return take(stages_by_name(configuration_, job_.folder), "manual",
                    configuration_.solution_dir + "/manual.pipeconfig");
      default:
        return take(solution_of_layers(read_pipeline_solution(configuration_.solution_path), job_.folder), "load", "");
    }
  }

 private:
  [[nodiscard]] std::string profile_folder(std::string const& converter, int ipus) const {
    if (!configuration_.profiling_enable) return {};
    return configuration_.profiling_root_dir + "/" + converter + "_" + std::to_string(ipus) + "_ipus";
  }
  static void say_profile(pipeline_answer const& answer, std::string const& folder) {
    std::printf("%s\n", answer.description.c_str());
    std::printf("wrote %s/profile.html, .txt, .json and .trace.json\n", folder.c_str());
  }

  /// Searches from the least number of IPUs on, until the model fits.
  pipeline_solution search() {
    std::string reason;
    for (int ipus = configuration_.least_ipus(); ipus <= configuration_.max_ipu_quantity; ipus *= 2) {
      auto const folder = profile_folder("auto", ipus);
      auto const answer = ask_library(job_, {.configuration = configuration_,
                                             .num_ipus = ipus,
                                             .iterations = job_.batch_per_step * ipus,
                                             .profile_folder = folder});
      if (!answer.problem.empty()) {  // fewer parts than IPUs: more IPUs would not help
        if (reason.empty() || answer.problem.find("[E3021]") == std::string::npos) reason = answer.problem;
        break;
      }
      say_profile(answer, folder);
      if (answer.memory.empty()) return keep(answer, configuration_.solution_dir + "/greedy_search.pipeconfig");
      reason = "with " + std::to_string(ipus) + " IPUs, " + answer.memory;
      std::printf("%s\n", reason.c_str());
    }
    throw file_error("E5181", job_.folder + ": no number of IPUs was found that the model can be divided among, from " +
                                  std::to_string(configuration_.least_ipus()) + " to " +
                                  std::to_string(configuration_.max_ipu_quantity) + ": " + reason);
  }

  /// Takes given stages.
  pipeline_solution take(pipeline_solution const& given, std::string const& converter, std::string const& path) {
    auto const folder = profile_folder(converter, given.num_ipus());
    auto const answer = ask_library(job_, {.configuration = configuration_,
                                           .solution = solution_text(given.pipeline_mapping, given.device_mapping),
                                           .num_ipus = given.num_ipus(),
                                           .iterations = job_.batch_per_step * given.stages(),
                                           .profile_folder = folder});
    if (!answer.problem.empty()) throw file_error("E5179", job_.folder + ": " + answer.problem);
    if (!folder.empty()) say_profile(answer, folder);
    if (!answer.memory.empty()) std::fprintf(stderr, "WARNING: it does not fit: %s\n", answer.memory.c_str());
    return keep(answer, path);
  }

  /// Writes the solution file, unless it has no path, and the model's stages.
  pipeline_solution keep(pipeline_answer const& answer, std::string const& path) {
    auto solution = parse_pipeline_solution(answer.solution, job_.folder);
    if (!path.empty()) {
      write_pipeline_solution(answer.solution, path);
      std::printf("wrote %s\n", path.c_str());
    }
    auto model = read_json_file(job_.folder + "/model.json"), how = read_json_file(job_.folder + "/application.json");
    for (auto const& [key, value] : answer.config.items())
      if (std::string_view(key).find("pipelin") != std::string_view::npos) model["config"][key] = value;
    how["iterations"] = job_.batch_per_step * solution.stages();
    // The solution of a converted model, which is divided anew.
    how.erase("solution");
    if (how.contains("machine") && how["machine"].is_object()) how["machine"]["num_ipus"] = solution.num_ipus();
    auto const write = [](std::string const& to, io::json const& what) {
      io::replace_file(to, [&](io::file_writer& file) { file.write(what.dump(1) + "\n"); });
    };
    write(job_.folder + "/model.json", model);
    write(job_.folder + "/application.json", how);
    return solution;
  }

  pipeline_configuration const& configuration_;
  pipeline_job const& job_;
};

}  // namespace

pipeline_solution find_pipeline(pipeline_configuration const& configuration, pipeline_job const& job) {
  return pipeline_finder(configuration, job).find();
}

}  // namespace stagecraft::tool
