// SPDX-License-Identifier: BSD-3-Clause
// Which metrics a training reports of which output, in Keras's order and under its names.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/metrics/confusion.hpp>
#include <stagecraft/metrics/metric_list.hpp>
#include <stagecraft/models/queries.hpp>
#include <array>
#include <cstddef>
#include <string_view>

namespace stagecraft::jobs {

/// One metric of one output.
struct reported_metric {
  metrics::metric metric;
  std::size_t output = 0;
  int index = 0;  ///< among the description's metrics and then its weighted metrics: that of outfeed_mask
  int part = -1;  ///< the number of its threshold, if it has several: its name ends with _threshold_ and this
  bool is_weighted = false;  ///< a mean weighted by sample and class weights
  bool says_so = false;      ///< its name begins with weighted_, since another metric of the output has the name

  /// True if logs could not tell two of them apart.
  [[nodiscard]] constexpr bool has_name_of(reported_metric const& other) const {
    return output == other.output && says_so == other.says_so && part == other.part &&
           metric.name() == other.metric.name();
  }
};

template <std::size_t Capacity>
struct reported_metric_list {
  std::array<reported_metric, Capacity> items{};
  std::size_t count = 0;

  [[nodiscard]] constexpr reported_metric const* begin() const noexcept { return items.data(); }
  [[nodiscard]] constexpr reported_metric const* end() const noexcept { return items.data() + count; }
};

/// The numbers that metrics report of an output, if all are of that.
constexpr std::size_t count_values(metrics::metric_list const& list) {
  std::size_t count = 0;
  for (auto const& each : list) count += static_cast<std::size_t>(each.parts > 1 ? each.parts : 1);
  return count;
}

template <class Job>
constexpr auto list_metrics() {
  // Copies, since Clang 19 finds members of class type of a template argument at wrong places.
  constexpr auto plain = Job::training.metrics, weighted = Job::training.weighted_metrics;
  constexpr std::size_t outputs = output_names<typename Job::model>.size();
  constexpr std::size_t most = count_values(plain) + count_values(weighted);
  reported_metric_list<outputs * most> result;
  for (std::size_t output = 0; output < outputs; ++output)
    for (int index = 0; index < plain.size() + weighted.size(); ++index) {
      bool const is_weighted = index >= plain.size();
      auto const& list = is_weighted ? weighted : plain;
      int const place = is_weighted ? index - plain.size() : index;
      if (!list.is_of(place, static_cast<int>(output), output_names<typename Job::model>[output])) continue;
      reported_metric added{.metric = list[place], .output = output, .index = index, .is_weighted = is_weighted};
      int const parts = added.metric.parts;
      for (int part = parts > 1 ? 0 : -1; part < (parts > 1 ? parts : 0); ++part) {
        added.part = part;
        if (part >= 0) added.metric = metrics::detail::part_of(list[place], part);
        added.says_so = false;
        if (is_weighted)
          for (auto const& other : result) added.says_so |= other.has_name_of(added);
        result.items[result.count++] = added;
      }
    }
  return result;
}

/// All metrics of a training, output by output: first the plain ones, then those that are weighted.
template <class Job>
inline constexpr auto reported_metrics = list_metrics<Job>();

}  // namespace stagecraft::jobs
