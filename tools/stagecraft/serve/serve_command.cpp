// SPDX-License-Identifier: BSD-3-Clause
#include "serve/serve_command.hpp"

#include "serve/api.hpp"
#include "serve/http/http_front.hpp"
#include "serve/models/model_watcher.hpp"
#include "serve/option_files.hpp"
#include "serve/server_calls.hpp"
#include "serve/signal_set.hpp"
#include "serve/token.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace stagecraft::tool {

namespace {

[[noreturn]] void refuse(std::string const& text) { throw file_error("E5096", text); }

/// Ends the program without waiting for any of its threads.
[[noreturn]] void leave(char const* why, int code) {
  std::fprintf(stderr, "stagecraft: %s\n", why);
  std::fflush(nullptr);
  ::_exit(code);
}

/// Ends the watcher without waiting for ever: loading a model runs foreign code, which may never return.
void end(model_watcher& watcher) {
  constexpr std::chrono::seconds patience{2};
  bool const has_ended = watcher.end(patience);
  std::printf("all requests are answered\n");
  if (!has_ended) leave("ended while a model was being loaded", 0);
}

std::string read_file(std::string const& path) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file || text.empty()) refuse(path + ": cannot be read");
  return text;
}

/// The front of gRPC; null if there is no port for it.
std::unique_ptr<rpc_front> begin_grpc(serve_command const& command, server_calls& calls) {
  if (!command.grpc_port) return nullptr;
  return load_rpc_front({.host = command.host,
                         .port = *command.grpc_port,
                         .threads = static_cast<std::size_t>(command.num_threads),
                         .most_waiting = static_cast<std::size_t>(command.runtime.max_enqueued_calls),
                         .max_message_bytes = command.max_body_bytes,
                         .max_header_bytes = command.max_header_bytes,
                         .max_bytes_in_flight = command.max_bytes_in_flight,
                         .time = std::chrono::milliseconds(command.request_time_ms),
                         .idle_time = std::chrono::milliseconds(command.idle_time_ms),
                         .token = command.token_file.empty() ? "" : read_token(command.token_file),
                         .certificate = read_file(command.certificate),
                         .key = read_file(command.key)},
                        calls);
}

watcher_options options_of(serve_command const& command, std::vector<model_settings> models, served_models const& all) {
  auto around = std::make_shared<model_surroundings const>(
      &all, host_policies(command.host_policies), command.uses_nodes ? numa_nodes() : std::vector<cpu_set_t>());
  auto const make = [runtime = command.runtime, time = command.runtime_api_timeout_us,
                     around = std::move(around)](model_settings settings) {
    return std::make_shared<served_model>(std::move(settings), runtime, time, around);
  };
  return {.make = make,
          .models = std::move(models),
          .config_file = command.model_config_file,
          .pause = std::chrono::duration<double>(command.is_explicit ? 0 : command.poll_seconds),
          .config_pause = std::chrono::duration<double>(command.config_poll_seconds),
          .labels_without_versions = command.labels_without_versions,
          .takes_folders = command.takes_folders,
          .is_explicit = command.is_explicit};
}

/// Serves until SIGTERM or SIGINT; a second signal ends the program before the last answers.
void serve(serve_command const& command, std::vector<model_settings> models, server_state& state,
           signal_set const& signals) {
  http_front front(command, state);
  model_watcher watcher(state.models, options_of(command, std::move(models), state.models));
  state.watcher = &watcher;
  while (!watcher.has_looked()) {
    constexpr std::chrono::milliseconds pause{2};
    int const signal = signals.wait_for(pause);
    if (signal != 0 && signal != SIGHUP) return end(watcher);
  }
  int const port = front.bind();
  state_calls calls(state);
  auto const rpc = begin_grpc(command, calls);
  std::atomic<bool> is_answered = false;
  std::thread loop([&] {
    front.run();
    is_answered = true;
  });
  std::printf("Exporting HTTP/REST API at:%s:%d ...\n", command.host.c_str(), port);
  if (rpc != nullptr) std::printf("Running gRPC ModelServer at %s:%d ...\n", command.host.c_str(), rpc->port());
  std::fflush(stdout);
  while (signals.wait() == SIGHUP) watcher.look_again();
  state.is_stopping = true;
  front.stop();
  if (rpc != nullptr) rpc->begin_stop();
  while (!is_answered ||
         (rpc != nullptr && !rpc->has_stopped())) {  // polls, since the system may refuse one more thread
    constexpr std::chrono::milliseconds pause{5};
    int const signal = signals.wait_for(pause);
    if (signal != 0 && signal != SIGHUP) leave("ended before all requests were answered", 1);
  }
  loop.join();
  end(watcher);
}

