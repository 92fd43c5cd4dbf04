// SPDX-License-Identifier: BSD-3-Clause
// A sum of gradients over ranks: a reduce-scatter in the order of the replicas' tree, and an all-gather.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/mpi/rank_group.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::mpi {

/// The sum of arrays that are in several ranks. Each of these ranks adds up one part of all arrays, in their order, and
/// sends it to the others, so that the bits do not depend on who has which array. All ranks begin their sums in the
/// same order, as parts of one operation. The memory of what has come is kept for the next sum.
class gradient_sum {
 public:
  /// Begins with no arrays, each of which will have `floats` numbers. Sums at the same time have different numbers.
  void begin(long long floats, int number = 0) {
    floats_ = floats;
    tag_ = first_tag + 2 * number;
    arrays_.clear();
    members_.clear();
    mine_ = -1;
    is_sent_ = is_added_ = false;
  }
  /// Adds the next array, which `rank` has; `floats` is null in other ranks. Arrays of a rank follow each other.
  void add(int rank, float* floats) {
    if (members_.empty() || members_.back() != rank) members_.push_back(rank);
    if (floats != nullptr) mine_ = static_cast<int>(members_.size()) - 1;
    arrays_.push_back({static_cast<int>(members_.size()) - 1, floats});
  }

  /// Sends the parts that other ranks add up. The arrays stay as they are until `finish`.
  void send() {
    if (mine_ < 0 || is_sent_) return;
    is_sent_ = true;
    auto const own = part_of(mine_);
    auto const own_floats = static_cast<std::size_t>(own.last - own.first);
    inbox_.resize(own_floats * arrays_.size());
    leaves_.clear();
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      auto const& [member, floats] = arrays_[i];
      if (member != mine_) {
        float* const place = inbox_.data() + own_floats * i;
        leaves_.push_back(place - own.first);
        messages_.receive(place, bytes_of(own), members_[static_cast<std::size_t>(member)], tag_);
        continue;
      }
      leaves_.push_back(floats);
      for_each_other([&](int other, kernels::share::range const& part) {
        messages_.send(floats + part.first, bytes_of(part), other, tag_);
      });
    }
  }

  /// Does what can be done without waiting.
  template <class AddUp>
  void go_on(AddUp const& add_up, int replicas) {
    if (is_sent_ && messages_.is_done() && !is_added_) share(add_up, replicas);
  }

  /// Waits until all arrays of this rank have become the sum. `add_up(arrays, count, to, range, replicas)` adds up a
  /// range of them.
  template <class AddUp>
  void finish(AddUp const& add_up, int replicas) {
    if (mine_ < 0) return;
    send();
    if (!is_added_) share(add_up, replicas);
    messages_.wait();
    for (auto const& each : arrays_)
      if (each.floats != nullptr && each.floats != sum()) std::copy_n(sum(), floats_, each.floats);
  }

 private:
  /// Adds up this rank's part when all parts are there, and sends it to the others.
  template <class AddUp>
  void share(AddUp const& add_up, int replicas) {
    is_added_ = true;
    messages_.wait();
    auto const own = part_of(mine_);
    add_up(leaves_.data(), static_cast<int>(leaves_.size()), sum(), own, replicas);
    for_each_other([&](int other, kernels::share::range const& part) {
      messages_.receive(sum() + part.first, bytes_of(part), other, tag_ + 1);
      messages_.send(sum() + own.first, bytes_of(own), other, tag_ + 1);
    });
  }

  static constexpr int first_tag = 16;  // below those of passes
  struct array {
    int member = 0;
    float* floats = nullptr;
  };

  /// The first array of this rank, which becomes the sum.
  [[nodiscard]] float* sum() const {
    auto const is_here = [](array const& each) { return each.floats != nullptr; };
    return std::find_if(arrays_.begin(), arrays_.end(), is_here)->floats;
  }
  [[nodiscard]] kernels::share::range part_of(int member) const {
    return kernels::shard_of(floats_, member, static_cast<int>(members_.size()));
  }
  [[nodiscard]] static std::size_t bytes_of(kernels::share::range const& part) {
    return static_cast<std::size_t>(part.last - part.first) * sizeof(float);
  }
  /// each(rank, its part)
  template <class Each>
  void for_each_other(Each const& each) const {
    for (int member = 0; member < static_cast<int>(members_.size()); ++member)
      if (member != mine_) each(members_[static_cast<std::size_t>(member)], part_of(member));
  }

  long long floats_ = 0;
  int tag_ = first_tag;
  int mine_ = -1;             // this rank among the members; -1: it has no array
  std::vector<int> members_;  // ranks, in the order of their arrays
  std::vector<array> arrays_;
  std::vector<float> inbox_;
  std::vector<float const*> leaves_;
  rank_group::operation messages_ = rank_group::operation::part_of_another(rank_group::get());
  bool is_sent_ = false, is_added_ = false;
};

