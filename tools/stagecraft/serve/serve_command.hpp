// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft serve`: applications behind HTTP, as TensorFlow Serving and KServe have it.
#pragma once

#include <stagecraft/serving/runtime_options.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft::tool {

struct serve_command {
  std::string model_name = "default";   ///< name of the model in model_base_path
  std::string model_base_path;          ///< folder with a folder for each version
  std::vector<std::string> models;      ///< more of them: name=folder
  std::string host = "127.0.0.1";       ///< loopback, unless it is said
  int rest_api_port = 8501;             ///< 0: one that is free, which is printed
  int num_threads = 128;                ///< calls that are answered at the same time
  int request_time_ms = 30000;          ///< that a call may take; 0: any
  int read_time_ms = 10000;             ///< that a request may take to come
  int idle_time_ms = 60000;             ///< that a connection may be without one
  std::size_t max_connections = 10000;  ///< that are open; less if the system gives less
  std::size_t max_header_bytes = std::size_t{16} << 10;
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t max_bytes_in_flight = std::size_t{1} << 30;  ///< bytes of all bodies that are being read or answered
  double poll_seconds = 1;                                 ///< between two looks for new versions
  std::string token_file;   ///< file with the bearer token that requests must have; empty: none
  std::string certificate;  ///< TLS: a chain of certificates, PEM
  std::string key;          ///< and its key
  serving::runtime_options runtime;
  std::optional<int> runtime_api_timeout_us;  ///< none: an application's own, else the runtime's

  /// Serves until SIGTERM or SIGINT, and answers what has come by then; SIGHUP looks for new versions at once. Throws
  /// file_error E5096 the address is taken, a file is missing, or the options do not go together; E5203 the system has
  /// not enough memory or threads to begin.
  void run() const;
};

/// Adds the command to the program.
void add_serve_command(CLI::App& app);

}  // namespace stagecraft::tool