bool is_loopback(std::string const& host) { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

}  // namespace

void serve_command::run() const {
  server_state state(trace_file);
  state.time = std::chrono::milliseconds(request_time_ms);
  state.max_bytes_in_flight = max_bytes_in_flight;
  auto command = *this;
  if (shares_memory) state.memory = std::make_unique<shared_regions>();
  if (!batching_file.empty()) read_batching_parameters(batching_file, command.runtime);
  if (!monitoring_file.empty()) state.metrics_paths = {"", read_monitoring_config(monitoring_file)};
  std::vector<model_settings> own;
  auto const add = [&](std::string const& name, std::string const& folder) {
    for (auto const& each : own)
      if (each.name == name) refuse("two models have the name '" + name + "'");
    own.push_back({.name = name, .folder = folder, .policy = {}, .labels = {}});
  };
  if (!model_base_path.empty()) add(model_name, model_base_path);
  for (auto const& each : models) {
    auto const equals = each.find('=');
    if (equals == std::string::npos || equals == 0) refuse("--model " + each + ": expected name=folder");
    add(each.substr(0, equals), each.substr(equals + 1));
  }
  if (own.empty() && model_config_file.empty())
    refuse("there is no model: set --model_base_path, --model name=folder, or --model_config_file");
  if (!is_loopback(host) && token_file.empty())
    std::fprintf(stderr, "stagecraft: %s is open to others, and asks for no token\n", host.c_str());

  // All threads that begin from here on leave these signals to this thread.
  signal_set const signals{SIGINT, SIGTERM, SIGHUP};
  std::signal(SIGPIPE, SIG_IGN);
  try {
    serve(command, std::move(own), state, signals);
  } catch (std::bad_alloc const&) {
    throw file_error("E5203", "the server cannot begin: the machine has no more memory");
  } catch (std::system_error const& why) {
    throw file_error("E5203", "the server cannot begin: " + std::string(why.what()));
  }
}

