// SPDX-License-Identifier: BSD-3-Clause
// Feeds arbitrary bytes to the exchange of a connection, as a client could send them. The first byte chooses how they
// are cut, the second the limits. Fails: answers that depend on how the bytes were cut, an answer after one that closes
// the connection or to bytes that belong to no request, text that is no answer, a body that is larger than it may be,
// bytes that count for ever. With bit 3 of the second byte, they go to the readers of examples, of JSON and of
// protobuf. Fails: another error than a client's, inputs of another size, a context that is read otherwise than an
// example.
#include "serve/examples/json_examples.hpp"
#include "serve/http/http_session.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool = stagecraft::tool;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

/// What a connection does, but for the socket.
class connection {
 public:
  connection(std::size_t most_head, std::size_t most_body, std::size_t most_in_flight) {
    rules_.max_head_bytes = most_head;
    rules_.max_body_bytes = most_body;
    rules_.max_bytes_in_flight = most_in_flight;
    rules_.read_time = std::chrono::milliseconds(1000);
    rules_.bytes_in_flight = &in_flight_;
    rules_.refusal_of = [](tool::http_head const& head) -> std::optional<tool::http_refusal> {
      if (head.method == "POST" && head.has("refused"))
        return tool::http_refusal{tool::error_response(401, "no"), false};
      if (head.method != "GET" && head.method != "POST" && head.method != "HEAD")
        return tool::http_refusal{tool::error_response(404, "no")};
      return std::nullopt;
    };
    rules_.count = [](int, std::chrono::duration<double>) {};
  }
  ~connection() {
    session_.reset();
    require(in_flight_ == 0);
  }

  /// What is answered to bytes that come in pieces.
  std::vector<std::string> say(std::string_view bytes, std::size_t piece) {
    std::vector<std::string> answers;
    while (!bytes.empty()) {
      auto const part = bytes.substr(0, piece);
      bytes.remove_prefix(part.size());
      session_->receive(part);
      go_on(answers);
    }
    session_->end_input();
    go_on(answers);
    require(session_->is_closing());
    return answers;
  }

 private:
  void go_on(std::vector<std::string>& answers) {
    for (;;) {
      if (!session_->output().empty()) {
        check_answer(session_->output());
        answers.push_back(std::exchange(session_->output(), {}));
        require(!has_closed_);
        has_closed_ = session_->is_closing();
      }
      auto task = session_->next();
      if (task) {
        auto& request = task->request;
        require(request.body.size() <= rules_.max_body_bytes && task->counted.add(0, rules_.max_bytes_in_flight));
        require(!session_->is_closing() && (request.method == "GET" || request.method == "POST"));
        require(request.method == "POST" || request.json_length >= -1);
        try {
          request.body = tool::unpack_body(request.body, task->encoding, rules_.max_body_bytes, task->counted,
                                           rules_.max_bytes_in_flight);
          require(request.body.size() <= rules_.max_body_bytes);
          task->response = tool::http_response{.body = request.method + " " + request.path + "\n" + request.body};
        } catch (tool::http_error const& why) {
          task->response = tool::error_response(why.status, why.text);
          task->closes = true;
        }
        session_->answer(std::move(task));
      } else if (session_->output().empty()) {
        return;
      }
    }
  }

  /// One answer, whole, that says whether it is the last one; one to HEAD has no body.
  void check_answer(std::string_view answer) {
    require(answer.starts_with("HTTP/1.1 "));
    auto const end = answer.find("\r\n\r\n");
    require(end != std::string_view::npos);
    auto const head = answer.substr(0, end + 2);
    auto const body = answer.substr(end + 4);
    if (head.starts_with("HTTP/1.1 100 ")) return require(body.empty());
    constexpr std::string_view name = "\r\nContent-Length: ";
    auto const at = head.find(name);
    require(at != std::string_view::npos);
    require(body.empty() || body.size() == std::strtoull(head.data() + at + name.size(), nullptr, 10));
    require((head.find("\r\nConnection: close\r\n") != std::string_view::npos) == session_->is_closing());
    for (char const* unsure : {" 408 ", " 414 ", " 417 ", " 431 ", " 505 "})
      require(!head.substr(8).starts_with(unsure) || session_->is_closing());
    for (char const* unsure :
         {"cannot be read", "Content-Length", "Transfer-Encoding", "twice", "Host", "line", "control"})
      require(!head.starts_with("HTTP/1.1 400 ") || body.find(unsure) == std::string_view::npos ||
              session_->is_closing() || body.find("Inference-Header") != std::string_view::npos);
  }

