// SPDX-License-Identifier: BSD-3-Clause
#include "serve/serve_command.hpp"

#include "serve/api.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <httplib.h>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace stagecraft::tool {

namespace {

using clock = std::chrono::steady_clock;

constexpr char const* json_length_header = "Inference-Header-Content-Length";
/// How much of a request that is refused is read nevertheless: few clients read an answer before they have sent all.
constexpr std::size_t most_refused_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse(std::string const& text) { throw file_error("E5096", text); }

std::string read_token(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::string token{std::istreambuf_iterator<char>(file), {}};
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (!file || token.empty()) refuse(path + ": has no token");
  return token;
}

/// In a time that does not say how much of it is the same.
bool is_same(std::string const& a, std::string const& b) {
  unsigned differences = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    differences |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return differences == 0;
}

bool is_loopback(std::string const& host) { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

/// Carries requests to the API and answers back.
class http_front {
 public:
  http_front(serve_command const& options, server_state& state) : options_(options), state_(state) {
    if (options.certificate.empty() != options.key.empty()) refuse("--ssl_cert and --ssl_key go together");
    if (options.certificate.empty())
      server_ = std::make_unique<httplib::Server>();
    else
      server_ = std::make_unique<httplib::SSLServer>(options.certificate.c_str(), options.key.c_str());
    if (!server_->is_valid()) refuse(options.certificate + ": is no certificate, or " + options.key + " not its key");
    if (!options.token_file.empty()) authorization_ = "Bearer " + read_token(options.token_file);
    set_up();
  }

  /// Returns the port.
  int bind() {
    int const port = options_.rest_api_port;
    int const bound = port == 0                                    ? server_->bind_to_any_port(options_.host)
                      : server_->bind_to_port(options_.host, port) ? port
                                                                   : -1;
    if (bound <= 0) refuse(options_.host + ":" + std::to_string(port) + " cannot be listened to");
    return bound;
  }
  /// Until `stop`, and the last answer.
  void listen() { server_->listen_after_bind(); }
  /// Has an effect once it listens.
  [[nodiscard]] bool is_listening() const { return server_->is_running(); }
  void stop() { server_->stop(); }

 private:
  void set_up() {
    auto const threads = static_cast<std::size_t>(options_.num_threads);
    server_->new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
    server_->set_tcp_nodelay(true);
    // `post` counts: the library would read a body to its end before it refuses it.
    server_->set_payload_max_length(std::numeric_limits<std::size_t>::max());
    server_->set_read_timeout(std::chrono::milliseconds(options_.read_time_ms));
    server_->set_write_timeout(std::chrono::milliseconds(options_.read_time_ms));
    server_->set_keep_alive_max_count(1000000);
    server_->set_keep_alive_timeout(5);
    server_->set_pre_routing_handler([this](httplib::Request const& request, httplib::Response& response) {
      auto const refusal = request.method == "POST" ? refusal_of_body(request) : refusal_of(request);
      if (!refusal) return httplib::Server::HandlerResponse::Unhandled;
      finish(clock::now(), *refusal, response, true);
      return httplib::Server::HandlerResponse::Handled;
    });
    server_->Get(".*", [this](httplib::Request const& request, httplib::Response& response) {
      auto const begin = clock::now();
      finish(begin, answer(state_, {.method = "GET", .path = request.path, .body = {}}), response);
    });
    server_->Post(".*", [this](httplib::Request const& request, httplib::Response& response,
                               httplib::ContentReader const& read) { post(request, response, read); });
    server_->set_error_handler([](httplib::Request const& request, httplib::Response& response) {
      if (response.has_header("Content-Type")) return;  // there is an answer
      int const status = response.status;
      write(error_response(status, status == 404 ? "Not found: " + request.method + " " + request.path
                                                 : "the request cannot be read"),
            response);
    });
    server_->set_exception_handler([](httplib::Request const&, httplib::Response& response, std::exception_ptr) {
      write(error_response(500, "the server has failed"), response, true);
    });
  }

  [[nodiscard]] bool is_allowed(httplib::Request const& request) const {
    return authorization_.empty() || request.path == "/v2/health/live" || request.path == "/v2/health/ready" ||
           is_same(request.get_header_value("Authorization"), authorization_);
  }
  static http_response refusal_of_token() { return error_response(401, "a bearer token is asked for"); }

  /// Of requests that have no body, and of methods that nothing answers: the library would keep their bodies, of any
  /// size, or take them for the next request.
  [[nodiscard]] std::optional<http_response> refusal_of(httplib::Request const& request) const {
    if (!is_allowed(request)) return refusal_of_token();
    if (request.method != "GET" && request.method != "HEAD")
      return error_response(404, "Not found: " + request.method + " " + request.path);
    if (request.has_header("Transfer-Encoding") ||
        (request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0"))
      return error_response(400, request.method + " has no body");
    return refusal_of_range(request);
  }
  /// Of bodies that the library cannot read.
  [[nodiscard]] static std::optional<http_response> refusal_of_body(httplib::Request const& request) {
    if (request.is_multipart_form_data()) return error_response(415, "forms are not taken: send JSON");
    return refusal_of_range(request);
  }
  /// The library would repeat an answer for each range.
  [[nodiscard]] static std::optional<http_response> refusal_of_range(httplib::Request const& request) {
    if (request.has_header("Range")) return error_response(400, "answers have no ranges");
    return std::nullopt;
  }

  void post(httplib::Request const& request, httplib::Response& response, httplib::ContentReader const& read) {
    auto const limit = clock::now() + std::chrono::milliseconds(options_.read_time_ms);
    bool const allowed = is_allowed(request);
    auto const most = allowed ? options_.max_body_bytes : 0;
    http_request given{.method = "POST", .path = request.path, .body = {}};
    std::size_t size = 0;
    bool const is_whole = read([&](char const* data, std::size_t count) {
      size += count;
      if (clock::now() > limit || (size > most && size - most > most_refused_bytes)) return false;
      if (size <= most)
        given.body.append(data, count);
      else
        given.body = {};
      return true;
    });
    auto const begin = clock::now();
    auto const reject = [&](int status, std::string const& text) {
      finish(begin, error_response(status, text), response, !is_whole);
    };
    if (!allowed) return finish(begin, refusal_of_token(), response, !is_whole);
    if (size > most)
      return reject(413, "the request is larger than " + std::to_string(options_.max_body_bytes) + " bytes");
    if (!is_whole && begin >= limit)
      return reject(408, "the request did not come in " + std::to_string(options_.read_time_ms) + " ms");
    if (!is_whole)
      return response.status == 415 ? reject(415, "the request has an encoding that is not taken")
                                    : reject(400, "the request cannot be read");
    if (auto const length = request.get_header_value(json_length_header); !length.empty()) {
      if (length.size() > 15 || length.find_first_not_of("0123456789") != std::string::npos)
        return reject(400, std::string(json_length_header) + " is no number");
      given.json_length = std::stoll(length);
    }
    finish(begin, answer(state_, given), response);
  }

  /// `closes`: the connection, since something of the request was not read, and would be taken for the next one.
  void finish(clock::time_point begin, http_response const& answered, httplib::Response& response,
              bool closes = false) {
    state_.metrics.count(answered.status, clock::now() - begin);
    write(answered, response, closes);
  }
  static void write(http_response const& answered, httplib::Response& response, bool closes = false) {
    response.status = answered.status;
    if (answered.json_length >= 0) response.set_header(json_length_header, std::to_string(answered.json_length));
    if (answered.status == 401) response.set_header("WWW-Authenticate", "Bearer");
    if (answered.status == 503) response.set_header("Retry-After", "1");
    if (!closes) return response.set_content(answered.body, answered.content_type.c_str());
    // The library closes after an answer that ends with a failure, and not otherwise.
    response.set_header("Connection", "close");
    response.set_content_provider(answered.body.size(), answered.content_type.c_str(),
                                  [body = answered.body](std::size_t, std::size_t, httplib::DataSink& sink) {
                                    sink.write(body.data(), body.size());
                                    return false;
                                  });
  }

  serve_command const& options_;
  server_state& state_;
  std::unique_ptr<httplib::Server> server_;
  std::string authorization_;
};

}  // namespace

void serve_command::run() const {
  server_state state;
  state.time = std::chrono::milliseconds(request_time_ms);
  auto const add = [&](std::string const& name, std::string const& folder) {
    if (!state.models.emplace(name, std::make_unique<served_model>(name, folder, engine)).second)
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
  own->add_option("--batch_timeout_micros", command->engine.batch_timeout_us,
                  "How long the first sample of a batch waits for others")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000000));
  own->add_option("--max_enqueued_calls", command->engine.max_enqueued_calls,
                  "Calls that may wait; one more is refused")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  own->add_option("--runtime_api_timeout_us", command->engine.runtime_api_timeout_us,
                  "How long a pipeline with samples in it waits before a dummy batch follows")
      ->capture_default_str()
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
