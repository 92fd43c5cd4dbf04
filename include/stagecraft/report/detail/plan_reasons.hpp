// SPDX-License-Identifier: BSD-3-Clause
// Why a plan takes the time and the memory that it takes, in sentences; and what becomes of it if one choice changes.
#pragma once

#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/detail/time_line_cut.hpp>
#include <stagecraft/report/plan_data.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::reports {

/// The names of a plan's dimensions on the page.
inline constexpr std::string_view dimension_names[plan_choices::dimensions]{
    "IPUs", "stages per IPU", "split", "schedule", "micro-batches", "replicas", "ranks"};

/// The name of a value: "2", "next best", "interleaved".
[[nodiscard]] inline std::string value_name(plan_choices const& choices, std::size_t dimension, int place) {
  switch (dimension) {
    case 0: return std::to_string(choices.ipus[place]);
    case 1: return std::to_string(choices.stages_per_ipu[place]);
    case 2: return place == 0 ? "best" : "next best";
    case 3: return std::string(name(choices.schedules[place]));
    case 4: return std::to_string(choices.micro_batches[place]);
    case 5: return std::to_string(choices.replicas[place]);
    default: return std::to_string(choices.ranks[place]);
  }
}

/// "4 IPUs", "next best split".
[[nodiscard]] inline std::string choice_text(plan_choices const& choices, std::size_t dimension, int place) {
  auto const value = value_name(choices, dimension, place);
  switch (dimension) {
    case 0: return counted(choices.ipus[place], "IPU");
    case 1: return counted(choices.stages_per_ipu[place], "stage") + " per IPU";
    case 2: return value + " split";
    case 3: return value + " schedule";
    case 4: return counted(choices.micro_batches[place], "micro-batch", "es");
    case 5: return counted(choices.replicas[place], "replica");
    default: return counted(choices.ranks[place], "rank");
  }
}

/// "2 IPUs, 2 stages, grouped schedule, 16 micro-batches, 1 replica".
[[nodiscard]] inline std::string entry_text(plan_entry const& entry) {
  auto const& choice = entry.choice;
  auto text = counted(choice.ipus, "IPU") + ", " + counted(choice.stages, "stage");
  if (choice.stages > 1)
    text += (choice.is_next_best ? ", next best split, " : ", best split, ") + std::string(name(choice.schedule)) +
            " schedule";
  text += ", " + counted(choice.micro_batches, "micro-batch", "es") + ", " + counted(choice.replicas, "replica");
  return choice.ranks > 1 ? text + " on each of " + counted(choice.ranks, "rank") : text;
}

/// A plan that differs from another one in one choice.
struct plan_change {
  std::size_t dimension = 0;  ///< the choice that differs
  int place = 0;              ///< the place of its value in the list of choices
  int entry = 0;              ///< index into plan_data::entries
};

/// All plans that differ from one in one choice, in the order of the choices.
[[nodiscard]] inline std::vector<plan_change> changes_of(plan_data const& data, int entry) {
  std::vector<plan_change> result;
  auto const own = data.choices.places(data.entries[static_cast<std::size_t>(entry)].combination);
  for (std::size_t dimension = 0; dimension < own.size(); ++dimension)
    for (int place = 0; place < data.choices.sizes()[dimension]; ++place) {
      auto other = own;
      other[dimension] = place;
      int const found = data.entry_of[static_cast<std::size_t>(data.choices.combination(other))];
      if (found != entry) result.push_back({dimension, place, found});
    }
  return result;
}

/// Writes the sentences about one plan.
class plan_reasons {
 public:
  plan_reasons(plan_data const& data, int entry)
      : data_(data), number_(entry), entry_(data.entries[static_cast<std::size_t>(entry)]) {}

  /// The reasons, the most important one first. Names of layers are as the model has them: not escaped.
  [[nodiscard]] std::vector<std::string> sentences() {
    if (!entry_.problem.empty()) return {"There is no such plan: " + entry_.problem + "."};
    say_bottleneck();
    say_transfers();
    say_update();
    say_ranks();
    say_bubble();
    say_split();
    say_one_ipu_more();
    say_best_change();
    say_memory();
    return std::move(sentences_);
  }

 private:
  [[nodiscard]] double share(std::int64_t cycles) const { return share_of(cycles, entry_.bounds.cycles()); }

  /// "stage 1 (dense to dense_1)".
  [[nodiscard]] std::string stage_text(int stage) const {
    auto const& [first, last] = entry_.layers_of_stage[static_cast<std::size_t>(stage)];
    return "stage " + std::to_string(stage) + " (" + (first == last ? first : first + " to " + last) + ")";
  }

