// SPDX-License-Identifier: BSD-3-Clause
// `stagecraft launch`: starts a program on ranks by the mpirun of Open MPI or MPICH, whose options differ. Counterpart:
// Graphcore's poprun, which also passes on to mpirun.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stagecraft::tool {

/// A host and the number of ranks that it takes.
struct launch_host {
  std::string name;
  int slots = 1;
};

/// The hosts of a file: one in each line, `NAME`, `NAME:SLOTS` or `NAME slots=SLOTS`; `#` begins a comment. Throws
/// file_error E5001 for a file that cannot be read, E2125 with the line for anything else.
[[nodiscard]] std::vector<launch_host> read_hosts(std::string const& path);

struct launch_command {
  int ranks = 1;                       ///< processes
  std::string program;                 ///< a path, or a name that is searched for in PATH
  std::vector<std::string> arguments;  ///< the program's
  std::string hosts;                   ///< a file; empty: this host, or those of a resource manager's allocation
  int threads = 1;                     ///< threads of a rank: so many cores are its own
  std::string bind;                    ///< "core", "hwthread", "numa" or "none"; empty: core, or none if oversubscribed
  bool oversubscribe = false;          ///< true: more ranks than slots
  std::vector<std::string> variables;  ///< NAME, or NAME=VALUE, of the ranks' environment
  std::vector<std::string> flags;      ///< further options of mpirun, one word each
  std::string mpirun = "mpirun";       ///< the launcher
  bool checks = true;                  ///< false: the hosts' files of the program are not compared
  bool dry_run = false;                ///< true: prints the command line alone

  /// Becomes mpirun, whose exit code is the program's. Throws file_error E2124 for a launcher that is missing or
  /// unknown, E2125, E2126 for a program that cannot be started, E2127 for more ranks than slots, E2128 for a host with
  /// another build, E2129 for a variable of the environment, E5001.
  void run() const;
};

/// The words after `--` of a launch, or from the first one in brackets on, which are no longer counted then: CLI11
/// takes words in brackets apart.
[[nodiscard]] std::vector<std::string> take_program_arguments(int& count, char** words);
/// Adds the command to the program. `program_arguments` come after those that the command line has.
void add_launch_command(CLI::App& app, std::vector<std::string> const& program_arguments);

}  // namespace stagecraft::tool
