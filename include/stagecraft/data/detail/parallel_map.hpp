// SPDX-License-Identifier: BSD-3-Clause
// A stream of `map` whose function several threads call. Keras counterpart: ParallelMapDataset.
#pragma once

#include <stagecraft/data/detail/element_call.hpp>
#include <stagecraft/data/detail/streams.hpp>
#include <stagecraft/data/stream.hpp>
#include <stagecraft/threads/system_thread.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft::data::detail {

/// Elements in the order of the stream that they are made of, whichever thread is ready first. The threads take
/// elements one after the other, in order, and run ahead of the consumer by one result for each thread. An exception of
/// the function or the stream is thrown where its element would come, and ends the pass.
template <class Element, class Function>
class parallel_mapped_stream final : public stream<mapped_type<Function, Element>> {
  using result = mapped_type<Function, Element>;

 public:
  parallel_mapped_stream(stream_of<Element> from, Function const& function, std::size_t threads)
      : from_(std::move(from)), places_(threads), workers_(threads) {
    for (auto& worker : workers_) worker = std::make_unique<work>(this, function);
    try {
      for (auto& worker : workers_)
        worker->thread.start(
            [](void* self, int) noexcept {
              auto& own = *static_cast<work*>(self);
              own.stream->serve(own.function);
            },
            worker.get());
    } catch (...) {
      stop();
      throw;
    }
  }
  ~parallel_mapped_stream() override { stop(); }

  std::optional<result> next() override {
    std::unique_lock lock(mutex_);
    if (is_over_) return std::nullopt;
    auto& place = places_[static_cast<std::size_t>(taken_) % places_.size()];
    ready_.wait(lock, [&place] { return place.is_ready; });
    if (place.error || !place.value) {
      is_over_ = true;
      if (place.error) std::rethrow_exception(place.error);
      return std::nullopt;
    }
    std::optional<result> taken(std::move(*place.value));
    place.value.reset();
    place.is_ready = false;
    ++taken_;
    lock.unlock();
    freed_.notify_one();
    return taken;
  }

 private:
  struct result_place {
    bool is_ready = false;
    std::optional<result> value;  // none: the end
    std::exception_ptr error;
  };
  struct work {
    work(parallel_mapped_stream* owner, Function const& given) : stream(owner), function(given) {}
    parallel_mapped_stream* stream;
    Function function;
    threads::system_thread thread;
  };

  void serve(Function& function) noexcept {
    while (auto* const to = run_next(function)) {
      {
        std::scoped_lock const lock(mutex_);
        to->is_ready = true;
      }
      ready_.notify_one();
    }
  }

  /// Computes the next result from the source's next element and returns its place; null if nothing is left to do.
  result_place* run_next(Function& function) noexcept {
    result_place* to = nullptr;
    try {
      std::optional<Element> element;
      {
        std::scoped_lock const reading(source_mutex_);
        {
          std::unique_lock lock(mutex_);
          freed_.wait(lock, [this] {
            return is_stopped_ || is_read_ || begun_ - taken_ < static_cast<std::int64_t>(places_.size());
          });
          if (is_stopped_ || is_read_) return nullptr;
          to = &places_[static_cast<std::size_t>(begun_++) % places_.size()];
        }
        try {
          if (auto next = from_->next())
            element.emplace(std::move(*next));
          else
            end_reading();
        } catch (...) {
          end_reading();
          throw;
        }
      }
      if (element) to->value.emplace(call_with(function, *element));
    } catch (...) {
      to->error = std::current_exception();
      end_reading();
    }
    return to;
  }
  void end_reading() noexcept {
    {
      std::scoped_lock const lock(mutex_);
      is_read_ = true;
    }
    freed_.notify_all();
  }
  void stop() noexcept {
    {
      std::scoped_lock const lock(mutex_);
      is_stopped_ = true;
    }
    freed_.notify_all();
    for (auto& worker : workers_) worker->thread.join();
  }

  stream_of<Element> from_;
  std::mutex source_mutex_;  // held while an element is read; locked before the other mutex
  std::mutex mutex_;
  std::condition_variable ready_, freed_;
  std::vector<result_place> places_;
  std::int64_t begun_ = 0, taken_ = 0;
  bool is_read_ = false, is_stopped_ = false, is_over_ = false;
  std::vector<std::unique_ptr<work>> workers_;
};

}  // namespace stagecraft::data::detail
