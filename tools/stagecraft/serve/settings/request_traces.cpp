// SPDX-License-Identifier: BSD-3-Clause
#include "serve/settings/request_traces.hpp"

#include "serve/http/http_message.hpp"
#include "serve/tensor_json.hpp"

#include <charconv>
#include <utility>

namespace stagecraft::tool {

namespace {

constexpr std::pair<char const*, char const*> defaults[]{
    {"trace_level", "OFF"}, {"trace_rate", "1000"}, {"trace_count", "-1"}, {"log_frequency", "0"}};

/// The number in the value of a setting; `least`: the least that it may be.
std::int64_t number_of(std::string const& name, std::string const& text, std::int64_t least) {
  std::int64_t number = 0;
  auto const* const end = text.data() + text.size();
  auto const [last, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || last != end || number < least)
    throw http_error{
        400, "trace setting '" + name + "' is '" + text + "', expected a number from " + std::to_string(least) + " on"};
  return number;
}

std::int64_t nanoseconds(request_traces::clock::time_point of) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(of.time_since_epoch()).count();
}

}  // namespace

request_traces::~request_traces() { close(); }

std::string request_traces::value_of(std::string const& model, std::string const& name) const {
  for (auto const& each : {model, std::string()})
    if (auto const own = models_.find(each); own != models_.end())
      if (auto const found = own->second.told.find(name); found != own->second.told.end()) return found->second;
  for (auto const& [known, value] : defaults)
    if (name == known) return value;
  return {};
}

trace_values request_traces::values(std::string const& model) const {
  std::scoped_lock const lock(mutex_);
  trace_values result{{"trace_file", {path_}}, {"trace_mode", {"triton"}}};
  for (auto const& [name, value] : defaults) result[name] = {value_of(model, name)};
  return result;
}

void request_traces::change(std::string const& model, trace_values const& to) {
  std::map<std::string, std::string> next;
  for (auto const& [name, values] : to) {
    if (name == "trace_file") throw http_error{400, "trace file location can not be updated through network protocol"};
    bool is_known = false;
    for (auto const& [known, value] : defaults) is_known = is_known || name == known;
    if (!is_known) throw http_error{400, "unknown trace setting '" + name + "'"};
    if (name == "trace_level") {
      for (auto const& each : values) {
        if (each == "OFF" && values.size() > 1) throw http_error{400, "Expect only one trace level 'OFF' is specified"};
        if (each != "OFF" && each != "TIMESTAMPS")
          throw http_error{400, "trace level '" + each + "' is not here: OFF and TIMESTAMPS are"};
        if (each != "OFF" && path_.empty())
          throw http_error{400, "trace file is not set: the server was begun without --trace_file"};
      }
    } else if (values.size() > 1) {
      throw http_error{400, "trace setting '" + name + "' has several values"};
    } else if (!values.empty()) {
      (void)number_of(name, values[0], name == "trace_count" ? -1 : name == "trace_rate" ? 1 : 0);
    }
    next[name] = values.empty() ? "" : values[0];
  }
  std::scoped_lock const lock(mutex_);
  auto& own = models_[model];
  for (auto const& [name, value] : next)
    if (value.empty())
      own.told.erase(name);
    else
      own.told[name] = value;
  own.calls = own.traced = 0;
  bool is_on = false;
  for (auto const& [name, each] : models_) is_on = is_on || value_of(name, "trace_level") != "OFF";
  is_on_ = is_on;
}

std::uint64_t request_traces::begin(std::string const& model) noexcept {
  if (!is_on_.load(std::memory_order_relaxed)) return 0;
  try {
    std::scoped_lock const lock(mutex_);
    if (value_of(model, "trace_level") == "OFF") return 0;
    auto& own = models_[models_.contains(model) ? model : std::string()];
    auto const rate = number_of("", value_of(model, "trace_rate"), 1);
    auto const most = number_of("", value_of(model, "trace_count"), -1);
    if (++own.calls % rate != 0 || (most >= 0 && own.traced >= most)) return 0;
    ++own.traced;
    return ++last_id_;
  } catch (...) {  // there is no memory for a trace
    return 0;
  }
}

void request_traces::end(std::uint64_t id, std::string const& model, std::int64_t version, std::string_view parent,
                         clock::time_point begin, clock::time_point end) noexcept {
  try {
    std::string name;
    write_text(model, name);
    std::scoped_lock const lock(mutex_);
    auto const most = number_of("", value_of("", "log_frequency"), 0);
    // As Triton's files are named: the first ones, if there are several, have a number.
    if (file_ == nullptr) {
      auto const path = most == 0 ? path_ : path_ + "." + std::to_string(files_);
      file_ = std::fopen(path.c_str(), "w");
      if (file_ == nullptr) return;
      in_file_ = 0;
    }
    auto const number = std::to_string(id);
    auto const text = std::string(in_file_ == 0 ? "[" : ",\n") + "{\"id\": " + number + ", \"model_name\": " + name +
                      ", \"model_version\": " + std::to_string(version) +
                      (parent.empty() ? "" : ", \"traceparent\": \"" + std::string(parent) + "\"") +
                      "},\n{\"id\": " + number +
                      ", \"timestamps\": [{\"name\": \"REQUEST_START\", \"ns\": " + std::to_string(nanoseconds(begin)) +
                      "}, {\"name\": \"REQUEST_END\", \"ns\": " + std::to_string(nanoseconds(end)) + "}]}";
    (void)std::fwrite(text.data(), 1, text.size(), file_);
    if (++in_file_ < most || most == 0) return;
    ++files_;
    close();
  } catch (...) {  // there is no memory for the trace
  }
}

void request_traces::close() noexcept {
  if (file_ == nullptr) return;
  (void)std::fputs("]\n", file_);
  (void)std::fclose(std::exchange(file_, nullptr));
}

}  // namespace stagecraft::tool
