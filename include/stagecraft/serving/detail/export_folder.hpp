// SPDX-License-Identifier: BSD-3-Clause
// The folder of an exported model: a bundle, application.json, which says how to run it, and the application that is
// compiled from both.
#pragma once

#include <stagecraft/io/detail/bundle_contents.hpp>
#include <stagecraft/io/detail/bundle_folder.hpp>
#include <stagecraft/training/export_options.hpp>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

extern char** environ;

namespace stagecraft::io {

/// Makes an empty folder. Throws file_error E5091 if it holds anything, E5041 if it cannot be made.
inline void prepare_export_folder(std::string const& place, bool purges) {
  namespace fs = std::filesystem;
  std::error_code problem;
  if (exists(place) && !fs::is_directory(place, problem))
    refuse("E5091", place, "an exported model is a folder, and something else stands there");
  auto const names = names_in_folder(place);
  if (!names.empty() && !purges)
    refuse("E5091", place,
           "the folder is not empty: it holds '" + names.front() + "'; purge_export_dir removes what is in it");
  for (auto const& name : names)
    if (!problem) fs::remove_all(fs::path(place) / name, problem);
  if (!problem) fs::create_directories(place, problem);
  if (problem) refuse("E5041", place, problem.message());
}

/// Removes a failed export, which would be in the way of the next one, unless `keep` is called.
class unfinished_export {
 public:
  /// Notes whether the folder exists, and so must precede prepare_export_folder.
  explicit unfinished_export(std::string place) : place_(std::move(place)), was_there_(exists(place_)) {}
  unfinished_export(unfinished_export const&) = delete;
  unfinished_export& operator=(unfinished_export const&) = delete;
  ~unfinished_export() {
    if (!is_prepared_) return;
    std::error_code none;
    for (auto const& name : names_in_folder(place_)) std::filesystem::remove_all(place_ + "/" + name, none);
    if (!was_there_) std::filesystem::remove(place_, none);
  }
  void prepare(bool purges) {
    prepare_export_folder(place_, purges);
    is_prepared_ = true;
  }
  void keep() noexcept { is_prepared_ = false; }

 private:
  std::string place_;
  bool was_there_, is_prepared_ = false;
};

/// The signatures of application.json, by their names: see docs/serving.md.
[[nodiscard]] inline json signatures_json(std::vector<example_signature> const& signatures) {
  auto result = json::object();
  for (auto const& each : signatures) {
    json one{{"method_name", each.classifies ? "tensorflow/serving/classify" : "tensorflow/serving/regress"}};
    if (!each.output.empty()) one[each.classifies ? "scores" : "output"] = each.output;
    if (!each.labels.empty()) one["labels"] = each.labels;
    if (each.top != 0) one["top"] = each.top;
    for (auto const& feature : each.features) {
      json own{{"name", feature.name}};
      if (!feature.input.empty()) own["input"] = feature.input;
      if (!feature.dtype.empty()) own["dtype"] = feature.dtype;
      if (!feature.shape.empty()) own["shape"] = feature.shape;
      for (float const value : feature.default_value)  // JSON has no number that is not finite, but its texts are read
        if (std::isfinite(value))
          own["default_value"].push_back(value);
        else
          own["default_value"].push_back(std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
      one["features"].push_back(std::move(own));
    }
    result[each.name] = std::move(one);
  }
  return result;
}

/// The content of application.json: how the model is run.
[[nodiscard]] inline json export_config(int batch_size, int iterations, export_options const& options) {
  auto const header = options.processing_header.empty()
                          ? std::string()
                          : std::filesystem::path(options.processing_header).filename().string();
  json config{{"format", "stagecraft application"},
              {"format_version", 1},
              {"batch_size", batch_size},
              {"iterations", iterations},
              {"output_names", options.output_names},
              {"processing_header", header},
              {"preprocessing_step", options.preprocessing_step},
              {"postprocessing_step", options.postprocessing_step}};
  if (!options.allowed_batch_sizes.empty()) config["allowed_batch_sizes"] = options.allowed_batch_sizes;
  if (!options.signatures.empty()) config["signatures"] = signatures_json(options.signatures);
  return config;
}

inline void write_export(std::string const& place, bundle_contents const& contents, json const& config) {
  write_contents(place, contents);
  replace_file(place + "/application.json", [&](file_writer& to) { to.write(config.dump(1) + "\n"); });
}

/// Runs a program and keeps its output. Returns its exit code, or -1 if it cannot be started.
[[nodiscard]] inline int run_program(std::vector<std::string> const& arguments, std::string& output) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {  // O_CLOEXEC: programs that other threads start do not inherit them
    output = std::strerror(errno);
    return -1;
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);  // the caller's input stays for others
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<char*> pointers;
  for (auto const& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  pid_t process = 0;
  int const problem = ::posix_spawnp(&process, pointers[0], &actions, nullptr, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (problem == 0) {
    std::array<char, 4096> part{};
    for (ssize_t count = 0; (count = ::read(ends[0], part.data(), part.size())) != 0;)
      if (count > 0)
        output.append(part.data(), static_cast<std::size_t>(count));
      else if (errno != EINTR)
        break;
  }
  ::close(ends[0]);
  if (problem != 0) {
    output = std::strerror(problem);
    return -1;
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/// Runs `stagecraft compile <place>`. Throws file_error E5094 with its output if it fails.
inline void compile_export(std::string const& place, export_options const& options) {
  auto tool = options.tool;
  if (char const* const own = std::getenv("STAGECRAFT_TOOL"); tool.empty() && own != nullptr) tool = own;
  if (tool.empty()) tool = "stagecraft";
  if (!options.processing_header.empty()) {
    namespace fs = std::filesystem;
    std::error_code problem;
    fs::copy_file(options.processing_header, fs::path(place) / fs::path(options.processing_header).filename(), problem);
    if (problem) refuse("E5001", options.processing_header, problem.message());
  }
  std::vector<std::string> arguments{tool, "compile", place};
  arguments.insert(arguments.end(), options.compile_arguments.begin(), options.compile_arguments.end());
  std::string output;
  int const code = run_program(arguments, output);
  if (code < 0)
    refuse("E5094", place,
           "the program '" + tool + "' compiles applications, and cannot be started: " + output +
               "; install it, or set STAGECRAFT_TOOL");
  if (code != 0) refuse("E5094", place, "'" + tool + " compile' has failed:\n" + output);
}

}  // namespace stagecraft::io
