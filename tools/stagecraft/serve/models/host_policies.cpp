// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/host_policies.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>

namespace stagecraft::tool {

namespace {

[[noreturn]] void fail(std::string const& text, std::string const& why) {
  throw file_error("E5304", "--host_policy " + text + ": " + why);
}

int number_of(std::string_view text, std::string const& of) {
  int number = -1;
  auto const [last, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || last != text.data() + text.size() || number < 0 || number >= CPU_SETSIZE)
    fail(of, "'" + std::string(text) + "' is no number from 0 to " + std::to_string(CPU_SETSIZE - 1));
  return number;
}

/// Adds the processors of a list such as "0-3,8", the form of Linux.
void add_list(std::string_view list, std::string const& of, cpu_set_t const& own, cpu_set_t& to) {
  while (!list.empty()) {
    auto const comma = list.find(',');
    auto const part = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    auto const dash = part.find('-');
    int const first = number_of(part.substr(0, dash), of);
    int const last = dash == std::string_view::npos ? first : number_of(part.substr(dash + 1), of);
    if (last < first) fail(of, "'" + std::string(part) + "' has no processor");
    for (int each = first; each <= last; ++each) {
      auto const place = static_cast<std::size_t>(each);
      if (!CPU_ISSET(place, &own)) fail(of, "this process may not run on processor " + std::to_string(each));
      CPU_SET(place, &to);
    }
  }
}

}  // namespace

host_policies::host_policies(std::vector<std::string> const& texts) {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (!texts.empty() && ::sched_getaffinity(0, sizeof own, &own) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
  for (auto const& text : texts) {
    constexpr std::string_view cores = "cpu-cores=", node = "numa-node=";
    auto const comma = text.find(',');
    auto const rest = comma == std::string::npos ? std::string_view() : std::string_view(text).substr(comma + 1);
    if (comma == 0 || (!rest.starts_with(cores) && !rest.starts_with(node)))
      fail(text, "expected a name, and cpu-cores=0-3,8 or numa-node=0");
    cpu_set_t added;
    CPU_ZERO(&added);
    if (rest.starts_with(cores)) {
      add_list(rest.substr(cores.size()), text, own, added);
    } else {
      auto const number = number_of(rest.substr(node.size()), text);
      std::ifstream file("/sys/devices/system/node/node" + std::to_string(number) + "/cpulist");
      std::string list;
      if (!std::getline(file, list)) fail(text, "this machine has no such node");
      add_list(list, text, own, added);
    }
    if (CPU_COUNT(&added) == 0) fail(text, "it has no processor");
    auto const [place, is_new] = sets_.emplace(text.substr(0, comma), added);
    if (!is_new) CPU_OR(&place->second, &place->second, &added);
  }
}

cpu_set_t const* host_policies::find(std::string const& name) const noexcept {
  auto const found = sets_.find(name);
  return found == sets_.end() ? nullptr : &found->second;
}

pinned_thread::pinned_thread(cpu_set_t const* to) {
  if (to == nullptr) return;
  if (::sched_getaffinity(0, sizeof former_, &former_) != 0 || ::sched_setaffinity(0, sizeof *to, to) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_setaffinity");
  is_pinned_ = true;
}

pinned_thread::~pinned_thread() {
  if (is_pinned_) (void)::sched_setaffinity(0, sizeof former_, &former_);
}

}  // namespace stagecraft::tool
