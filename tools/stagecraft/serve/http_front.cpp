// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http_front.hpp"

#include "serve/counted_bytes.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

namespace stagecraft::tool {

namespace {

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

http_response refusal_of_token() { return error_response(401, "a bearer token is asked for"); }

/// The library would repeat an answer for each range.
std::optional<http_response> refusal_of_range(httplib::Request const& request) {
  if (request.has_header("Range")) return error_response(400, "answers have no ranges");
  return std::nullopt;
}
/// Of bodies that the library cannot read.
std::optional<http_response> refusal_of_body(httplib::Request const& request) {
  if (request.is_multipart_form_data()) return error_response(415, "forms are not taken: send JSON");
  return refusal_of_range(request);
}

void write(http_response const& answered, httplib::Response& response, bool closes = false) {
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

}  // namespace

http_front::http_front(serve_command const& options, server_state& state)
    : options_(options),
      state_(state),
      server_(std::chrono::milliseconds(options.read_time_ms), [this] { return answer_to_late_headers(); }) {
  if (options.certificate.empty() != options.key.empty()) refuse("--ssl_cert and --ssl_key go together");
  if (!options.certificate.empty() && !server_.use_tls(options.certificate, options.key))
    refuse(options.certificate + ": is no certificate, or " + options.key + " not its key");
  if (!options.token_file.empty()) authorization_ = "Bearer " + read_token(options.token_file);
  set_up();
}

int http_front::bind() {
  int const port = options_.rest_api_port;
  int const bound = port == 0                                   ? server_.bind_to_any_port(options_.host)
                    : server_.bind_to_port(options_.host, port) ? port
                                                                : -1;
  if (bound <= 0) refuse(options_.host + ":" + std::to_string(port) + " cannot be listened to");
  server_.queue_connections();
  return bound;
}

void http_front::set_up() {
  auto const threads = static_cast<std::size_t>(options_.num_threads);
  server_.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
  server_.set_tcp_nodelay(true);
  // `post` counts: the library would read a body to its end before it refuses it.
  server_.set_payload_max_length(std::numeric_limits<std::size_t>::max());
  server_.set_keep_alive_max_count(1000000);
  server_.set_keep_alive_timeout(5);
  server_.set_pre_routing_handler([this](httplib::Request const& request, httplib::Response& response) {
    http_server::note_headers();
    auto const refusal = request.method == "POST" ? refusal_of_body(request) : refusal_of(request);
    if (!refusal) return httplib::Server::HandlerResponse::Unhandled;
    finish(clock::now(), *refusal, response, true);
    return httplib::Server::HandlerResponse::Handled;
  });
  server_.Get(".*", [this](httplib::Request const& request, httplib::Response& response) {
    auto const begin = clock::now();
    finish(begin, answer(state_, {.method = "GET", .path = request.path, .body = {}}), response);
  });
  server_.Post(".*", [this](httplib::Request const& request, httplib::Response& response,
                            httplib::ContentReader const& read) { post(request, response, read); });
  server_.set_error_handler([](httplib::Request const& request, httplib::Response& response) {
    if (response.has_header("Content-Type")) return;  // there is an answer
    int const status = response.status;
    write(error_response(status, status == 404 ? "Not found: " + request.method + " " + request.path
                                               : "the request cannot be read"),
          response);
  });
  server_.set_exception_handler([](httplib::Request const&, httplib::Response& response, std::exception_ptr) {
    write(error_response(500, "the server has failed"), response, true);
  });
}

bool http_front::is_allowed(httplib::Request const& request) const {
  bool const is_health = request.path == "/v2/health/live" || request.path == "/v2/health/ready";
  return authorization_.empty() || (is_health && request.method != "POST") ||  // which may have a large body
         is_same(request.get_header_value("Authorization"), authorization_);
}

/// Of requests that have no body, and of methods that nothing answers: the library would keep their bodies, of any
/// size, or take them for the next request.
std::optional<http_response> http_front::refusal_of(httplib::Request const& request) const {
  if (!is_allowed(request)) return refusal_of_token();
  if (request.method != "GET" && request.method != "HEAD")
    return error_response(404, "Not found: " + request.method + " " + request.path);
  if (request.has_header("Transfer-Encoding") ||
      (request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0"))
    return error_response(400, request.method + " has no body");
  return refusal_of_range(request);
}

http_response http_front::refusal_of_time() const {
  return error_response(408, "the request did not come in " + std::to_string(options_.read_time_ms) + " ms");
}
std::string http_front::answer_to_late_headers() {
  auto const answer = refusal_of_time();
  state_.metrics.count(answer.status, std::chrono::milliseconds(options_.read_time_ms));
  return "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: " + answer.content_type +
         "\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" + answer.body;
}

void http_front::post(httplib::Request const& request, httplib::Response& response,
                      httplib::ContentReader const& read) {
  bool const allowed = is_allowed(request);
  auto most = allowed ? options_.max_body_bytes : 0;
  if (request.get_header_value<std::uint64_t>("Content-Length") > most) most = 0;  // nothing of it is kept
  http_request given{.method = "POST", .path = request.path, .body = {}};
  counted_bytes counted(state_.bytes_in_flight);
  std::size_t size = 0, refused = 0;
  bool is_crowded = false;
  bool const is_whole = read([&](char const* data, std::size_t count) {
    size += count;
    if (size > most || is_crowded || !counted.add(count, options_.max_bytes_in_flight)) {
      is_crowded = is_crowded || size <= most;
      std::string().swap(given.body);
      counted.clear();
      refused += count;
      return refused <= most_refused_bytes;
    }
    given.body.append(data, count);
    return true;
  });
  auto const begin = clock::now();
  auto const reject = [&](int status, std::string const& text) {
    finish(begin, error_response(status, text), response, !is_whole);
  };
  if (!allowed) return finish(begin, refusal_of_token(), response, !is_whole);
  if (size > most)
    return reject(413, "the request is larger than " + std::to_string(options_.max_body_bytes) + " bytes");
  if (is_crowded)
    return reject(503, "the requests that are there have " + std::to_string(options_.max_bytes_in_flight) +
                           " bytes, as many as they may have");
  if (!is_whole && http_server::is_late()) return finish(begin, refusal_of_time(), response, true);
  if (!is_whole)
    return response.status == 415 ? reject(415, "the request has an encoding that is not taken")
                                  : reject(400, "the request cannot be read");
  if (auto const length = request.get_header_value(json_length_header); !length.empty()) {
    if (length.size() > 15 || length.find_first_not_of("0123456789") != std::string::npos)
      return reject(400, std::string(json_length_header) + " is no number");
    given.json_length = std::stoll(length);
  }
  given.counted = &counted;
  finish(begin, answer(state_, std::move(given)), response);
}

/// `closes`: the connection, since something of the request was not read, and would be taken for the next one.
void http_front::finish(clock::time_point begin, http_response const& answered, httplib::Response& response,
                        bool closes) {
  state_.metrics.count(answered.status, clock::now() - begin);
  write(answered, response, closes);
}

}  // namespace stagecraft::tool
