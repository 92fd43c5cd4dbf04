// SPDX-License-Identifier: BSD-3-Clause
// The search of find_partition: stages filled as far as bounds allow, and a search for the lowest bounds. Compilers
// count the steps of a constant, so loops work on plain arrays.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/pipeline/partition_costs.hpp>
#include <cstddef>

namespace stagecraft::pipeline {

/// Zeros, at first. (A vector takes ten steps of a constant for each of them.)
template <class T>
class plain_array {
 public:
  constexpr explicit plain_array(int count) : values_(new T[count]{}) {}
  constexpr ~plain_array() { delete[] values_; }
  plain_array(plain_array const&) = delete;
  plain_array& operator=(plain_array const&) = delete;

  [[nodiscard]] constexpr T* data() const noexcept { return values_; }
  [[nodiscard]] constexpr T& operator[](int index) const noexcept { return values_[index]; }

 private:
  T* values_;
};

class partition_search {
 public:
  constexpr partition_search(partition_costs const& costs, int least, int most, bool for_memory)
      : costs_(costs), count_(costs.size()), least_(least), most_(most), capacity_(costs.capacity) {
    total_ = costs.cycles_of(0, count_);
    for (int i = 0; i < count_; ++i) reach_[i] = count_;
    if (capacity_ < 0 && !for_memory) return;
    for (int i = 0; i < count_; ++i) {
      own_[i] = costs.value(costs.exclusive, i);
      temporary_[i] = costs.value(costs.temporary, i);
      kind_[i] = costs.kind_of(i);
    }
    find_reach();
  }

  /// Lowers the capacity to the least with which there are few enough stages.
  constexpr void lower_capacity() {
    use_cuts_up_to(highest_number);
    if (pieces_ < least_ || fill(total_).stages > most_) return;  // there is no partition
    long long low = 0, high = costs_.memory_of(0, count_);
    if (capacity_ >= 0 && capacity_ < high) high = capacity_;
    for (int i = 0; i < pieces_; ++i)
      if (auto const piece = costs_.memory_of(cuts_[i], cuts_[i + 1]); piece > low) low = piece;
    while (low < high) {
      capacity_ = low + (high - low) / 2;
      find_reach();
      use_cuts_up_to(highest_number);
      if (auto const tried = fill(total_); tried.stages > most_)
        low = tried.next_memory;
      else
        high = highest_memory();
    }
    capacity_ = high;
    find_reach();
  }

  /// Allows no more stages than are needed.
  constexpr void take_fewest_stages() {
    use_cuts_up_to(highest_number);
    int const needed = fill(total_).stages;
    if (needed <= most_) most_ = needed > least_ ? needed : least_;
  }

  /// The first positions of the stages of the best partition, and the end; empty if there is none.
  constexpr growing_array<int> best_cuts() {
    find_transfers();
    int const count = static_cast<int>(transfers_.size());
    if (count == 0) return {};
    // Some transfers at first, for a good bound; then all that may be better.
    for (int k = 0; k < 8 && k < count; ++k) try_transfer(k * count / 8);
    growing_array<int> waiting{0, count};
    while (!waiting.empty()) {
      int const last = waiting.back();
      waiting.pop_back();
      int const first = waiting.back();
      waiting.pop_back();
      if (!may_be_better(first, last)) continue;
      int const middle = first + (last - first) / 2;
      if (last - first == 1)
        try_transfer(first);
      else
        for (int const end : {first, middle, middle, last}) waiting.push_back(end);
    }
    if (best_stages_ == 0) return {};
    use_cuts_up_to(best_transfer_);
    return even_cuts(best_cycles_, best_stages_);
  }

 private:
  static constexpr long long highest_number = 0x7fffffffffffffff;
  static constexpr int too_many = 0x7fffffff;

  /// Finds, for each position, the last one that a stage which begins there can reach before it exceeds the capacity.
  constexpr void find_reach() {
    if (capacity_ < 0) return;
    int* const seen = seen_.data();        // how many of each kind are in the stage
    int* const highest = highest_.data();  // those with falling temporaries: [front, back)
    int* const reach = reach_.data();
    long long const *const own = own_.data(), *const temporary = temporary_.data(),
                           *const shared = costs_.shared.data();
    int const* const kind = kind_.data();
    long long* const next_memory = next_memory_.data();
    for (std::size_t i = 0; i < costs_.shared.size(); ++i) seen[i] = 0;
    int front = 0, back = 0, last = 0;
    long long sum = 0;
    for (int first = 0; first < count_; ++first) {
      for (; last < count_; ++last) {
        long long needed = sum + own[last];
        if (kind[last] >= 0 && seen[kind[last]] == 0) needed += shared[kind[last]];
        long long const most =
            front < back && temporary[highest[front]] > temporary[last] ? temporary[highest[front]] : temporary[last];
        next_memory[first] = needed + most;
        if (needed + most > capacity_) break;
        sum = needed;
        if (kind[last] >= 0) ++seen[kind[last]];
        while (front < back && temporary[highest[back - 1]] <= temporary[last]) --back;
        highest[back++] = last;
      }
      reach[first] = last;
      if (last == first) {  // not even one position fits
        ++last;
        continue;
      }
      sum -= own[first];
      if (kind[first] >= 0 && --seen[kind[first]] == 0) sum -= shared[kind[first]];
      if (highest[front] == first) ++front;
    }
  }

