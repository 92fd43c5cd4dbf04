// SPDX-License-Identifier: BSD-3-Clause
// A profile as text for terminals, tables and bars of plain characters; and the stages of a model as a solution file,
// which sc::pipeline::solution_file and `stagecraft convert` read.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/plan/layer_path.hpp>
#include <stagecraft/report/detail/text_table.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/detail/time_line_cut.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <stagecraft/report/profile_options.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// Writes one profile.
class profile_text_writer {
 public:
  profile_text_writer(profile_data const& data, profile_report_options const& options)
      : data_(data), options_(options) {}

  [[nodiscard]] std::string write() {
    write_summary();
    if (!data_.ipus.empty()) {
      write_memory();
      write_peaks();
      write_cycles();
    }
    if (!data_.layers.empty()) write_layers();
    return std::move(text_);
  }

 private:
  static constexpr int bar_width = 40;

  void heading(std::string_view name) { text_.append("\n").append(name).append("\n"); }
  void add(text_table const& table) { text_ += table.text(); }

  void write_summary() {
    auto const title = options_.title.empty() ? data_.model : options_.title;
    if (!title.empty()) text_ += printable(title) + "\n";
    text_table table({false, false});
    for (auto const& [name, value] : facts_of(data_)) table.add({name, printable(value)});
    add(table);
  }

  void write_memory() {
    heading("Memory of each IPU's fullest tile");
    text_table table({true, false, true, true, true, true, true, false});
    table.add({"IPU", "stages", "tile", "always live", "not always", "in all", "of room", ""});
    table.rule();
    auto const room = data_.machine.bytes_per_tile;
    for (auto const& ipu : data_.ipus) {
      int const fullest = ipu.fullest_tile();
      auto const tile = fullest < 0 ? profile_tile{} : ipu.tiles[fullest];
      double const share = share_of(tile.total(), room);
      table.add({std::to_string(ipu.ipu), stages_text(data_, ipu.ipu), fullest < 0 ? "-" : std::to_string(fullest),
                 bytes_text(tile.always_live()), bytes_text(tile[memory_category::not_always_live]),
                 bytes_text(tile.total()), percent_text(share), "[" + bar(share, bar_width / 2, true) + "]"});
    }
    add(table);
    heading("By category, on the fullest tile");
    text_table categories = by_ipu("");
    for (int i = 0; i < memory_category_count; ++i) {
      auto const category = static_cast<memory_category>(i);
      std::vector<std::string> row{std::string(to_string(category))};
      for (auto const& ipu : data_.ipus) {
        int const fullest = ipu.fullest_tile();
        row.push_back(bytes_text(fullest < 0 ? 0 : ipu.tiles[fullest][category]));
      }
      categories.add(row);
    }
    add(categories);
  }

