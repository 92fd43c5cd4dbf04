// SPDX-License-Identifier: BSD-3-Clause
#include "serve/serve_command.hpp"

#include "serve/api.hpp"
#include "serve/http_front.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>
#include <utility>

namespace stagecraft::tool {

namespace {

[[noreturn]] void refuse(std::string const& text) { throw file_error("E5096", text); }

bool is_loopback(std::string const& host) { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

}  // namespace

void serve_command::run() const {
  server_state state;
  state.time = std::chrono::milliseconds(request_time_ms);
  state.max_bytes_in_flight = max_bytes_in_flight;
  auto const add = [&](std::string const& name, std::string const& folder) {
    if (!state.models.emplace(name, std::make_unique<served_model>(name, folder, engine, runtime_api_timeout_us))
             .second)
      refuse("two models have the name '" + name + "'");
  };
  if (!model_base_path.empty()) add(model_name, model_base_path);
  for (auto const& each : models) {
    auto const equals = each.find('=');
    if (equals == std::string::npos || equals == 0) refuse("--model " + each + ": expected name=folder");
    add(each.substr(0, equals), each.substr(equals + 1));
  }
  if (state.models.empty()) refuse("there is no model: set --model_base_path, or --model name=folder");
  if (!is_loopback(host) && token_file.empty())
    std::fprintf(stderr, "stagecraft: %s is open to others, and asks for no token\n", host.c_str());

  // All threads that begin from here on leave these signals to one.
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGINT);
  ::sigaddset(&ending, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  for (auto const& [name, model] : state.models) model->update();
  http_front front(*this, state);
  int const port = front.bind();
  std::atomic<bool> has_ended = false;
  std::thread watcher([&] {
    auto const nanoseconds = static_cast<long long>(poll_seconds * 1e9);
    std::timespec const pause{static_cast<std::time_t>(nanoseconds / 1000000000),
                              static_cast<long>(nanoseconds % 1000000000)};
    while (!has_ended) {
      if (::sigtimedwait(&ending, nullptr, &pause) > 0) {
        state.is_stopping = true;
        while (!front.is_listening() && !has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        front.stop();
        return;
      }
      for (auto const& [name, model] : state.models) model->update();
    }
  });
  std::printf("Exporting HTTP/REST API at:%s:%d ...\n", host.c_str(), port);
  std::fflush(stdout);
  front.listen();
  bool const was_asked_for = state.is_stopping;
  has_ended = true;
  if (!was_asked_for) ::pthread_kill(watcher.native_handle(), SIGTERM);
  watcher.join();
  if (!was_asked_for) refuse(host + ":" + std::to_string(port) + ": the system gives no more connections");
  std::printf("all requests are answered\n");
}

void add_serve_command(CLI::App& app) {
  auto const command = std::make_shared<serve_command>();
  auto* const own =
      app.add_subcommand("serve", "Serves applications by HTTP: TensorFlow Serving's REST, and KServe's version 2");
  own->add_option("--model_name", command->model_name, "The name of the model")->capture_default_str();
  own->add_option("--model_base_path", command->model_base_path,
                  "The folder of its versions, <folder>/<number>/application.so; the highest is served");
  own->add_option("--model", command->models, "One more model: name=folder; several times")->take_all();
  own->add_option("--host", command->host, "The address to listen to")->capture_default_str();
  own->add_option("--rest_api_port", command->rest_api_port, "The port; 0: any that is free")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  own->add_option("--rest_api_num_threads", command->num_threads, "Connections that are served at the same time")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  own->add_option("--rest_api_timeout_in_ms", command->request_time_ms, "The time that a call may take; 0: any")
      ->capture_default_str()
      ->check(CLI::Range(0, 86400000));
  own->add_option("--read_timeout_in_ms", command->read_time_ms, "The time that a request may take to come")
      ->capture_default_str()
      ->check(CLI::Range(1, 86400000));
  own->add_option("--max_body_bytes", command->max_body_bytes, "The largest request")->capture_default_str();
  own->add_option("--max_bytes_in_flight", command->max_bytes_in_flight, "The most that all requests have at a time")
      ->capture_default_str();
  own->add_option("--batch_timeout_micros", command->engine.batch_timeout_us,
                  "How long the first sample of a batch waits for others")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000000));
  own->add_option("--max_enqueued_calls", command->engine.max_enqueued_calls,
                  "Calls that may wait; one more is refused")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  own->add_option("--runtime_api_timeout_us", command->runtime_api_timeout_us,
                  "How long a pipeline with samples in it waits before a dummy batch follows; default: what the "
                  "application was converted with, else 5000")
      ->check(CLI::Range(0, 1000000000));
  own->add_option("--file_system_poll_wait_seconds", command->poll_seconds,
                  "The time between two looks for new versions")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 86400.0));
  own->add_option("--token_file", command->token_file, "A file with the bearer token that requests must have");
  own->add_option("--ssl_cert", command->certificate, "TLS: the file of the certificates");
  own->add_option("--ssl_key", command->key, "TLS: the file of the key");
  own->callback([command] { command->run(); });
}

}  // namespace stagecraft::tool