  /// The numbers that the highest transfer can be, ascending; -1 for no cut at all.
  constexpr void find_transfers() {
    if (least_ <= 1) transfers_.push_back(-1);
    if (most_ <= 1) return;
    for (int i = 1; i < count_; ++i) {
      if (!costs_.may_cut_before(i)) continue;
      long long const transfer = costs_.transfer_before(i);
      std::size_t low = 0, high = transfers_.size();
      while (low < high) {
        std::size_t const middle = (low + high) / 2;
        if (transfers_[middle] < transfer)
          low = middle + 1;
        else
          high = middle;
      }
      if (low < transfers_.size() && transfers_[low] == transfer) continue;
      transfers_.push_back(transfer);
      long long* const sorted = transfers_.data();
      for (std::size_t k = transfers_.size() - 1; k > low; --k) sorted[k] = sorted[k - 1];
      sorted[low] = transfer;
    }
  }
  [[nodiscard]] constexpr long long transfer(int number) const {
    return transfers_[number] < 0 ? 0 : transfers_[number];
  }

  /// Cuts only where the transfer is not higher.
  constexpr void use_cuts_up_to(long long highest) {
    int* const cuts = cuts_.data();
    int* const ends = ends_.data();
    int const* const reach = reach_.data();
    long long* const sums = sums_.data();
    long long const *const transfers = costs_.transfer.data(), *const cycles = costs_.cycles.data();
    bool const* const joined = costs_.joined.data();
    int const with_transfer = static_cast<int>(costs_.transfer.size());
    int const may_be_joined = static_cast<int>(costs_.joined.size());
    int pieces = 0;
    long long sum = 0;
    for (int i = 0; i < count_; ++i) {
      if (i == 0 || (!(i < may_be_joined && joined[i]) && (i < with_transfer ? transfers[i] : 0) <= highest)) {
        sums[pieces] = sum;
        cuts[pieces++] = i;
      }
      sum += cycles[i];
    }
    sums[pieces] = sum;
    cuts[pieces] = count_;
    pieces_ = pieces;
    int end = 0;
    for (int i = 0; i < pieces; ++i) {
      int const limit = reach[cuts[i]];
      if (end < i) end = i;
      while (end < pieces && cuts[end + 1] <= limit) ++end;
      ends[i] = end;
    }
  }