  void write_peaks() {
    if (std::all_of(data_.ipus.begin(), data_.ipus.end(), [](auto const& ipu) { return ipu.steps.empty(); })) return;
    heading("Steps that need most memory");
    text_table table({true, false, false, true, true});
    table.add({"IPU", "step", "pass", "not always", "in all"});
    table.rule();
    for (auto const& ipu : data_.ipus) {
      std::vector<std::size_t> order(ipu.steps.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::sort(order.begin(), order.end(), [&](auto a, auto b) {
        auto const of_a = ipu.steps[a].bytes(), of_b = ipu.steps[b].bytes();
        return of_a != of_b ? of_a > of_b : a < b;
      });
      for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 3); ++i) {
        auto const& step = ipu.steps[order[i]];
        table.add({i == 0 ? std::to_string(ipu.ipu) : "", printable(step.layer), std::string(to_string(step.pass)),
                   bytes_text(step.not_always_live_bytes), bytes_text(step.bytes())});
      }
    }
    add(table);
  }

  void write_cycles() {
    if (std::all_of(data_.ipus.begin(), data_.ipus.end(), [](auto const& ipu) { return ipu.cycles_of.empty(); }))
      return;
    heading("Where the cycles go");
    text_table table = by_ipu("");
    for (int i = 0; i < cycle_kind_count; ++i) {
      auto const place = static_cast<std::size_t>(i);
      std::vector<std::string> row{std::string(to_string(static_cast<cycle_kind>(i)))};
      for (auto const& ipu : data_.ipus) {
        std::int64_t sum = 0;
        for (auto const cycles : ipu.cycles_of) sum += cycles;
        row.push_back(place < ipu.cycles_of.size() ? percent_text(share_of(ipu.cycles_of[place], sum)) : "-");
      }
      table.add(row);
    }
    add(table);
  }

  void write_layers() {
    std::vector<profile_layer const*> shown;
    for (auto const& layer : data_.layers) shown.push_back(&layer);
    auto const most = static_cast<std::size_t>(std::max(options_.max_layers, 0));
    bool const cuts = most > 0 && shown.size() > most;
    if (cuts) {
      auto sorted = shown;
      std::sort(sorted.begin(), sorted.end(),
                [](auto* a, auto* b) { return a->cycles() != b->cycles() ? a->cycles() > b->cycles() : a < b; });
      sorted.resize(most);
      std::erase_if(shown, [&](auto* layer) { return std::find(sorted.begin(), sorted.end(), layer) == sorted.end(); });
    }
    heading(cuts ? "Layers, the " + std::to_string(most) + " of " + std::to_string(data_.layers.size()) +
                       " that take most cycles"
                 : std::string("Layers"));
    text_table table({false, false, true, true, true, true, true, true, true, true, false});
    table.add({"layer", "class", "stage", "forward", "backward", "update", "weights", "temporary", "flops", "use", ""});
    table.rule();
    std::int64_t largest = 1;
    for (auto const* layer : shown) largest = std::max(largest, layer->cycles());
    for (auto const* layer : shown)
      table.add({printable(layer->name), printable(layer->class_name), std::to_string(layer->stage),
                 count_text(static_cast<double>(layer->forward.total())),
                 count_text(static_cast<double>(layer->recompute.total() + layer->backward.total())),
                 count_text(static_cast<double>(layer->update.total())), bytes_text(layer->weight_bytes),
                 bytes_text(layer->temporary_bytes), count_text(static_cast<double>(layer->flops)),
                 percent_text(layer->utilisation), bar(share_of(layer->cycles(), largest), 16, false)});
    add(table);
    text_ +=
        "Cycles per micro-batch, backward with recomputation; weights of all tiles; temporary: of the fullest\n"
        "tile; use: of the units for matrix products; bars: cycles.\n";
  }

  /// A table with a column for each IPU.
  [[nodiscard]] text_table by_ipu(std::string first) const {
    std::vector<bool> right(data_.ipus.size() + 1, true);
    right[0] = false;
    text_table table(right);
    std::vector<std::string> row{std::move(first)};
    for (auto const& ipu : data_.ipus) row.push_back("IPU " + std::to_string(ipu.ipu));
    table.add(row);
    table.rule();
    return table;
  }

  profile_data const& data_;
  profile_report_options const& options_;
  std::string text_;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// A profile as text, plain ASCII but for names (and for microseconds): the model and the machine, time per weight
/// update, memory of the fullest tiles with bars, the steps that need most, cycles by purpose, and a table of layers.
[[nodiscard]] inline std::string profile_text(profile_data const& data, profile_report_options const& options = {}) {
  return detail::profile_text_writer(data, options).write();
}

/// Writes profile_text(data, options) to a file. Throws file_error E5050 if that is not possible.
inline void write_profile_text(profile_data const& data, std::string const& to_file = "profile.txt",
                               profile_report_options const& options = {}) {
  detail::write_text_file(to_file, profile_text(data, options), "write_profile_text");
}

/// The text of a solution file: names with their stages, and the device of each stage. A name has neither quotes nor
/// backslashes.
[[nodiscard]] inline std::string solution_text(std::span<std::pair<std::string, int> const> mapping,
                                               tracing::array_view<int const> devices) {
  std::string text = "{\n \"device_mapping\": [";
  for (std::size_t i = 0; i < devices.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(devices[i]);
  text += "],\n \"pipeline_mapping\": {";
  for (std::size_t i = 0; i < mapping.size(); ++i)
    text += (i == 0 ? "\n  \"" : ",\n  \"") + mapping[i].first + "\": " + std::to_string(mapping[i].second);
  return text + "\n }\n}\n";
}

/// The text of a pipelined model's solution file, in Keras's order. A layer has one entry, and one more for each call
/// whose stage is not that of its first call.
///
///     std::ofstream("resnet50.pipeconfig") << sc::solution_text<sc::even_pipeline<resnet50, 4>>();
template <Model M>
[[nodiscard]] std::string solution_text() {
  constexpr auto const& graph = graph_of<M>;
  constexpr auto const& staged = detail::checked_stages<M>;
  std::vector<std::pair<std::string, int>> mapping;
  for (int const call : graph.order) {
    int const stage = staged.stage(call), first = graph.layer_of(call).first_call;
    if (graph.call(call).node_index == 0 || stage != staged.stage(first))
      mapping.emplace_back(detail::path_of_call(graph, call), stage);
  }
  std::vector<int> devices;
  for (int stage = 0; stage < staged.stage_count(); ++stage) devices.push_back(staged.device(stage));
  return solution_text(mapping, devices);
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
