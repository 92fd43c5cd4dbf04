// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/http_front.hpp"

#include "serve/http/http_loop.hpp"
#include "serve/http/worker_pool.hpp"
#include "serve/token.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <algorithm>
#include <cctype>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <openssl/ssl.h>
#include <sys/resource.h>
#include <utility>

namespace stagecraft::tool {

namespace {

[[noreturn]] void refuse(std::string const& text) { throw file_error("E5096", text); }

/// Raises the limit of descriptors to the hard limit, and returns the number of connections that it allows.
std::size_t raise_descriptors(std::size_t wanted) {
  constexpr std::size_t others = 64;  // descriptors for files of models and the server's own ones
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return wanted;
  auto const given = static_cast<std::size_t>(limit.rlim_cur);
  return std::min(wanted, given > 2 * others ? given - others : given / 2);
}

/// The model in the path of a request, such as "/v1/models/name:predict"; empty if there is none.
std::string_view model_in(std::string_view path) {
  for (std::string_view const begin : {"/v1/models/", "/v2/models/"})
    if (path.starts_with(begin)) {
      path.remove_prefix(begin.size());
      return path.substr(0, path.find_first_of("/:"));
    }
  return {};
}

}  // namespace

struct http_front::tls {
  struct deleter {
    void operator()(SSL_CTX* of) const noexcept { SSL_CTX_free(of); }
  };
  std::unique_ptr<SSL_CTX, deleter> context{SSL_CTX_new(TLS_server_method())};

  /// Takes files in PEM's format. False: they cannot be read, or do not belong together.
  bool use(std::string const& certificate, std::string const& key) {
    auto* const own = context.get();
    if (own == nullptr) return false;
    SSL_CTX_set_min_proto_version(own, TLS1_2_VERSION);
    SSL_CTX_set_options(own, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(own,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    return SSL_CTX_use_certificate_chain_file(own, certificate.c_str()) == 1 &&
           SSL_CTX_use_PrivateKey_file(own, key.c_str(), SSL_FILETYPE_PEM) == 1 && SSL_CTX_check_private_key(own) == 1;
  }
};

http_front::http_front(serve_command const& options, server_state& state) : options_(options), state_(state) {
  if (options.certificate.empty() != options.key.empty()) refuse("--ssl_cert and --ssl_key go together");
  if (!options.certificate.empty()) {
    tls_ = std::make_unique<tls>();
    if (!tls_->use(options.certificate, options.key))
      refuse(options.certificate + ": is no certificate, or " + options.key + " not its key");
  }
  if (!options.token_file.empty()) token_ = read_token(options.token_file);
  rules_ = {.max_head_bytes = options.max_header_bytes,
            .max_body_bytes = options.max_body_bytes,
            .max_bytes_in_flight = options.max_bytes_in_flight,
            .read_time = std::chrono::milliseconds(options.read_time_ms),
            .bytes_in_flight = &state.bytes_in_flight,
            .refusal_of = [this](http_head const& head) { return refusal_of(head); },
            .count = [this](int status, auto time) { state_.metrics.count(status, time); }};
  loop_ = std::make_unique<http_loop>(
      http_loop_options{.read_time = rules_.read_time,
                        .idle_time = std::chrono::milliseconds(options.idle_time_ms),
                        .max_connections = raise_descriptors(options.max_connections),
                        .tls = tls_ ? tls_->context.get() : nullptr,
                        .dispatch = [this](std::unique_ptr<http_task> task) { dispatch(std::move(task)); }},
      rules_);
  auto const work = [this](std::unique_ptr<http_task> task) {
    answer_task(*task);
    loop_->finish(std::move(task));
  };
  // Requests that wait here would wait for a place in a batch if they had threads.
  callers_ =
      std::make_unique<worker_pool<http_task>>(static_cast<std::size_t>(options.num_threads),
                                               static_cast<std::size_t>(options.runtime.max_enqueued_calls), work);
  lookers_ = std::make_unique<worker_pool<http_task>>(1, std::numeric_limits<std::size_t>::max(), work);
}

http_front::~http_front() = default;

int http_front::bind() {
  int const bound = loop_->bind(options_.host, options_.rest_api_port);
  if (bound <= 0) refuse(options_.host + ":" + std::to_string(options_.rest_api_port) + " cannot be listened to");
  return bound;
}

void http_front::run() { loop_->run(); }
void http_front::stop() noexcept { loop_->stop(); }

bool http_front::is_allowed(http_head const& head) const {
  auto const path = std::string_view(head.target).substr(0, head.target.find('?'));
  bool const is_health = path == "/v2/health/live" || path == "/v2/health/ready";
  return token_.empty() || (is_health && head.method != "POST") ||  // a POST may have a large body
         is_same_token(bearer_token(head.value("authorization")), token_);
}

/// Refuses methods that have no answer and bodies that are not read, and ends the connection without waiting for the
/// rest.
std::optional<http_refusal> http_front::refusal_of(http_head const& head) const {
  auto const refuse = [](int status, std::string const& text) { return http_refusal{error_response(status, text)}; };
  bool const is_post = head.method == "POST";
  if (!is_allowed(head)) return http_refusal{error_response(401, "a bearer token is asked for"), !is_post};
  if (!is_post && head.method != "GET" && head.method != "HEAD")
    return refuse(404, "Not found: " + head.method + " " + head.target);
  if (!is_post && (head.is_chunked || head.content_length.value_or(0) > 0))
    return refuse(400, head.method + " has no body");
  if (head.has("range")) return refuse(400, "answers have no ranges");
  if (head.value("content-type").starts_with("multipart/")) return refuse(415, "forms are not taken: send JSON");
  return std::nullopt;
}

void http_front::dispatch(std::unique_ptr<http_task> task) {
  bool const is_call = task->request.method == "POST";
  auto const lane = is_call ? std::string(model_in(task->request.path)) : std::string();
  if ((is_call ? *callers_ : *lookers_).take(task, lane, state_.models.all()->size() > 1)) return;
  task->response = error_response(503, "as many requests wait as may wait");
  loop_->finish(std::move(task));
}

void http_front::answer_task(http_task& task) noexcept {
  constexpr std::size_t least_packed = 4096;  // packing a smaller answer takes longer than sending it
  try {
    auto const waited = std::chrono::steady_clock::now() - task.begin;
    if (state_.time.count() > 0 && waited > state_.time && task.request.method == "POST") {
      task.response = error_response(504, "the request has waited longer than a call may take");
      return;
    }
    if (task.encoding != body_encoding::none) {
      try {
        task.request.body = unpack_body(task.request.body, task.encoding, options_.max_body_bytes, task.counted,
                                        options_.max_bytes_in_flight);
      } catch (http_error const& why) {
        task.response = error_response(why.status, why.text);
        task.closes = true;
        return;
      }
    }
    task.response = answer(state_, std::move(task.request));
    if (!task.takes_gzip || task.response->json_length >= 0 || task.response->body.size() < least_packed) return;
    task.response->body = pack_body(task.response->body);
    task.is_packed = true;
  } catch (std::exception const&) {
    if (!task.is_packed && task.response && !task.response->body.empty()) return;  // sent unpacked
    task.response.reset();
  }
}

}  // namespace stagecraft::tool