/// The sums of gradients where each replica has a shard of the optimizer's state: a rank gets those of the shards of
/// its replicas, and sends the weights that become of them. `Sizes` are those of a session. The bytes are those of a
/// gradient_sum of all. All ranks call its functions together.
template <class Sizes>
class shard_exchange {
 public:
  /// `here`: replicas of each rank. `is_shared[i]`: weight i is trained.
  shard_exchange(int here, bool const* is_shared) : here_(here), is_shared_(is_shared) {}

  /// `gradients`: those of this rank's replicas, of which `added` beside each other have been added up in the first.
  template <class AddUp>
  void scatter(float* const* gradients, int added, AddUp const& add_up) {
    auto const sums = static_cast<std::size_t>(here_ / added), floats = floats_of(group_.rank());
    rank_group::operation messages(group_);
    begin(floats * sums);
    for (int process = 0; process < group_.count(); ++process) {
      auto& packed = packed_[static_cast<std::size_t>(process)];
      for (int first = 0; first < here_; first += added) pack(gradients[first], process, packed);
      float* const place = arrived_.data() + floats * sums * static_cast<std::size_t>(process);
      if (process == group_.rank()) {
        std::copy(packed.begin(), packed.end(), place);
        continue;
      }
      messages.send(packed.data(), packed.size() * sizeof(float), process);
      messages.receive(place, floats * sums * sizeof(float), process);
    }
    messages.wait();
    std::vector<float const*> leaves;
    for (std::size_t i = 0; i < sums * static_cast<std::size_t>(group_.count()); ++i)
      leaves.push_back(arrived_.data() + floats * i);
    std::vector<float> sum(floats);
    add_up(leaves.data(), static_cast<int>(leaves.size()), sum.data(),
           kernels::share::range{0, static_cast<std::int64_t>(floats)}, Sizes::replicas);
    for (int i = 0; i < here_; ++i) unpack(sum.data(), group_.rank(), gradients[i]);
  }

  /// `weights`: those of this rank's replicas, each of which has all shards of this rank.
  void gather(float* const* weights) {
    rank_group::operation messages(group_);
    begin(0);
    pack(weights[0], group_.rank(), packed_[static_cast<std::size_t>(group_.rank())]);
    auto const& own = packed_[static_cast<std::size_t>(group_.rank())];
    for (int process = 0; process < group_.count(); ++process) {
      if (process == group_.rank()) continue;
      auto& packed = packed_[static_cast<std::size_t>(process)];
      packed.resize(floats_of(process));
      messages.receive(packed.data(), packed.size() * sizeof(float), process);
      messages.send(own.data(), own.size() * sizeof(float), process);
    }
    messages.wait();
    for (int process = 0; process < group_.count(); ++process)
      if (process != group_.rank())
        for (int i = 0; i < here_; ++i) unpack(packed_[static_cast<std::size_t>(process)].data(), process, weights[i]);
  }

 private:
  void begin(std::size_t floats_of_process) {
    packed_.resize(static_cast<std::size_t>(group_.count()));
    for (auto& packed : packed_) packed.clear();
    arrived_.resize(floats_of_process * static_cast<std::size_t>(group_.count()));
  }
  /// each(range) for the shards of a process's replicas, which follow each other in each weight.
  template <class Each>
  void for_each_range(int process, Each const& each) const {
    for (std::size_t i = 0; i < Sizes::weights.count; ++i) {
      if (!is_shared_[i]) continue;
      auto const first = kernels::shard_of(Sizes::weights.size[i], process * here_, Sizes::replicas).first;
      auto const last = kernels::shard_of(Sizes::weights.size[i], process * here_ + here_ - 1, Sizes::replicas).last;
      if (first < last) each(kernels::share::range{Sizes::weights.offset[i] + first, Sizes::weights.offset[i] + last});
    }
  }
  [[nodiscard]] std::size_t floats_of(int process) const {
    std::size_t floats = 0;
    for_each_range(process, [&](auto const& range) { floats += static_cast<std::size_t>(range.last - range.first); });
    return floats;
  }
  void pack(float const* from, int process, std::vector<float>& to) const {
    for_each_range(process, [&](auto const& range) { to.insert(to.end(), from + range.first, from + range.last); });
  }
  void unpack(float const* from, int process, float* to) const {
    for_each_range(process, [&](auto const& range) {
      std::copy_n(from, range.last - range.first, to + range.first);
      from += range.last - range.first;
    });
  }

  rank_group& group_ = rank_group::get();
  int here_;
  bool const* is_shared_;
  std::vector<std::vector<float>> packed_;  // for, or of, each process; kept for the next sum, as is arrived_
  std::vector<float> arrived_;
};

}  // namespace stagecraft::mpi
