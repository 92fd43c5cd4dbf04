// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft serve`: serves applications by HTTP and gRPC, with the APIs of TensorFlow Serving and KServe.
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
  std::string model_name = "default";    ///< name of the model in model_base_path
  std::string model_base_path;           ///< folder with a folder for each version
  std::vector<std::string> models;       ///< more models: name=folder
  std::string model_config_file;         ///< file with more models, in protobuf's text format; empty: none
  double config_poll_seconds = 0;        ///< seconds between two looks at that file; 0: it is read once
  bool labels_without_versions = false;  ///< true: a new label may name a version that is not served yet
  bool takes_folders = false;            ///< true: requests to reload may name any folder
  std::string batching_file;            ///< file with options of the runtime, which come before those here; empty: none
  std::string monitoring_file;          ///< file with the path of the metrics; empty: none
  std::string host = "127.0.0.1";       ///< address to listen to; by default loopback
  int rest_api_port = 8501;             ///< port; 0: a free one, which is printed
  std::optional<int> grpc_port;         ///< port of gRPC; 0: a free one, which is printed; none: no gRPC
  int num_threads = 128;                ///< calls that are answered at the same time
  int request_time_ms = 30000;          ///< milliseconds that a call may take; 0: any
  int read_time_ms = 10000;             ///< milliseconds in which a request must come
  int idle_time_ms = 60000;             ///< milliseconds that a connection may be without a request
  std::size_t max_connections = 10000;  ///< open connections; fewer if the system has fewer descriptors
  std::size_t max_header_bytes = std::size_t{16} << 10;
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t max_bytes_in_flight = std::size_t{1} << 30;  ///< bytes of all bodies that are being read or answered
  double poll_seconds = 1;     ///< seconds between two checks for new versions; 0: there is one at the beginning
  bool is_explicit = false;    ///< true: clients load models and let go of them, and versions are not looked for
  bool shares_memory = false;  ///< true: clients may name objects of shm_open that this process can open
  std::vector<std::string> host_policies;  ///< processors for instances of models, as Triton's --host-policy
  bool uses_nodes = false;                 ///< true: each NUMA node has an instance of each model
  std::string trace_file;                  ///< file for traces of calls; empty: none
  std::string token_file;                  ///< file with the bearer token that requests must have; empty: none
  std::string certificate;                 ///< TLS: a chain of certificates, PEM
  std::string key;                         ///< TLS: the certificate's key, PEM
  serving::runtime_options runtime;
  std::optional<int> runtime_api_timeout_us;  ///< none: the application's own, or otherwise the runtime's default

  /// Serves until SIGTERM or SIGINT, and then answers the requests that have come; SIGHUP checks for new versions at
  /// once. Throws file_error E5096 if the address is taken, a file is missing, or the options contradict each other,
  /// E5203 if the system lacks memory or threads to begin; of gRPC, E5280 to E5282;
  /// E5283 a file of options is wrong, E5300 it asks for what cannot be.
  void run() const;
};

/// Adds the command to the program.
void add_serve_command(CLI::App& app);

}  // namespace stagecraft::tool
