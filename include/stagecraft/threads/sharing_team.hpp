// SPDX-License-Identifier: BSD-3-Clause
// A thread and its helpers: whoever has a processor takes the next piece of the work.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/threads/first_failure.hpp>
#include <stagecraft/threads/own_processor.hpp>
#include <stagecraft/threads/progress.hpp>
#include <stagecraft/threads/system_thread.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <type_traits>
#include <utility>

namespace stagecraft::threads {

/// `size` threads, the calling one included, that go through the same phases. A phase has the same number of pieces for
/// each thread, and is over when all pieces are done, by whichever threads: each begins with its own, and goes on with
/// those that nobody has taken. So nobody waits for a thread that the system keeps from its processor, unless it is in
/// the middle of a piece; such a thread finds out later which pieces were done meanwhile. A thread without a piece
/// waits, first shortly in a loop, then asleep. Nothing is allocated after the start.
///
/// An exception ends the run: the other threads leave it at their next phase, and the first exception goes on to the
/// caller of `run`. Errors: std::system_error if the system gives no more threads.
class sharing_team {
 public:
  static constexpr int pieces_per_thread = 2;

  /// One thread on its way through the phases of a run.
  class member {
   public:
    [[nodiscard]] int thread() const noexcept { return thread_; }
    [[nodiscard]] int pieces() const noexcept { return team_->pieces(); }

    /// The next phase: calls `piece(number)` for the pieces that fall to this thread, and waits until all are done.
    /// Does nothing after a failure.
    template <class Piece>
    void divide(Piece const& piece) {
      divide(&piece, [](void const* what, int number) { (*static_cast<Piece const*>(what))(number); });
    }

    /// The next phase: calls `work()` on the thread that has called `run`; the others wait. Does nothing after a
    /// failure.
    template <class Work>
    void alone(Work const& work) {
      auto const phase = phase_++;
      if (failed()) return;
      if (thread_ != 0) return team_->wait_until_over(phase, thread_);
      work();
      team_->over_.publish(phase + 1);
    }

    /// Ends the run without an exception: the others leave it at their next phase.
    void give_up() noexcept { team_->fail(nullptr); }

    /// True after a failure: the thread has nothing more to do.
    [[nodiscard]] bool failed() const noexcept { return team_->failure_.failed(); }

   private:
    friend sharing_team;
    member(sharing_team& team, int thread, std::int64_t phase) : team_(&team), thread_(thread), phase_(phase) {}

    void divide(void const* what, void (*call)(void const*, int)) {
      auto const phase = phase_++;
      if (team_->over_.value() > phase || failed()) return;
      auto& processors = team_->processors_;
      int const pieces = team_->pieces();
      int const first = thread_ * pieces_per_thread;
      for (int i = 0; i < pieces; ++i) {
        int const piece = first + i < pieces ? first + i : first + i - pieces;
        if (!team_->take(piece, phase)) continue;
        processors.set_working(thread_, true);
        call(what, piece);
        team_->finish_piece(phase);
      }
      processors.set_working(thread_, false);
      team_->wait_until_over(phase, thread_);
      if (thread_ == 0) processors.set_working(0, true);
    }

    sharing_team* team_;
    int thread_;
    std::int64_t phase_;
  };

  /// `busy_threads` work at the same time, these included; 0: these alone.
  explicit sharing_team(int size, int busy_threads = 0)
      : size_(size),
        patience_(patience_of(busy_threads > size ? busy_threads : size)),
        processors_(size),
        taken_(static_cast<std::size_t>(pieces())),
        helpers_(static_cast<std::size_t>(size - 1)) {
    try {
      for (int thread = 1; thread < size; ++thread)
        helpers_[thread - 1].start(
            [](void* team, int number) noexcept { static_cast<sharing_team*>(team)->serve(number); }, this, thread);
    } catch (...) {
      stop();
      throw;
    }
  }
  sharing_team(sharing_team const&) = delete;
  sharing_team& operator=(sharing_team const&) = delete;
  ~sharing_team() { stop(); }

  [[nodiscard]] int size() const noexcept { return size_; }
  /// The number of pieces in each phase: more than threads, so that a late thread leaves some to others.
  [[nodiscard]] int pieces() const noexcept { return size_ * pieces_per_thread; }