  /// The layer of an IPU that takes most cycles of a micro-batch.
  void say_slowest_layer(int ipu) {
    auto const& layers = entry_.profile.layers;
    profile_layer const* most = nullptr;
    std::int64_t sum = 0;
    for (auto const& layer : layers) {
      if (layer.ipu != ipu) continue;
      sum += layer.cycles();
      if (most == nullptr || layer.cycles() > most->cycles()) most = &layer;
    }
    if (most == nullptr || sum == 0) return;
    auto const exchanged = most->forward.exchange + most->recompute.exchange + most->backward.exchange +
                           most->forward.sync + most->recompute.sync + most->backward.sync;
    sentences_.push_back("Of the layers there, " + most->name + " takes most: " +
                         percent_text(share_of(most->cycles(), sum)) + " of their cycles, of which exchange and sync " +
                         "are " + percent_text(share_of(exchanged, most->cycles())) + ".");
  }

  void say_bottleneck() {
    auto const& ipus = entry_.bounds.ipus;
    if (ipus.size() < 2) {
      sentences_.push_back("One IPU does everything, so that no IPU waits for another one.");
      say_slowest_layer(0);
      return;
    }
    auto const slowest = static_cast<int>(std::max_element(ipus.begin(), ipus.end()) - ipus.begin());
    auto const own = share(ipus[static_cast<std::size_t>(slowest)]);
    std::string stages;
    for (int stage = 0; stage < entry_.profile.stages(); ++stage)
      if (entry_.profile.device_of_stage[static_cast<std::size_t>(stage)] == slowest)
        stages += (stages.empty() ? "" : ", ") + stage_text(stage);
    sentences_.push_back("The bottleneck is IPU " + std::to_string(slowest) + ", " + stages + ": in " +
                         percent_text(own) + " of the time it works and is the one that the others wait for.");
    say_slowest_layer(slowest);
    std::string others;
    for (std::size_t ipu = 0; ipu < ipus.size(); ++ipu)
      if (static_cast<int>(ipu) != slowest && ipus[ipu] > 0)
        others +=
            (others.empty() ? "" : ", ") + ("IPU " + std::to_string(ipu)) + " in " + percent_text(share(ipus[ipu]));
    if (!others.empty()) sentences_.push_back("Another one is the slowest at other times: " + others + ".");
  }

  void say_bubble() {
    if (entry_.bounds.ipus.size() < 2) return;
    sentences_.push_back("The bubble is " + percent_text(entry_.profile.totals.bubble) +
                         ": the part of the IPUs' time before the weight update in which they wait for others, "
                         "because stages differ, and while the pipeline fills and drains.");
  }

  void say_transfers() {
    if (entry_.bounds.ipus.size() < 2) return;
    std::int64_t most = 0;
    std::string route;
    auto const look_at = [&](std::vector<std::int64_t> const& sent, bool is_backward) {
      for (std::size_t stage = 0; stage < sent.size(); ++stage) {
        if (sent[stage] <= most) continue;
        most = sent[stage];
        route = "the " + std::string(is_backward ? "backward" : "forward") + " pass of " +
                stage_text(static_cast<int>(stage));
      }
    };
    look_at(entry_.sent_forward, false);
    look_at(entry_.sent_backward, true);
    auto const cycles = entry_.bounds.transfers + entry_.bounds.sync;
    sentences_.push_back(
        "Transfers between IPUs and their syncs take " + percent_text(share(cycles)) + " of the time." +
        (most > 0 ? " The largest follows " + route + ": " + bytes_text(most) + " for each micro-batch." : ""));
  }

  void say_update() {
    if (!data_.trains) return;
    sentences_.push_back("The weight update after the micro-batches takes " +
                         percent_text(share(entry_.bounds.update)) + " of the time" +
                         (entry_.choice.replicas > 1 ? ", the replicas' reduction of gradients included." : "."));
  }

  void say_ranks() {
    if (entry_.choice.ranks == 1) return;
    auto const times = three_digits(entry_.choice.ranks * entry_.efficiency());
    sentences_.push_back(
        (data_.trains ? "The sum of gradients over the ranks takes " + percent_text(share(entry_.bounds.network)) +
                            " of the time, in which a rank sends " + bytes_text(entry_.network_bytes) + "."
                      : std::string("Predictions of ranks do not depend on each other.")) +
        " All ranks together have " + times + " times the samples per second of one.");
  }

