// SPDX-License-Identifier: BSD-3-Clause
#include "launch/launch_command.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/serving/detail/export_folder.hpp>
#include <stagecraft/threads/progress.hpp>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sched.h>
#include <set>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace stagecraft::tool {

namespace {

namespace fs = std::filesystem;

constexpr int most_ranks = 4096;  // of a cluster (E2100)

enum class launcher { open_mpi, hydra };

/// Says which launcher this is, as their options differ.
launcher launcher_of(std::string const& mpirun) {
  std::string said;
  int const code = io::run_program({mpirun, "--version"}, said);
  if (code < 0)
    throw file_error("E2124", mpirun + ": expected the mpirun of Open MPI or MPICH, found that it cannot be started: " +
                                  said + "; Debian's packages are openmpi-bin and mpich");
  if (said.find("Open MPI") != std::string::npos || said.find("OpenRTE") != std::string::npos)
    return launcher::open_mpi;
  if (said.find("HYDRA") != std::string::npos) return launcher::hydra;
  throw file_error("E2124", mpirun + ": expected the mpirun of Open MPI or MPICH, found one whose --version says '" +
                                said.substr(0, std::min<std::size_t>(said.find('\n'), 200)) + "'");
}

/// The path of the program on all hosts.
std::string path_of(std::string const& program) {
  auto const is_program = [](std::string const& path) {
    std::error_code none;
    return fs::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
  };
  auto const absolute = [](fs::path const& path) {
    auto const whole = fs::absolute(path);
    return (fs::canonical(whole.parent_path()) / whole.filename()).string();
  };
  if (program.find('/') == std::string::npos) {
    char const* const folders = std::getenv("PATH");
    for (auto const& folder : CLI::detail::split(folders != nullptr ? folders : "", ':'))
      if (auto const path = fs::path(folder.empty() ? "." : folder) / program; is_program(path)) return absolute(path);
    throw file_error("E2126", program +
                                  ": expected a program in a folder of PATH, found none; a program of this folder " +
                                  "is ./" + program);
  }
  std::error_code none;
  if (!fs::exists(program, none)) throw file_error("E2126", program + ": expected a program, found no such file");
  if (!is_program(program))
    throw file_error("E2126", program + ": expected a program, found a file that may not be executed");
  return absolute(program);
}

/// True if a resource manager has given hosts to this process, which mpirun then finds by itself.
bool has_allocation() {
  for (char const* name : {"SLURM_JOB_ID", "PBS_NODEFILE", "LSB_HOSTS", "LSB_DJOB_HOSTFILE", "PE_HOSTFILE"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

/// The processors that this process may use, or their cores.
int processors_here(bool counts_cores) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::max(1, threads::processors_of_process());
  std::set<std::string> cores;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (!CPU_ISSET(i, &allowed)) continue;
    auto const own = std::to_string(i);
    std::ifstream siblings("/sys/devices/system/cpu/cpu" + own + "/topology/thread_siblings_list");
    std::string text;
    cores.insert(counts_cores && std::getline(siblings, text) ? text : own + " alone");
  }
  return std::max(1, static_cast<int>(cores.size()));
}

bool is_this_host(std::string const& name) {
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  return name == "localhost" || name == "127.0.0.1" || name == own;
}

/// Options for so many ranks of hosts, which are not bound.
std::vector<std::string> options_of_hosts(launcher of, std::vector<launch_host> const& hosts) {
  std::string list;
  for (auto const& [name, slots] : hosts) list += (list.empty() ? "" : ",") + name + ":" + std::to_string(slots);
  return {of == launcher::open_mpi ? "--host" : "-hosts", list};
}

std::vector<std::string> options_of_binding(launcher of, std::string const& bind, int threads) {
  bool const counts = bind == "core" || bind == "hwthread";
  if (of == launcher::hydra) return {"-bind-to", counts ? bind + ":" + std::to_string(threads) : bind};
  std::vector<std::string> options;
  if (bind == "hwthread") options.emplace_back("--use-hwthread-cpus");
  options.insert(options.end(),
                 {"--map-by", counts ? "slot:PE=" + std::to_string(threads) : "slot", "--bind-to", bind});
  return options;
}

bool is_name_of_variable(std::string_view name) {
  auto const is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Hydra passes the whole environment on by itself.
void add_variable(std::vector<std::string>& words, launcher of, std::string const& variable) {
  auto const end = variable.find('=');
  auto const name = variable.substr(0, end);
  if (!is_name_of_variable(name))
    throw file_error("E2129", "--env: expected NAME or NAME=VALUE, found '" + variable + "'");
  if (end == std::string::npos && std::getenv(name.c_str()) == nullptr)
    throw file_error("E2129",
                     "--env: expected a variable of this environment, found none with the name '" + name + "'");
  if (of == launcher::open_mpi)
    words.insert(words.end(), {"-x", variable});
  else if (end != std::string::npos)
    words.insert(words.end(), {"-genv", name, variable.substr(end + 1)});
}

/// The hashes in the output of sha256sum, one for each process. A line may begin with what the launcher says of the
/// rank, and with a backslash before a name that is escaped.
std::vector<std::string> hashes_in(std::string const& output) {
  constexpr std::size_t digits = 64;
  constexpr char const* digit = "0123456789abcdef";
  std::vector<std::string> hashes;
  for (auto const& line : CLI::detail::split(output, '\n'))
    for (auto at = line.find_first_of(digit); at != std::string::npos;) {
      auto const end = std::min(line.find_first_not_of(digit, at), line.size());
      if (end - at == digits && end < line.size() && line[end] == ' ') {
        hashes.push_back(line.substr(at, digits));
        break;
      }
      at = line.find_first_of(digit, end);
    }
  return hashes;
}

/// Compares the program's files on all hosts: all of them in one run, and each by itself if that finds a difference.
class build_check {
 public:
  build_check(launch_command const& command, launcher of, std::string const& path)
      : command_(command), launcher_(of), path_(path) {}

  void run(std::vector<launch_host> const& hosts) const {
    std::string said;
    if (io::run_program({"sha256sum", path_}, said) != 0 || hashes_in(said).size() != 1)
      throw file_error("E2128", path_ + ": expected sha256sum to read it, found: " + said);
    auto const own = hashes_in(said)[0];
    if (problem_on(hosts, own).empty()) return;
    for (auto const& host : hosts)
      if (auto const problem = problem_on({host}, own); !problem.empty())
        throw file_error("E2128", "host " + host.name + ": expected the build of " + path_ + " that is here (sha256 " +
                                      own.substr(0, 16) + "), found " + problem);
    throw file_error("E2128", "the hosts: expected the build of " + path_ + " that is here (sha256 " +
                                  own.substr(0, 16) + "), found " + problem_on(hosts, own));
  }

 private:
  [[nodiscard]] std::string problem_on(std::vector<launch_host> hosts, std::string const& own) const {
    for (auto& host : hosts) host.slots = 1;
    std::vector<std::string> words{command_.mpirun, "-n", std::to_string(hosts.size())};
    auto const add = [&](std::vector<std::string> const& more) { words.insert(words.end(), more.begin(), more.end()); };
    add(options_of_hosts(launcher_, hosts));
    add(options_of_binding(launcher_, "none", 1));
    add(command_.flags);
    add({"sha256sum", path_});
    std::string said;
    int const code = io::run_program(words, said);
    auto const hashes = hashes_in(said);
    for (auto const& hash : hashes)
      if (hash != own) return "another one (sha256 " + hash.substr(0, 16) + ")";
    if (code == 0 && hashes.size() == hosts.size()) return {};
    return "none that can be read: " + said.substr(0, 1000);
  }

  launch_command const& command_;
  launcher launcher_;
  std::string const& path_;
};

/// The words as a shell takes them.
std::string shell_text(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& word : words) {
    if (!text.empty()) text += ' ';
    bool const is_plain = !word.empty() && word.find_first_not_of(
                                               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                               "0123456789_-+=.,:/@%") == std::string::npos;
    if (is_plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (char const c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

/// A host's name goes to mpirun, and from there to ssh: it is neither an option nor anything that a shell reads.
bool is_host_name(std::string_view name) {
  auto const is_alphanumeric = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  constexpr std::size_t longest = 253;
  return !name.empty() && name.size() <= longest && is_alphanumeric(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_'; });
}

}  // namespace

std::vector<launch_host> read_hosts(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code none;
  if (!file || fs::is_directory(path, none))
    throw file_error("E5001", path + ": expected a readable file, found: " +
                                  std::strerror(fs::is_directory(path, none) ? EISDIR : errno));
  std::vector<launch_host> hosts;
  std::vector<int> lines;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    auto const refuse = [&](std::string const& found) {
      throw file_error("E2125", path + ":" + std::to_string(number) +
                                    ": expected NAME, NAME:SLOTS or NAME slots=SLOTS, found " + found);
    };
    line.erase(std::min(line.find('#'), line.size()));
    std::vector<std::string> words;
    for (auto const& word : CLI::detail::split(line, ' '))
      for (auto const& part : CLI::detail::split(word, '\t'))
        if (!part.empty() && part != "\r") words.push_back(part.substr(0, part.find_last_not_of('\r') + 1));
    if (words.empty()) continue;
    std::string slots = "1";
    auto& name = words[0];
    if (auto const colon = name.find(':'); colon != std::string::npos && words.size() == 1) {
      slots = name.substr(colon + 1);
      name.erase(colon);
    } else if (words.size() == 2 && words[1].starts_with("slots=")) {
      slots = words[1].substr(std::strlen("slots="));
    } else if (words.size() > 1) {
      refuse("'" + words[words[1].starts_with("slots=") ? 2 : 1] + "'");
    }
    if (!is_host_name(name))
      refuse("the name '" + name.substr(0, 300) + "', which has more than letters, digits, '.', '-' and '_'");
    int count = 0;
    auto const [end, problem] = std::from_chars(slots.data(), slots.data() + slots.size(), count);
    if (problem != std::errc() || end != slots.data() + slots.size() || count < 1 || count > most_ranks)
      refuse("'" + slots.substr(0, 300) + "' slots, which are 1 to " + std::to_string(most_ranks));
    for (std::size_t i = 0; i < hosts.size(); ++i)
      if (hosts[i].name == name) refuse("'" + name + "' again, as in line " + std::to_string(lines[i]));
    hosts.push_back({name, count});
    lines.push_back(number);
  }
  if (hosts.empty()) throw file_error("E2125", path + ": expected a host in a line, found none");
  return hosts;
}

void launch_command::run() const {
  auto const path = path_of(program);
  if (std::find(arguments.begin(), arguments.end(), ":") != arguments.end())
    throw file_error("E2126",
                     program + ": expected arguments that mpirun passes on, found ':', which begins another program");
  auto hosts_of_run = hosts.empty() ? std::vector<launch_host>() : read_hosts(hosts);
  auto const bound_to = !bind.empty() ? bind : oversubscribe ? "none" : "core";
  if (hosts.empty() && !has_allocation())
    hosts_of_run.push_back({"localhost", std::max(1, processors_here(bound_to != "hwthread") / threads)});
  long long slots = 0;
  for (auto const& host : hosts_of_run) slots += host.slots;
  if (!hosts_of_run.empty() && ranks > slots && !oversubscribe)
    throw file_error("E2127", (hosts.empty() ? "this host" : hosts) + ": expected slots for " + std::to_string(ranks) +
                                  " ranks" +
                                  (hosts.empty() && threads > 1 ? " of " + std::to_string(threads) + " threads" : "") +
                                  ", found " + std::to_string(slots) + "; --oversubscribe lets ranks share processors");

  auto const of = launcher_of(mpirun);
  std::vector<std::string> words{mpirun, "-n", std::to_string(ranks)};
  auto const add = [&](std::vector<std::string> const& more) { words.insert(words.end(), more.begin(), more.end()); };
  if (!hosts_of_run.empty()) add(options_of_hosts(of, hosts_of_run));
  add(options_of_binding(of, bound_to, threads));
  if (oversubscribe && of == launcher::open_mpi) add({"--oversubscribe"});  // Hydra asks for nothing
  for (auto const& variable : variables) add_variable(words, of, variable);
  add(flags);
  add({path});
  add(arguments);
  if (dry_run) {
    std::printf("%s\n", shell_text(words).c_str());
    return;
  }
  if (checks && std::any_of(hosts_of_run.begin(), hosts_of_run.end(),
                            [](launch_host const& host) { return !is_this_host(host.name); }))
    build_check(*this, of, path).run(hosts_of_run);
  std::fflush(nullptr);
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  throw file_error("E2124", mpirun + ": expected a launcher of MPI, found: " + std::strerror(errno));
}

std::vector<std::string> take_program_arguments(int& count, char** words) {
  if (count < 2 || std::string_view(words[1]) != "launch") return {};
  char** const end = words + count;
  auto const is_in_brackets = [](std::string_view word) { return word.starts_with('[') && word.ends_with(']'); };
  char** const mark = std::find_if(
      words, end, [&](char const* word) { return std::string_view(word) == "--" || is_in_brackets(word); });
  count = static_cast<int>(mark - words);
  return {mark == end || is_in_brackets(*mark) ? mark : mark + 1, end};
}

void add_launch_command(CLI::App& app, std::vector<std::string> const& program_arguments) {
  auto const command = std::make_shared<launch_command>();
  auto* const own = app.add_subcommand("launch", "Starts a program on the ranks of MPI, by mpirun");
  own->add_option("-n,--ranks", command->ranks, "Processes")->required()->check(CLI::Range(1, most_ranks));
  own->add_option("program", command->program, "The program: a path, or a name that is searched for in PATH")
      ->required();
  own->add_option("arguments", command->arguments, "The program's arguments; after -- if they begin with - or [");
  own->add_option("--hosts", command->hosts,
                  "A file with a host in each line: NAME, NAME:SLOTS or NAME slots=SLOTS; default: this host, or those "
                  "of the resource manager");
  own->add_option("--threads", command->threads, "Threads of a rank, which are bound to as many cores")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  auto* const bind = own->add_option("--bind", command->bind, "What ranks are bound to: core, hwthread, numa or none")
                         ->check(CLI::IsMember({"core", "hwthread", "numa", "none"}));
  own->add_flag("--oversubscribe", command->oversubscribe, "More ranks than slots, which are not bound")
      ->excludes(bind);
  own->add_option("--env", command->variables,
                  "A variable of the ranks' environment, NAME or NAME=VALUE; several times")
      ->take_all()
      ->allow_extra_args(false);
  own->add_option("--flag", command->flags, "One more word for mpirun, as --flag=--tag-output; several times")
      ->take_all()
      ->allow_extra_args(false);
  own->add_option("--mpirun", command->mpirun, "The launcher of Open MPI or MPICH")->capture_default_str();
  own->add_flag("!--no-check", command->checks, "Does not compare the program's files on the hosts");
  own->add_flag("--dry-run", command->dry_run, "Prints the command line, and starts nothing");
  own->callback([command, program_arguments] {
    command->arguments.insert(command->arguments.end(), program_arguments.begin(), program_arguments.end());
    command->run();
  });
}

}  // namespace stagecraft::tool