  bool has_closed_ = false;
  std::atomic<std::size_t> in_flight_ = 0;
  tool::http_rules rules_;
  std::optional<tool::http_session> session_{rules_};
};

/// The inputs that `read` makes of a model with two inputs, the second one of bytes; none if it refuses the bytes.
template <class Read>
std::optional<std::vector<std::vector<float>>> inputs_of(Read const& read) {
  using kind = tool::bound_feature::kind;
  static stagecraft::serving::servable_description const known{
      .name = "known", .inputs = {{"x", {4}}, {.name = "t", .shape = {8}, .is_bytes = true}}, .outputs = {{"y", {3}}}};
  static tool::bound_signature const signature{
      .classifies = true,
      .classes = 3,
      .features = {{.name = "a", .size = 3, .shape = {3}},
                   {.name = "b", .type = kind::integers, .first = 3, .size = 1, .default_value = {7}},
                   {.name = "t", .type = kind::bytes, .input = 1, .size = 8, .default_value = std::vector<float>(8)}}};
  constexpr std::size_t most = 100000;
  std::atomic<std::size_t> in_flight = 0;
  std::optional<std::vector<std::vector<float>>> result;
  {
    tool::counted_bytes counted(in_flight);
    tool::example_inputs examples(signature, known, counted, most);
    try {
      read(examples);
      require(examples.samples > 0 && in_flight <= most);
      for (std::size_t i = 0; i < known.inputs.size(); ++i)
        require(std::ssize(examples.inputs[i]) == examples.samples * known.inputs[i].size());
      result = std::move(examples.inputs);
    } catch (tool::http_error const& why) {
      require(why.status == 400 || why.status == 413);
    }
  }
  require(in_flight == 0);
  return result;
}

bool same_bits(std::vector<float> const& one, std::vector<float> const& other) {
  return one.size() == other.size() && (one.empty() || std::memcmp(one.data(), other.data(), one.size() * 4) == 0);
}

void read_examples(std::string_view text) {
  for (bool const is_serialized : {false, true})
    (void)inputs_of([&](tool::example_inputs& to) {
      tool::json_reader::read_all(text, [&](tool::json_reader& reader) {
        tool::request_keys keys;
        keys.read(reader);
        if (is_serialized)
          (void)tool::read_serialized_examples(reader, keys, to);
        else
          tool::read_examples(reader, keys, to);
      });
    });
  auto const example = inputs_of([&](tool::example_inputs& to) { to.read(text); });
  auto const context = inputs_of([&](tool::example_inputs& to) {
    to.read_context(text);
    to.read("");
  });
  require(example.has_value() == context.has_value());
  for (std::size_t i = 0; example && i < example->size(); ++i) require(same_bits((*example)[i], (*context)[i]));
}

bool mentions(std::vector<std::string> const& answers, std::string_view text) {
  return std::any_of(answers.begin(), answers.end(),
                     [&](std::string const& each) { return each.find(text) != std::string::npos; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* bytes, std::size_t size) {
  if (size < 2) return 0;
  std::string_view const text(reinterpret_cast<char const*>(bytes) + 2, size - 2);
  if ((bytes[1] & 8) != 0) {
    read_examples(text);
    return 0;
  }
  std::size_t const piece = 1 + bytes[0] % 64;
  std::size_t const most_head = (bytes[1] & 1) != 0 ? 300 : 2000, most_body = (bytes[1] & 2) != 0 ? 20 : 100000;
  std::size_t const most_in_flight = (bytes[1] & 4) != 0 ? 30 : 1000000;
  auto const whole = connection(most_head, most_body, most_in_flight).say(text, text.size());
  auto const cut = connection(most_head, most_body, most_in_flight).say(text, piece);
  // A client that expects 100 hears nothing of it if its body is there already, and a chunk's line counts if it is cut.
  if (text.find("100") == std::string_view::npos && !mentions(cut, "said of a chunk is too long"))
    require(cut == whole);
  return 0;
}
