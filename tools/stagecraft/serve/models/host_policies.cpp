// SPDX-License-Identifier: BSD-3-Clause
#include "serve/models/host_policies.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace stagecraft::tool {

namespace {

[[noreturn]] void fail(std::string const& what, std::string const& why) {
  throw file_error("E5304", what + ": " + why);
}

int number_of(std::string_view text, std::string const& of) {
  int number = -1;
  auto const [last, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || last != text.data() + text.size() || number < 0 || number >= CPU_SETSIZE)
    fail(of, "'" + std::string(text) + "' is no number from 0 to " + std::to_string(CPU_SETSIZE - 1));
  return number;
}

/// The numbers of a list such as "0-3,8", the form of Linux.
cpu_set_t parse_list(std::string_view list, std::string const& of) {
  cpu_set_t result;
  CPU_ZERO(&result);
  while (!list.empty()) {
    auto const comma = list.find(',');
    auto const part = list.substr(0, comma);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    auto const dash = part.find('-');
    int const first = number_of(part.substr(0, dash), of);
    int const last = dash == std::string_view::npos ? first : number_of(part.substr(dash + 1), of);
    if (last < first) fail(of, "'" + std::string(part) + "' has no processor");
    for (int each = first; each <= last; ++each) CPU_SET(static_cast<std::size_t>(each), &result);
  }
  return result;
}

/// The processors on which this process may run.
cpu_set_t own_processors() {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof own, &own) != 0)
    throw std::system_error(errno, std::generic_category(), "sched_getaffinity");
  return own;
}

/// The first line of a file of the system; none if it cannot be read.
std::optional<std::string> read_line(std::string const& path) {
  std::ifstream file(path);
  std::string line;
  if (!file) return std::nullopt;
  (void)std::getline(file, line);  // a node without processors has an empty one
  return line;
}

std::string path_of_node(std::string const& system, int number) {
  return system + "/devices/system/node/node" + std::to_string(number) + "/cpulist";
}

}  // namespace

std::vector<cpu_set_t> numa_nodes(std::string const& system) {
  std::vector<cpu_set_t> result;
  auto const path = system + "/devices/system/node/online";
  auto const line = read_line(path);
  if (!line) return result;
  auto const online = parse_list(*line, path), own = own_processors();
  for (int node = 0; node < CPU_SETSIZE; ++node) {
    if (!CPU_ISSET(static_cast<std::size_t>(node), &online)) continue;
    auto const of_node = path_of_node(system, node);
    auto set = parse_list(read_line(of_node).value_or(""), of_node);
    CPU_AND(&set, &set, &own);
    if (CPU_COUNT(&set) > 0) result.push_back(set);
  }
  return result;
}

host_policies::host_policies(std::vector<std::string> const& texts, std::string const& system) {
  if (texts.empty()) return;
  auto const own = own_processors();
  for (auto const& text : texts) {
    constexpr std::string_view cores = "cpu-cores=", node = "numa-node=";
    auto const what = "--host_policy " + text;
    auto const comma = text.find(',');
    auto const rest = comma == std::string::npos ? std::string_view() : std::string_view(text).substr(comma + 1);
    if (comma == 0 || (!rest.starts_with(cores) && !rest.starts_with(node)))
      fail(what, "expected a name, and cpu-cores=0-3,8 or numa-node=0");
    cpu_set_t added;
    if (rest.starts_with(cores)) {
      added = parse_list(rest.substr(cores.size()), what);
      for (std::size_t each = 0; each < CPU_SETSIZE; ++each)
        if (CPU_ISSET(each, &added) && !CPU_ISSET(each, &own))
          fail(what, "this process may not run on processor " + std::to_string(each));
    } else {
      auto const list = read_line(path_of_node(system, number_of(rest.substr(node.size()), what)));
      if (!list) fail(what, "this machine has no such node");
      added = parse_list(*list, what);
      CPU_AND(&added, &added, &own);
    }
    if (CPU_COUNT(&added) == 0) fail(what, "it has no processor");
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
