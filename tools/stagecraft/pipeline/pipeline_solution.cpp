// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/pipeline_solution.hpp"

#include "source/source_text.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/io/detail/file_writer.hpp>
#include <stagecraft/pipeline/solution_file.hpp>
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace stagecraft::tool {

int pipeline_solution::num_ipus() const {
  int highest = 0, ipus = 1;
  for (int const device : device_mapping) highest = std::max(highest, device);
  while (ipus <= highest) ipus *= 2;
  return ipus;
}

pipeline_solution parse_pipeline_solution(std::string const& text, std::string const& where) {
  pipeline::solution_reader const file(text);
  if (file.problem.failed()) throw file_error("E5179", where + ": " + std::string(file.problem.text.view()));
  pipeline_solution solution;
  int highest = -1;
  for (auto const& [name, stage] : file.mapping) {
    solution.pipeline_mapping.emplace_back(name, stage);
    highest = std::max(highest, stage);
  }
  if (highest < 1 || highest >= 64)
    throw file_error("E5179", where + ": the solution file has " + std::to_string(highest + 1) +
                                  " stages; a pipeline has from 2 to 64");
  for (int const device : file.devices) {
    if (device < 0 || device >= 64)
      throw file_error("E5179", where + ": the solution file has the device " + std::to_string(device) +
                                    "; there are those from 0 to 63");
    solution.device_mapping.push_back(device);
  }
  for (int stage = 0; !file.has_devices && stage <= highest; ++stage) solution.device_mapping.push_back(stage);
  return solution;
}

pipeline_solution read_pipeline_solution(std::string const& path) {
  io::byte_source const source(path);
  return parse_pipeline_solution(std::string(io::text_of(source)), path);
}

void write_pipeline_solution(std::string const& text, std::string const& path) {
  namespace fs = std::filesystem;
  std::error_code problem;
  if (auto const folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, problem);
  if (problem) throw file_error("E5041", path + ": its folder cannot be made: " + problem.message());
  auto const write = [](std::string const& to, std::string const& what) {
    io::replace_file(to, [&](io::file_writer& file) { file.write(std::string_view(what)); });
  };
  write(path, text);
  write(path + ".inc", (lines_literal(text) + "\n").str());
}

}  // namespace stagecraft::tool
