// SPDX-License-Identifier: BSD-3-Clause
// What ranks are about to do, which they compare before they do it.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/mpi/rank_group.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::mpi {

/// Hashes of their programs, which ranks compare.
struct fingerprint {
  std::uint64_t library = 0, build = 0, architecture = 0, model = 0, job = 0;

  friend constexpr bool operator==(fingerprint const&, fingerprint const&) = default;
};

[[nodiscard]] inline std::uint64_t hash_of(std::string_view bytes, std::uint64_t hash = 14695981039346656037ULL) {
  for (char const byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  return hash;
}
/// The file of this program; 0 where the system does not show it.
[[nodiscard]] inline std::uint64_t hash_of_program() {
  static std::uint64_t const found = [] {
    std::FILE* const file = std::fopen("/proc/self/exe", "rb");
    if (file == nullptr) return std::uint64_t{0};
    std::uint64_t hash = 14695981039346656037ULL, words[4096];
    for (std::size_t count; (count = std::fread(words, 1, sizeof words, file)) > 0;)
      for (std::size_t i = 0; i < (count + 7) / 8; ++i) hash = (hash ^ words[i]) * 1099511628211ULL;
    std::fclose(file);
    return hash;
  }();
  return found;
}
template <class Type>
[[nodiscard]] std::string_view text_of() {
  return __PRETTY_FUNCTION__;
}

/// The arrays of a run that the first rank alone has, for errors; they have the numbers of a batch_loader.
[[nodiscard]] inline std::string text_of_scattered(int arrays) {
  constexpr int targets = 15, weights = 30;
  std::string text;
  for (int i = 0; i <= weights; ++i) {
    if ((arrays >> i & 1) == 0) continue;
    text.append(text.empty() ? ", scattered are " : ", ");
    if (i == weights)
      text.append("sample_weight");
    else
      text.append(i < targets ? "x[" : "y[").append(std::to_string(i % targets)).append("]");
  }
  return text;
}
/// The work that a process is about to do, for errors.
[[nodiscard]] inline std::string text_of(engine::process_round const& of) {
  using enum engine::process_round::kind;
  char text[200];
  if (of.what == begin_of_trainer)
    std::snprintf(text, sizeof text, "the construction of a trainer");
  else if (of.what == work_of_first)
    std::snprintf(text, sizeof text, "what the first rank does alone, such as reading a backup");
  else if (of.what == begin_of_fit || of.what == end_of_fit)
    std::snprintf(text, sizeof text, "the %s of fit", of.what == begin_of_fit ? "begin" : "end");
  else if (of.what == end_of_epoch)
    std::snprintf(text, sizeof text, "the end of epoch %d of %d", of.first + 1, of.of);
  else
    std::snprintf(text, sizeof text, "steps %d to %d of %d in %s, with %d batches of %d samples", of.first,
                  of.first + of.steps, of.of,
                  of.what == training     ? "fit"
                  : of.what == evaluation ? "evaluate"
                                          : "predict",
                  of.batches, of.batch_size);
  return text + text_of_scattered(of.scattered);
}

/// The message of a rank before it carries out something with the others.
struct intention {
  engine::process_round round;
  fingerprint program;
  float learning_rate = 0;
  engine::joint_decision decision;
};

/// Compares what all ranks intend to do next, and returns what the first one says. Errors: E4167 they differ, E4171
/// they are different programs.
[[nodiscard, gnu::noinline]] inline intention compare_intentions(intention const& own) {
  auto& group = rank_group::get();
  if (group.count() == 1) return own;
  rank_group::operation messages(group);
  intention first = own;
  if (!group.leads()) {
    messages.send(&own, sizeof own, 0);
    messages.receive(&first, sizeof first, 0);
    messages.wait();
    return first;
  }
  std::vector<intention> others(static_cast<std::size_t>(group.count()));
  for (int other = 1; other < group.count(); ++other)
    messages.receive(&others[static_cast<std::size_t>(other)], sizeof own, other);
  messages.wait();
  for (int other = 1; other < group.count(); ++other) {
    auto const& found = others[static_cast<std::size_t>(other)];
    if (!(found.round == own.round))
      throw_data_error("E4167", "%s: expected %s as rank 0 does, found %s", group.name(other).c_str(),
                       text_of(own.round).c_str(), text_of(found.round).c_str());
    if (found.program == own.program) continue;
    char const* const what = found.program.library != own.program.library ? "version of stagecraft"
                             : found.program.architecture != own.program.architecture
                                 ? "architecture of processors (packed weights)"
                             : found.program.model != own.program.model ? "model"
                             : found.program.job != own.program.job     ? "training or machine"
                                                                        : "program file";
    throw_data_error("E4171", "%s: expected the program of rank 0, found another %s", group.name(other).c_str(), what);
  }
  for (int other = 1; other < group.count(); ++other) messages.send(&own, sizeof own, other);
  messages.wait();
  return own;
}

}  // namespace stagecraft::mpi
