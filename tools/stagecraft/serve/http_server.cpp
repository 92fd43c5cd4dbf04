// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http_server.hpp"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <sys/socket.h>

namespace stagecraft::tool {

namespace {

thread_local http_connection* present = nullptr;

}  // namespace

bool http_server::use_tls(std::string const& certificate, std::string const& key) {
  tls_.reset(SSL_CTX_new(TLS_server_method()));
  if (!tls_) return false;
  SSL_CTX_set_min_proto_version(tls_.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(tls_.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(tls_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return SSL_CTX_use_certificate_chain_file(tls_.get(), certificate.c_str()) == 1 &&
         SSL_CTX_use_PrivateKey_file(tls_.get(), key.c_str(), SSL_FILETYPE_PEM) == 1 &&
         SSL_CTX_check_private_key(tls_.get()) == 1;
}

void http_server::queue_connections() { ::listen(svr_sock_, SOMAXCONN); }

void http_server::note_headers() {
  if (present != nullptr) present->note_headers();
}

bool http_server::is_late() { return present != nullptr && present->is_late(); }

// Releases of the library differ in whether they are told the addresses.
template <class Connection>
bool http_server::answer_request(Connection& connection, bool is_last, bool& closes) {
  if constexpr (requires { this->process_request(connection, is_last, closes, nullptr); })
    return this->process_request(connection, is_last, closes, nullptr);
  else
    return this->process_request(connection, std::string(), 0, std::string(), 0, is_last, closes, nullptr);
}

void http_server::serve(http_connection& connection) {
  if (!connection.begin()) return;
  auto const idle = std::chrono::seconds(keep_alive_timeout_sec_);
  auto const ends = [this] { return svr_sock_ == INVALID_SOCKET; };
  for (auto left = keep_alive_max_count_; left > 0 && connection.wait_for_request(idle, ends); --left) {
    bool const is_last = left == 1 || ends();  // whoever sends one request behind the other would never let it end
    bool closes = false;
    bool goes_on = answer_request(connection, is_last, closes) && !is_last;
    if (connection.are_headers_late()) {
      auto const answer = late_();
      connection.write(answer.data(), answer.size());
      goes_on = false;
    }
    if (!connection.flush()) return;
    if (!goes_on) return connection.end();
    if (closes) return;
  }
}

bool http_server::process_and_close_socket(socket_t socket) {
  try {
    http_connection connection(socket, tls_.get(), time_);
    present = &connection;
    serve(connection);
  } catch (std::exception const& why) {
    std::fprintf(stderr, "a connection has ended: %s\n", why.what());
  }
  present = nullptr;
  return true;
}

}  // namespace stagecraft::tool
