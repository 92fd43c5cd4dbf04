// SPDX-License-Identifier: BSD-3-Clause
// This process among the ranks of MPI: its start and end, and waits that end with an error when another rank has
// failed, has ended, or does not come.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
// MPI's interface for C alone: the one for C++ has left the standard.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>
#include <string>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace stagecraft::mpi {

/// All ranks of the program. There is one for each process, which begins MPI when it is first asked for, unless the
/// program has begun it; a process that no launcher of MPI has started is the only rank, without MPI. The thread that
/// trains makes all calls. At the end of the program the ranks wait for each other, and MPI ends; after a failure, all
/// ranks are ended, with a code that is not 0.
///
/// Errors: E4166 another rank has failed, E4167 another rank has ended, E4168 another rank does not come in time, E4170
/// MPI allows no calls of this thread, E4172 an error of MPI's own.
class rank_group {
 public:
  [[nodiscard]] static rank_group& get() {
    static rank_group group;
    return group;
  }
  rank_group(rank_group const&) = delete;
  rank_group& operator=(rank_group const&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int count() const noexcept { return count_; }
  [[nodiscard]] bool leads() const noexcept { return rank_ == 0; }
  void set_limit(double seconds) noexcept { limit_ = seconds; }
  /// Seconds in which this rank has waited for messages, and bytes for and from single ranks.
  [[nodiscard]] double waited() const noexcept { return waited_; }
  [[nodiscard]] std::int64_t bytes_sent() const noexcept { return bytes_sent_; }
  [[nodiscard]] std::int64_t bytes_received() const noexcept { return bytes_received_; }

  /// Messages of one operation, which all ranks carry out together.
  class operation {
   public:
    explicit operation(rank_group& group) : operation(group, 1) {}
    /// A part of an operation that has begun.
    [[nodiscard]] static operation part_of_another(rank_group& group) { return {group, 0}; }
    operation(operation const&) = delete;
    operation& operator=(operation const&) = delete;

    void send(void const* from, std::size_t bytes, int to, int tag = 1) {
      group_.bytes_sent_ += static_cast<std::int64_t>(bytes);
      each_piece(static_cast<char*>(const_cast<void*>(from)), bytes, [&](char* piece, int size) {
        check(MPI_Isend(piece, size, MPI_BYTE, to, tag, group_.world_, next(to)));
      });
    }
    void receive(void* to, std::size_t bytes, int from, int tag = 1) {
      group_.bytes_received_ += static_cast<std::int64_t>(bytes);
      each_piece(static_cast<char*>(to), bytes, [&](char* piece, int size) {
        check(MPI_Irecv(piece, size, MPI_BYTE, from, tag, group_.world_, next(from)));
      });
    }
    /// Copies bytes of one rank to the others. Up to 64 ranks get them from that rank itself, so that whoever waits
    /// knows for whom.
    void broadcast(void* data, std::size_t bytes, int root) {
      if (group_.count_ <= 64) {
        if (group_.rank_ != root) return receive(data, bytes, root, broadcast_tag);
        for (int other = 0; other < group_.count_; ++other)
          if (other != root) send(data, bytes, other, broadcast_tag);
        return;
      }
      each_piece(static_cast<char*>(data), bytes, [&](char* piece, int size) {
        check(MPI_Ibcast(piece, size, MPI_BYTE, root, group_.world_, next(root)));
      });
    }
    /// True if all messages have arrived, without waiting. A process alone has none, and no MPI to ask.
    [[nodiscard]] bool is_done() {
      if (requests_.empty()) return true;
      int done = 0;
      check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE));
      return done != 0;
    }
    /// Waits for all messages.
    void wait() {
      group_.wait(requests_, peers_);
      requests_.clear();
      peers_.clear();
    }

   private:
    static constexpr int broadcast_tag = 2;

    operation(rank_group& group, int begun) : group_(group) {
      group.begun_ += begun;
      group.look_for_failures();
    }
    template <class Each>
    static void each_piece(char* data, std::size_t bytes, Each const& each) {
      constexpr std::size_t most = std::size_t{1} << 30U;
      for (std::size_t first = 0; first < bytes; first += most)
        each(data + first, static_cast<int>(std::min(most, bytes - first)));
    }
    MPI_Request* next(int peer) {
      peers_.push_back(peer);
      return &requests_.emplace_back(MPI_REQUEST_NULL);
    }