  void say_memory() {
    profile_ipu const* fullest = nullptr;
    for (auto const& ipu : entry_.profile.ipus)
      if (fullest == nullptr || ipu.most_bytes() > fullest->most_bytes()) fullest = &ipu;
    if (fullest == nullptr || fullest->fullest_tile() < 0) return;
    auto const& tile = fullest->tiles[static_cast<std::size_t>(fullest->fullest_tile())];
    auto const category = std::max_element(tile.bytes.begin(), tile.bytes.end()) - tile.bytes.begin();
    auto const room = entry_.profile.machine.bytes_per_tile, bytes = tile.total();
    std::string text = "Memory: IPU " + std::to_string(fullest->ipu) + " needs most, " + bytes_text(bytes) +
                       " of its fullest tile's " + bytes_text(room) + "; the largest part is " +
                       std::string(to_string(static_cast<memory_category>(category))) + ", " +
                       bytes_text(tile.bytes[static_cast<std::size_t>(category)]) + ".";
    if (bytes > room) text += " It does not fit: " + bytes_text(bytes - room) + " are missing.";
    if (int const peak = fullest->peak_step(); peak >= 0)
      text += " The step that needs most is of " + fullest->steps[static_cast<std::size_t>(peak)].layer + ".";
    sentences_.push_back(text);
  }

  /// "1.2 times as many samples per second", of another plan.
  [[nodiscard]] std::string gain_text(plan_entry const& other) const {
    double const own = entry_.samples_per_second();
    return three_digits(own > 0 ? other.samples_per_second() / own : 0) + " times the samples per second" +
           (other.fits() ? "" : ", but it does not fit");
  }

  /// Says how the other split differs, and what its speed would be.
  void say_split() {
    for (auto const& change : changes_of(data_, number_)) {
      auto const& other = data_.entries[static_cast<std::size_t>(change.entry)];
      if (change.dimension != 2 || other.choice.stages != entry_.choice.stages) continue;
      std::string cuts;
      auto const& own = entry_.layers_of_stage;
      for (std::size_t stage = 1; other.problem.empty() && stage < own.size(); ++stage)
        if (auto const& first = other.layers_of_stage[stage].first; first != own[stage].first)
          cuts += (cuts.empty() ? "" : ", ") + ("stage " + std::to_string(stage)) + " begins with " + first +
                  " instead of " + own[stage].first;
      auto const name = choice_text(data_.choices, 2, change.place);
      sentences_.push_back(other.problem.empty()
                               ? "In the " + name + ", " + cuts + ", which gives " + gain_text(other) + "."
                               : "The " + name + ": " + other.problem + ".");
    }
  }

  void say_one_ipu_more() {
    auto const more = entry_.choice.ipus + 1;
    for (auto const& change : changes_of(data_, number_)) {
      if (change.dimension != 0 || data_.choices.ipus[change.place] != more) continue;
      auto const& other = data_.entries[static_cast<std::size_t>(change.entry)];
      sentences_.push_back("One IPU more, " + std::to_string(more) + " in all, " +
                           (other.problem.empty()
                                ? "gives " + gain_text(other) + "."
                                : "is not possible as the other choices are: " + other.problem + "."));
      return;
    }
    sentences_.push_back("One IPU more, " + std::to_string(more) + " in all, is not among the choices.");
  }

  void say_best_change() {
    int best = -1;
    auto const changes = changes_of(data_, number_);
    auto const rate = [&](int change) {
      return data_.entries[static_cast<std::size_t>(changes[static_cast<std::size_t>(change)].entry)]
          .samples_per_second();
    };
    for (int i = 0; i < static_cast<int>(changes.size()); ++i)
      if (data_.entries[static_cast<std::size_t>(changes[static_cast<std::size_t>(i)].entry)].fits() &&
          (best < 0 || rate(i) > rate(best)))
        best = i;
    if (best < 0) return;
    auto const& change = changes[static_cast<std::size_t>(best)];
    auto const& other = data_.entries[static_cast<std::size_t>(change.entry)];
    if (rate(best) > entry_.samples_per_second() || !entry_.fits())
      sentences_.push_back("If one choice changes, " + choice_text(data_.choices, change.dimension, change.place) +
                           " would give most: " + gain_text(other) + ".");
    else
      sentences_.push_back("No other value of one choice gives more samples per second.");
  }

  plan_data const& data_;
  int number_;
  plan_entry const& entry_;
  std::vector<std::string> sentences_;
};

}  // namespace stagecraft::reports