  /// The last cut at which a stage may end that begins at one; the same, if not even one piece fits.
  [[nodiscard]] constexpr int end_of_stage(int from, long long cycles) const {
    long long const* const sums = sums_.data();
    long long const limit = sums[from] + cycles;
    int low = from, high = ends_[from];
    while (low < high) {
      int const middle = (low + high + 1) / 2;
      if (sums[middle] <= limit)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

  struct filling {
    int stages = 0;
    long long cycles = 0;                    ///< cycles of the slowest stage
    long long next_cycles = highest_number;  ///< the least limit with which a stage would end later
    long long next_memory = highest_number;  ///< the least limit of memory with which a stage would end later
  };

  /// Fills one stage after the other, as far as the bounds allow.
  [[nodiscard]] constexpr filling fill(long long cycles) const {
    if (cycles > total_) cycles = total_;
    filling result;
    for (int from = 0; from < pieces_;) {
      int const to = end_of_stage(from, cycles);
      if (to < ends_[from]) {
        long long const next = sums_[to + 1] - sums_[from];
        if (next < result.next_cycles) result.next_cycles = next;
      } else if (to < pieces_ && next_memory_[cuts_[from]] < result.next_memory) {
        result.next_memory = next_memory_[cuts_[from]];
      }
      if (to == from || ++result.stages > most_) return {too_many, 0, result.next_cycles, result.next_memory};
      long long const taken = sums_[to] - sums_[from];
      if (taken > result.cycles) result.cycles = taken;
      from = to;
    }
    return result;
  }

  /// The memory of the fullest stage, with stages as full as the capacity allows.
  [[nodiscard]] constexpr long long highest_memory() const {
    long long result = 0;
    for (int from = 0; from < pieces_; from = ends_[from])
      if (auto const memory = costs_.memory_of(cuts_[from], cuts_[ends_[from]]); memory > result) result = memory;
    return result;
  }

  /// No stage has fewer cycles than the largest piece, and all have not less than an equal share.
  [[nodiscard]] constexpr long long lowest_cycles() const {
    int const stages = most_ < pieces_ ? most_ : pieces_;
    long long result = (total_ + stages - 1) / stages;
    long long const* const sums = sums_.data();
    for (int i = 0; i < pieces_; ++i)
      if (sums[i + 1] - sums[i] > result) result = sums[i + 1] - sums[i];
    return result;
  }

  /// True if one of the transfers [first, last) may be better than the best so far: with the cuts of the highest and
  /// the time of the lowest.
  constexpr bool may_be_better(int first, int last) {
    use_cuts_up_to(transfers_[last - 1]);
    if (pieces_ < least_) return false;
    if (best_stages_ == 0) return true;
    long long const cycles = best_period_ - transfer(first);
    if (cycles < 0) return false;
    if (best_stages_ > least_ && fill(cycles).stages < best_stages_) return true;
    return fill(cycles - 1).stages <= most_;
  }

  /// Finds the lowest cycles with one highest transfer.
  constexpr void try_transfer(int number) {
    if (!may_be_better(number, number + 1)) return;
    bool const is_first = best_stages_ == 0;
    long long const allowed = is_first ? total_ : best_period_ - transfer(number);
    auto found = fill(allowed);
    if (found.stages > most_) return;
    long long low = lowest_cycles();
    while (low < found.cycles) {  // `found` has few enough stages, none has fewer cycles than `low`
      auto const tried = fill(low + (found.cycles - low) / 2);
      if (tried.stages <= most_)
        found = tried;
      else
        low = tried.next_cycles;
    }
    int const stages = found.stages > least_ ? found.stages : least_;
    if (!is_first && found.cycles == allowed && stages >= best_stages_) return;
    best_period_ = found.cycles + transfer(number);
    best_cycles_ = found.cycles;
    best_transfer_ = transfers_[number];
    best_stages_ = stages;
  }

  /// Cuts for exactly `stages` stages within the bounds; each stage is as near to an equal share of what is left as it
  /// can be, and where two are equally near, the cut with the lower transfer is taken.
  [[nodiscard]] constexpr growing_array<int> even_cuts(long long cycles, int stages) const {
    growing_array<int> earliest(stages + 1, 0);  // where stage s must begin at the earliest, so that the rest fits
    earliest[stages] = pieces_;
    for (int s = stages - 1; s > 0; --s) {
      int const end = earliest[s + 1], last = pieces_ - (stages - s);
      int begin = end;
      while (begin > 0 && ends_[begin - 1] >= end && sums_[end] - sums_[begin - 1] <= cycles) --begin;
      earliest[s] = begin < last ? begin : last;
    }
    growing_array<int> result{0};
    int from = 0;
    for (int s = 1; s < stages; ++s) {
      long long const share = (total_ - sums_[from]) / (stages - s + 1);
      auto const distance = [&](int to) {
        long long const more = sums_[to] - sums_[from] - share;
        return more < 0 ? -more : more;
      };
      int to = earliest[s] > from ? earliest[s] : from + 1;
      int const end = end_of_stage(from, cycles), last = pieces_ - (stages - s);
      for (int i = to + 1; i <= end && i <= last; ++i) {
        long long const now = distance(i), before = distance(to);
        if (now < before || (now == before && costs_.transfer_before(cuts_[i]) < costs_.transfer_before(cuts_[to])))
          to = i;
      }
      result.push_back(cuts_[to]);
      from = to;
    }
    result.push_back(count_);
    return result;
  }

  partition_costs const& costs_;
  int count_, least_, most_;
  long long capacity_, total_ = 0;
  // By position: what memory needs, how much of it a stage needs that goes on one position too far, and how far
  // a stage can go.
  plain_array<long long> own_{count_}, temporary_{count_}, next_memory_{count_};
  plain_array<int> kind_{count_}, reach_{count_};
  plain_array<int> seen_{static_cast<int>(costs_.shared.size())}, highest_{count_};  // see find_reach
  growing_array<long long> transfers_;                                               // see find_transfers
  // The cuts in use: 0, where a stage may begin, the end; the cycles before each; and up to which cut memory suffices.
  int pieces_ = 0;
  plain_array<int> cuts_{count_ + 1}, ends_{count_ + 1};
  plain_array<long long> sums_{count_ + 1};
  // The best so far.
  int best_stages_ = 0;
  long long best_period_ = 0, best_cycles_ = 0, best_transfer_ = 0;
};

}  // namespace stagecraft::pipeline