    rank_group& group_;
    std::vector<MPI_Request> requests_;
    std::vector<int> peers_;
  };

  /// Prints what has failed in this rank, and says it to all others. Does nothing after the first failure.
  void fail(char const* reason) noexcept {
    if (count_ == 1 || failed_) return;
    failed_ = true;
    std::snprintf(notice_.text, sizeof notice_.text, "rank %d of %d (%s): %s", rank_, count_, host_, reason);
    std::fprintf(stderr, "stagecraft: %s\n", notice_.text);
    std::fflush(stderr);
    notify('F');
  }
  [[nodiscard]] bool has_failed() const noexcept { return failed_; }

  /// A rank and its host as errors name it, if the host is known.
  [[nodiscard]] std::string name(int rank) const {
    std::string text = "rank ";
    text.append(std::to_string(rank));
    if (static_cast<std::size_t>(rank) < hosts_.size())
      text.append(" (").append(hosts_[static_cast<std::size_t>(rank)].data()).append(")");
    return text;
  }

 private:
  static constexpr std::size_t host_size = 64;
  struct host_name : std::array<char, host_size> {};
  struct notice {
    char kind = 0;  // F: failed, L: at its end, D: has seen that all are, C: somebody is late, A: answers that
    std::int64_t operations = 0;
    char text[1000] = {};
  };

  rank_group() {
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    if (begun == 0 && !is_launched()) return;
    if (ended != 0) throw_data_error("E4170", "a cluster's trainer: expected MPI to run, found it finalized");
    int level = MPI_THREAD_SINGLE;
    if (begun == 0) {
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level));
      is_own_ = true;
    } else {
      check(MPI_Query_thread(&level));
    }
    int is_main = 0;
    check(MPI_Is_thread_main(&is_main));
    if (level < MPI_THREAD_FUNNELED || (level == MPI_THREAD_FUNNELED && is_main == 0))
      throw_data_error("E4170",
                       "a cluster's trainer: expected MPI with MPI_THREAD_FUNNELED and a call of the thread that has "
                       "begun it, found level %d and %s",
                       level, is_main != 0 ? "that thread" : "another one");
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_));
    check(MPI_Comm_dup(MPI_COMM_WORLD, &notices_));
    check(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
    check(MPI_Comm_rank(world_, &rank_));
    check(MPI_Comm_size(world_, &count_));
    char host[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    check(MPI_Get_processor_name(host, &length));
    std::snprintf(host_, sizeof host_, "%.63s", host);
    hosts_.resize(static_cast<std::size_t>(count_));
    left_.assign(static_cast<std::size_t>(count_), -1);
    done_.assign(static_cast<std::size_t>(count_), false);
    check(MPI_Allgather(host_, host_size, MPI_CHAR, hosts_.data(), host_size, MPI_CHAR, world_));
  }
  ~rank_group() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (world_ == MPI_COMM_NULL || ended != 0) return;
    if (!failed_) leave();
    if (failed_) MPI_Abort(MPI_COMM_WORLD, 1);
    // The system ends this process if a rank stops now. The first rank has seen all others come this far.
    auto const awaited = leads() && count_ > 2 ? "another rank" : name(leads() ? 1 : 0);
    auto const said = "stagecraft: rank " + std::to_string(rank_) + " of " + std::to_string(count_) + " (" + host_ +
                      "): " + awaited + ": expected the end of MPI within " +
                      diagnostics::general_digits(limit_, 6).c_str() + " seconds, found none [" + "E4168" + "]\n";
    said.copy(last_words().text, sizeof last_words().text - 1);
    last_words().speaks = rank_ <= 1;
    std::signal(SIGALRM, [](int) {
      auto const& last = last_words();
      if (last.speaks && ::write(STDERR_FILENO, last.text, std::strlen(last.text)) < 0) std::_Exit(2);
      std::_Exit(1);
    });
    alarm(static_cast<unsigned>(std::min(limit_ + 2 * grace() + 1 + (leads() ? 0 : 3 * std::min(rank_, 2)), 4e9)));
    if (is_own_) MPI_Finalize();
    alarm(0);
  }
  /// What a signal's handler can still say.
  struct final_words {
    char text[300] = {};
    bool speaks = false;
  };
  [[nodiscard]] static final_words& last_words() noexcept {
    static constinit final_words words;
    return words;
  }

  /// True if a launcher of MPI has started this process: what Open MPI, MPICH, PMIx and Slurm set.
  static bool is_launched() {
    for (char const* name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID"})
      if (std::getenv(name) != nullptr) return true;
    return false;
  }
  static void check(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw_data_error("E4172", "MPI: expected success, found '%s'", text);
  }

  void wait(std::vector<MPI_Request>& requests, std::vector<int> const& peers) {
    if (requests.empty()) return;
    double const begin = MPI_Wtime();
    for (int round = 1;; ++round) {
      int done = 0;
      check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
      if (done != 0) {
        asked_ = -1;
        waited_ += MPI_Wtime() - begin;
        return;
      }
      if (round % 64 != 0) continue;
      look_for_failures();
      double const now = MPI_Wtime();
      rest_after(now - begin);
      if (now - begin < limit_) continue;
      std::size_t late = 0;  // after MPI_Testall, requests that are finished look like others
      for (int finished = 1; late + 1 < requests.size(); ++late) {
        check(MPI_Request_get_status(requests[late], &finished, MPI_STATUS_IGNORE));
        if (finished == 0) break;
      }
      if (int const named = late_rank(peers[late]); named >= 0) throw_late(named);
    }
  }
  /// Leaves the processor to others, which would else have it once there is work. Messages alone take less time.
  static void rest_after(double waited) {
    if (waited < 3e-4) return;
    timespec const pause{0, static_cast<long>(1e9 * std::clamp(waited / 16, 2e-5, 1e-3))};
    nanosleep(&pause, nullptr);
  }
  [[noreturn]] void throw_late(int rank) const {
    throw_data_error("E4168", "%s: expected a message within %s seconds, found none", name(rank).c_str(),
                     diagnostics::general_digits(limit_, 6).c_str());
  }

  /// The rank that is late, when this rank has waited long enough for `awaited`; -1: not known yet. That rank may
  /// itself wait for another one, and others may wait, too. So this rank asks all, and those that wait answer. Of
  /// several that ask, the lowest goes on, and the others leave it to it: one rank says who is late, and means one that
  /// has not answered.
  [[nodiscard]] int late_rank(int awaited) {
    double const now = MPI_Wtime();
    if (now < leaves_it_until_) return -1;
    if (asked_ < 0) {
      asked_ = now;
      answers_.assign(static_cast<std::size_t>(count_), false);
      answers_[static_cast<std::size_t>(rank_)] = true;
      notice const question{.kind = 'C'};
      for (int other = 0; other < count_; ++other)
        if (other != rank_) tell(other, question);
    }
    auto const silent = std::find(answers_.begin(), answers_.end(), false);
    if (silent != answers_.end() && now - asked_ < grace()) return -1;
    if (silent == answers_.end() || !answers_[static_cast<std::size_t>(awaited)]) return awaited;
    return static_cast<int>(silent - answers_.begin());
  }
  /// Seconds in which a rank that waits answers, also where others use its processor.
  [[nodiscard]] double grace() const noexcept { return std::min(limit_ / 4 + 2, 10.0); }
  /// Sends a short message, which MPI keeps until it leaves.
  void tell(int other, notice const& what) {
    told_.remove_if([](auto& message) {
      int done = 0;
      check(MPI_Test(&message.second, &done, MPI_STATUS_IGNORE));
      return done != 0;
    });
    auto& message = told_.emplace_back(what, MPI_REQUEST_NULL);
    check(MPI_Isend(&message.first, sizeof(notice), MPI_BYTE, other, 0, notices_, &message.second));
  }

  /// Throws if another rank has failed, or has left though there is more to do.
  void look_for_failures() {
    if (world_ == MPI_COMM_NULL) return;
    for (;;) {
      if (failed_) throw_data_error("E4166", "%s", notice_.text);
      int found = 0;
      MPI_Status status;
      check(MPI_Iprobe(MPI_ANY_SOURCE, 0, notices_, &found, &status));
      if (found == 0) break;
      take_notice(status.MPI_SOURCE);
    }
    for (std::size_t other = 0; other < left_.size(); ++other)
      if (left_[other] >= 0 && left_[other] < begun_)
        throw_data_error("E4167", "%s: expected it to go on as %s does, found that it has ended",
                         name(static_cast<int>(other)).c_str(), name(rank_).c_str());
  }
  void take_notice(int from) {
    notice found;
    check(MPI_Recv(&found, sizeof found, MPI_BYTE, from, 0, notices_, MPI_STATUS_IGNORE));
    auto const sender = static_cast<std::size_t>(from);
    if (found.kind == 'L') {
      left_[sender] = found.operations;
    } else if (found.kind == 'D') {
      done_[sender] = true;
    } else if (found.kind == 'C' || found.kind == 'A') {
      if (asked_ >= 0) answers_[sender] = true;
      if (found.kind == 'A') return;
      if (asked_ < 0 || from < rank_) {
        asked_ = -1;
        leaves_it_until_ = MPI_Wtime() + 2 * grace();
      }
      tell(from, {.kind = 'A'});
    } else if (!failed_) {
      failed_ = true;
      notice_ = found;
    }
  }
  void notify(char kind) noexcept {
    notice_.kind = kind;
    notice_.operations = begun_;
    std::vector<MPI_Request> requests(static_cast<std::size_t>(count_), MPI_REQUEST_NULL);
    for (int other = 0; other < count_; ++other)
      if (other != rank_)
        MPI_Isend(&notice_, sizeof notice_, MPI_BYTE, other, 0, notices_, &requests[static_cast<std::size_t>(other)]);
    double const begin = MPI_Wtime();
    for (int done = 0; done == 0 && MPI_Wtime() - begin < 5;)
      MPI_Testall(count_, requests.data(), &done, MPI_STATUSES_IGNORE);
  }
  /// Says that this rank is at its end, and waits until all are.
  void leave() noexcept {
    try {
      notify('L');
      left_[static_cast<std::size_t>(rank_)] = begun_;
      await_all(left_, std::int64_t{-1});
      if (!leads()) return tell(0, {.kind = 'D'});
      done_[0] = true;
      await_all(done_, false);
    } catch (error const& problem) {
      fail(problem.what());
    }
  }
  /// Waits until no rank has the value `absent`.
  template <class Values>
  void await_all(Values const& values, typename Values::value_type absent) {
    for (double const begin = MPI_Wtime();;) {
      look_for_failures();
      auto const late = std::find(values.begin(), values.end(), absent);
      if (late == values.end()) break;
      double const now = MPI_Wtime();
      rest_after(now - begin);
      if (now - begin > limit_)
        if (int const named = late_rank(static_cast<int>(late - values.begin())); named >= 0) throw_late(named);
    }
    asked_ = -1;
  }

  MPI_Comm world_ = MPI_COMM_NULL, notices_ = MPI_COMM_NULL;
  int rank_ = 0, count_ = 1;
  bool is_own_ = false, failed_ = false;
  double limit_ = 300, waited_ = 0;
  std::int64_t bytes_sent_ = 0, bytes_received_ = 0, begun_ = 0;  // begun: operations
  notice notice_;
  char host_[host_size] = {};
  std::vector<host_name> hosts_;
  std::vector<std::int64_t> left_;  // operations of a rank that has ended; -1: it has not
  std::vector<bool> done_;          // at the first rank: those that have seen all others end
  double asked_ = -1;               // when this rank has asked who is late; -1: it has not
  double leaves_it_until_ = 0;      // another rank finds out who is late
  std::vector<bool> answers_;
  std::list<std::pair<notice, MPI_Request>> told_;
};

}  // namespace stagecraft::mpi
