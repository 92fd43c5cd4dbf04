// SPDX-License-Identifier: BSD-3-Clause
// Chooses the samples of each step of each replica, and prepares their batches before the steps need them.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/threads/infeed_queue.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/data/batch_loader.hpp>
#include <stagecraft/training/data/shuffle.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace stagecraft::trainers {

/// Memory for one batch in a session's layout: samples, targets, and the weights of rows in the losses.
template <class Session>
class prepared_batch {
 public:
  prepared_batch() : memory_(offsets.back()) {}

  [[nodiscard]] float* input(int index) { return place(static_cast<std::size_t>(index)); }
  template <std::size_t Output>
  [[nodiscard]] auto* target() {
    return reinterpret_cast<typename Session::template target_type<Output>*>(place(inputs + Output));
  }
  [[nodiscard]] float* scale(std::size_t output) { return place(inputs + outputs + output); }
  void set_valid_samples(int count) { valid_samples_ = count; }

  /// Copies the batch to a step's memory.
  template <class Destination>
  void copy_inputs(Destination& to) {
    for (int i = 0; i < Session::input_count(); ++i) copy(static_cast<std::size_t>(i), to.input(i));
    to.set_valid_samples(valid_samples_);
  }
  template <class Destination>
  void copy_all(Destination& to) {
    copy_inputs(to);
    for_each_index<outputs>([&]<int Output>() { copy(inputs + Output, to.template target<Output>()); });
    for (std::size_t output = 0; output < outputs; ++output) copy(inputs + outputs + output, to.scale(output));
  }

 private:
  static constexpr auto inputs = static_cast<std::size_t>(Session::input_count());
  static constexpr std::size_t outputs = Session::output_count;
  static constexpr std::size_t parts = inputs + (Session::has_losses ? 2 * outputs : 0);

  // Class numbers take as many bytes as floats.
  static constexpr long long floats(std::size_t part) {
    long long size = 0;
    if (part < inputs)
      size = Session::input_shape(static_cast<int>(part)).size();
    else if (part < inputs + outputs && Session::sparse_targets(part - inputs))
      size = Session::class_numbers(part - inputs);
    else if (part < inputs + outputs)
      size = Session::output_shape(part - inputs).size();
    else
      size = Session::scales_per_sample((part - inputs) % outputs);
    return size * Session::batch;
  }
  // Each part begins at a cache line.
  static constexpr std::array<long long, parts + 1> offsets = [] {
    std::array<long long, parts + 1> result{};
    for (std::size_t part = 0; part < parts; ++part) result[part + 1] = result[part] + (floats(part) + 15) / 16 * 16;
    return result;
  }();

  [[nodiscard]] float* place(std::size_t part) { return memory_.data() + offsets[part]; }
  void copy(std::size_t part, void* to) {
    std::memcpy(to, place(part), static_cast<std::size_t>(floats(part)) * sizeof(float));
  }

  aligned_block memory_;
  int valid_samples_ = 0;
};

/// Stands for the absence of a queue or of a background thread.
struct no_queue {};

/// The batches of a run. Replicas take turns: the first step takes the first batches, one for each replica. A process
/// that has some of the replicas takes and reads their batches alone, which have the numbers that they have in one
/// process; the queue numbers those.
///
/// With `infeed_queue.prefetch_depth`, a thread of its own prepares that number of batches for each replica while steps
/// run, and reads the caller's arrays meanwhile; 0 stands for 3 if the model has stages or replicas, and otherwise for
/// none. Results do not depend on it.
template <class Session, run_kind Kind>
class batch_feed {
  using job = typename Session::described;
  using sizes = typename Session::sizes;

 public:
  using loader = batch_loader<Session>;
  static constexpr int prefetch_depth = job::training.infeed_queue.prefetch_depth > 0
                                            ? job::training.infeed_queue.prefetch_depth
                                        : is_pipelined<typename job::model> || Session::replicas > 1 ? 3
                                                                                                     : 0;