  /// Calls `lead(member&)` here, and a copy of `help`, `help(member&)`, on each other thread that arrives before the
  /// end. Both go through the same phases. A helper may still arrive, without a piece, when `run` has returned: the
  /// data that `help` uses outside of pieces are its own, or last as long as the team. False if a thread has given up.
  template <class Lead, class Help>
  bool run(Lead const& lead, Help const& help) {
    static_assert(std::is_trivially_copyable_v<Help> && sizeof(Help) <= sizeof help_);
    {
      scoped_lock const lock(door_);
      first_phase_ = over_.value();
      std::memcpy(help_, &help, sizeof help);
      call_help_ = [](unsigned char const* bytes, member& self) {
        alignas(Help) unsigned char own[sizeof(Help)];
        std::memcpy(own, bytes, sizeof own);
        (*reinterpret_cast<Help const*>(own))(self);
      };
      open_ = true;
    }
    processors_.find(0);
    processors_.set_working(0, true);
    begun_.publish(begun_.value() + 1);
    try {
      member self(*this, 0, first_phase_);
      lead(self);
    } catch (...) {
      fail(std::current_exception());
    }
    processors_.set_working(0, false);
    return end_run();
  }

 private:
  /// Takes a piece of a phase; false if another thread has it. Pieces of later phases are not taken before this one is
  /// over.
  bool take(int piece, std::int64_t phase) noexcept {
    auto& taken = taken_[static_cast<std::size_t>(piece)].phases;
    auto before = taken.load(std::memory_order_relaxed);
    return before <= phase && taken.compare_exchange_strong(before, phase + 1, std::memory_order_acq_rel);
  }

  void finish_piece(std::int64_t phase) noexcept {
    if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 != pieces()) return;
    done_.store(0, std::memory_order_relaxed);
    over_.publish(phase + 1);
  }

  void wait_until_over(std::int64_t phase, int thread) noexcept {
    auto const stopped = [this] { return failure_.failed(); };
    if (over_.spin(phase + 1, stopped, patience_)) return;
    if (patience_ > 0) processors_.fetch_others(thread, [&] { return over_.spin(phase + 1, stopped, short_patience); });
    over_.sleep(phase + 1, stopped);
  }

  void fail(std::exception_ptr error) noexcept {
    if (failure_.fail(std::move(error))) over_.wake();
  }

  /// A run that has failed is over when all helpers have left it.
  bool end_run() {
    scoped_lock lock(door_);
    open_ = false;
    if (!failure_.failed()) return true;
    while (inside_ > 0) left_.wait(lock);
    for (auto& taken : taken_) taken.phases.store(over_.value(), std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    auto const error = failure_.clear();
    if (error != nullptr) std::rethrow_exception(error);
    return false;
  }

  void serve(int thread) {
    auto const never = [] { return false; };
    alignas(std::max_align_t) unsigned char help[sizeof help_];
    for (std::int64_t seen = 0;;) {
      begun_.await(seen + 1, never, patience_);
      scoped_lock lock(door_);
      seen = begun_.value();
      if (stopped_) return;
      if (!open_) continue;
      ++inside_;
      std::memcpy(help, help_, sizeof help);
      auto const call = call_help_;
      member self(*this, thread, first_phase_);
      lock.unlock();
      processors_.find(thread);
      try {
        call(help, self);
      } catch (...) {
        fail(std::current_exception());
      }
      processors_.set_working(thread, false);
      lock.lock();
      --inside_;
      lock.unlock();
      left_.wake_all();
    }
  }

  void stop() {
    {
      scoped_lock const lock(door_);
      stopped_ = true;
    }
    begun_.publish(begun_.value() + 1);
    for (auto& thread : helpers_) thread.join();
  }

  // Claims have cache lines of their own, so that a write by one thread does not slow down others' reads.
  struct alignas(64) claim {
    std::atomic<std::int64_t> phases = 0;  // number of the phase in which the piece was taken last
  };

  int size_;
  int patience_;
  own_processor processors_;
  first_failure failure_;
  places<claim> taken_;
  alignas(64) std::atomic<int> done_ = 0;  // pieces of this phase
  progress over_;                          // phases, of all runs
  progress begun_;                         // runs

  mutex door_;  // protects the fields that a helper reads when it arrives or leaves
  condition left_;
  bool open_ = false;
  bool stopped_ = false;
  int inside_ = 0;
  std::int64_t first_phase_ = 0;
  void (*call_help_)(unsigned char const*, member&) = nullptr;
  unsigned char help_[256] = {};
  places<system_thread> helpers_;
};

}  // namespace stagecraft::threads