void add_serve_command(CLI::App& app) {
  auto const command = std::make_shared<serve_command>();
  auto* const own = app.add_subcommand(
      "serve", "Serves applications by HTTP and gRPC, with the APIs of TensorFlow Serving and KServe");
  auto* const model_name =
      own->add_option("--model_name", command->model_name, "The name of the model of --model_base_path")
          ->capture_default_str();
  own->add_option("--model_base_path", command->model_base_path,
                  "The folder of its versions, <folder>/<number>/application.so; the highest is served");
  own->add_option("--model", command->models, "One more model: name=folder; several times")->take_all();
  own->add_option("--model_config_file", command->model_config_file,
                  "A file with more models, as TensorFlow Serving has it: model_config_list { config { name: ... } }");
  own->add_option("--model_config_file_poll_wait_seconds", command->config_poll_seconds,
                  "The time between two looks at that file; 0: it is read once, and at SIGHUP")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 86400.0));
  own->add_flag("--allow_version_labels_for_unavailable_models", command->labels_without_versions,
                "A new label of that file may name a version that is not served yet");
  own->add_flag("--allow_reload_config", command->takes_folders,
                "Requests to reload may name any folder, whose applications then run in this program");
  own->add_option("--batching_parameters_file", command->batching_file,
                  "A file with batch_timeout_micros and max_enqueued_batches, as TensorFlow Serving has it");
  own->add_option("--monitoring_config_file", command->monitoring_file,
                  "A file that says where the metrics are, as TensorFlow Serving has it; default: /metrics");
  own->add_option("--host", command->host, "The address to listen to")->capture_default_str();
  own->add_option("--rest_api_port", command->rest_api_port, "The port; 0: any that is free")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  own->add_option(
         "--grpc_port", command->grpc_port,
         "The port of gRPC, with TensorFlow Serving's and KServe's services; 0: any that is free; default: none")
      ->check(CLI::Range(0, 65535));
  own->add_option("--rest_api_num_threads", command->num_threads, "Calls that are answered at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  own->add_option("--rest_api_timeout_in_ms", command->request_time_ms, "The time that a call may take; 0: any")
      ->capture_default_str()
      ->check(CLI::Range(0, 86400000));
  own->add_option("--read_timeout_in_ms", command->read_time_ms, "The time that a request may take to come")
      ->capture_default_str()
      ->check(CLI::Range(1, 86400000));
  own->add_option("--idle_timeout_in_ms", command->idle_time_ms, "The time that a connection may be without a request")
      ->capture_default_str()
      ->check(CLI::Range(1, 86400000));
  own->add_option("--max_connections", command->max_connections,
                  "Connections that may be open; for one more, the one is closed that has said nothing for longest")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}));
  own->add_option("--max_header_bytes", command->max_header_bytes, "The most that may come before a request's body")
      ->capture_default_str()
      ->check(CLI::Range(std::size_t{256}, std::size_t{1} << 20));
  own->add_option("--max_body_bytes", command->max_body_bytes, "The largest request")->capture_default_str();
  own->add_option("--max_bytes_in_flight", command->max_bytes_in_flight, "The most that all requests have at a time")
      ->capture_default_str();
  own->add_option_function<std::string>(
         "--model_control_mode", [command](std::string const& mode) { command->is_explicit = mode == "explicit"; },
         "poll: new versions are found in their folders; explicit: when clients ask to load or unload a model")
      ->default_str("poll")
      ->check(CLI::IsMember({"poll", "explicit"}));
  own->add_option("--batch_timeout_micros", command->runtime.batch_timeout_us,
                  "How long the first sample of a batch waits for others")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000000));
  own->add_option("--max_enqueued_calls", command->runtime.max_enqueued_calls,
                  "Calls that may wait; one more is refused")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  own->add_option("--runtime_api_timeout_us", command->runtime_api_timeout_us,
                  "How long a pipeline with samples in it waits before a dummy batch follows; default: what the "
                  "application was converted with, else 5000")
      ->check(CLI::Range(0, 1000000000));
  own->add_option("--file_system_poll_wait_seconds", command->poll_seconds,
                  "The time between two looks for new versions; 0: there is one at the beginning, and one at SIGHUP")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 86400.0));
  own->add_option(
         "--host_policy,--host-policy", command->host_policies,
         "Processors for instances of models, whose config.pbtxt names the policy; the policy 'cpu' is for all "
         "others: name,cpu-cores=0-3 or name,numa-node=0; several times")
      ->take_all();
  own->add_flag("--numa", command->uses_nodes,
                "Each NUMA node has an instance of each model whose config.pbtxt names no instance_group, with the "
                "node's memory and processors");
  own->add_option("--trace_file", command->trace_file,
                  "A file for the times of calls that clients ask to trace (Triton's trace settings)");
  own->add_flag("--allow_shared_memory", command->shares_memory,
                "Clients may name objects of shm_open, which this program then reads and writes for them");
  own->add_option("--token_file", command->token_file, "A file with the bearer token that requests must have");
  own->add_option("--ssl_cert", command->certificate, "TLS: the file of the certificates");
  own->add_option("--ssl_key", command->key, "TLS: the file of the key");
  own->callback([command, model_name] {
    if (!model_name->empty() && command->model_base_path.empty())
      throw file_error("E5209", "--model_name " + command->model_name +
                                    " has no effect: it is the name of the model of --model_base_path; models of "
                                    "--model have names of their own");
    command->run();
  });
}

}  // namespace stagecraft::tool