  /// Batches are numbered; numbers beyond the last batch repeat it.
  batch_feed(loader const& data, epoch_order const& order, int batch_size, int batches, int busy_threads)
      : fill_{data, order, batch_size, batches}, queue_(make_queue(busy_threads)) {}
  batch_feed(batch_feed const&) = delete;
  batch_feed& operator=(batch_feed const&) = delete;

  [[nodiscard]] int batches() const noexcept { return fill_.batches; }
  [[nodiscard]] int batch_size() const noexcept { return fill_.batch_size; }

  /// Call it before the first of `steps` steps of each replica. The returned object lives until the last step is done.
  [[nodiscard]] auto start([[maybe_unused]] int steps) {
    if constexpr (prefetch_depth > 0)
      return queue_.start(std::int64_t{steps} * sizes::fed_here().count, fill_);
    else
      return no_queue{};
  }
  /// The arrays that the first process alone has, as bits with the loader's numbers.
  [[nodiscard]] int scattered() const {
    int bits = 0;
    fill_.data.for_each_scattered([&](sample_source const&, int number) { bits |= 1 << number; });
    return bits;
  }
  /// Each process gets the samples that its replicas read in `steps` steps, of arrays that the first one alone has.
  void scatter(int steps) const
    requires(!sizes::processes::is_alone)
  {
    if (scattered() == 0) return;
    std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(sizes::processes::count()));
    for (std::int64_t step = 0; step < steps; ++step)
      for (int replica = 0; replica < Session::replicas; ++replica) {
        auto const of_batch = fill_.rows_of(step * Session::replicas + replica);
        auto& reader = rows[static_cast<std::size_t>(engine::process_of_samples<sizes>(replica))];
        reader.insert(reader.end(), of_batch.begin(), of_batch.end());
      }
    fill_.data.for_each_scattered([&](sample_source const& array, int) { sizes::processes::scatter(array, rows); });
  }
  /// Ends every wait, when a run has failed elsewhere.
  void cancel() noexcept {
    if constexpr (prefetch_depth > 0) queue_.cancel();
  }

  /// Copies the batch of a replica's step to `to`.
  template <class Destination>
  void load(Destination& to, int replica, int step) {
    auto const here = sizes::fed_here();
    std::int64_t const batch = std::int64_t{step} * here.count + replica - here.first;
    if constexpr (prefetch_depth == 0) {
      fill_(to, batch);
    } else {
      prepared_batch<Session>& ready = queue_.take(batch);
      if constexpr (Kind == run_kind::prediction)
        ready.copy_inputs(to);
      else
        ready.copy_all(to);
      queue_.release(batch);
    }
  }

 private:
  struct fill_batch {
    loader const& data;
    epoch_order const& order;
    int batch_size;
    int batches;

    template <class Destination>
    void operator()(Destination& to, std::int64_t number) const {
      if constexpr (sizes::processes::is_alone) {
        load(to, number);
      } else {  // datasets are read batch after batch, so that those of other processes are passed over
        auto const [first, here] = sizes::fed_here();
        auto const step = number / here * Session::replicas, replica = first + number % here;
        for (int other = 0; replica == first && other < first; ++other) static_cast<void>(rows_of(step + other));
        load(to, step + replica);
        for (auto other = replica + 1; replica == first + here - 1 && other < Session::replicas; ++other)
          static_cast<void>(rows_of(step + other));
      }
    }
    [[nodiscard]] auto rows_of(std::int64_t number) const {
      return order.batch(static_cast<int>(std::min<std::int64_t>(number, batches - 1)), batch_size, batches);
    }
    template <class Destination>
    void load(Destination& to, std::int64_t number) const {
      if constexpr (Kind == run_kind::prediction)
        data.load_inputs(to, rows_of(number));
      else
        data.load(to, rows_of(number));
    }
  };

  [[nodiscard]] static auto make_queue([[maybe_unused]] int busy_threads) {
    if constexpr (prefetch_depth > 0)
      return infeed_queue<prepared_batch<Session>>(
          std::max(sizes::fed_here().count, 1), prefetch_depth, [] { return prepared_batch<Session>(); }, busy_threads);
    else
      return no_queue{};
  }

  fill_batch fill_;
  decltype(make_queue(0)) queue_;
};

}  // namespace stagecraft::trainers
