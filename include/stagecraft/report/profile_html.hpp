// SPDX-License-Identifier: BSD-3-Clause
// A profile as one page of HTML that needs no other file, with its style and the script that sorts its tables.
// Graphcore's counterpart: PopVision's graph analyser.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/report/detail/html_page.hpp>
#include <stagecraft/report/detail/text_table.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/plot_profile.hpp>
#include <stagecraft/report/plot_timetable.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <stagecraft/report/profile_options.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft::reports {

/// Writes one page. All of its elements are closed, so that it is XML, too.
class profile_page {
 public:
  profile_page(profile_data const& data, profile_report_options const& options) : data_(data), options_(options) {}

  [[nodiscard]] std::string write() {
    auto const title = !options_.title.empty() ? options_.title : !data_.model.empty() ? data_.model : "Profile";
    begin_page(page_, title);
    write_contents();
    write_figures();
    write_facts();
    if (has_tiles()) {
      begin_section(
          "memory", "Memory by tile",
          "What lies in each tile's memory when its IPU needs most. All but the uppermost colour is there all "
          "the time.");
      picture(memory_svg(data_));
    }
    if (has_steps()) {
      begin_section("liveness", "Memory over the program",
                    "The fullest tile of each IPU, step by step in the order of its program: what is always live, and "
                    "what steps need on top of it. The bars below name the passes.");
      picture(liveness_svg(data_));
    }
    if (data_.time_line.cycles > 0) write_times();
    if (data_.stages() > 1) {
      begin_section("pipeline", "Pipeline", "The timetable, as if all passes took the same time.");
      picture(timetable_svg(data_.timetable(), {.max_slots = options_.max_slots}));
    }
    if (!data_.layers.empty()) write_layers();
    write_end();
    return page_.take();
  }

 private:
  [[nodiscard]] bool has_tiles() const {
    return std::any_of(data_.ipus.begin(), data_.ipus.end(), [](auto const& ipu) { return !ipu.tiles.empty(); });
  }
  [[nodiscard]] bool has_steps() const {
    return std::any_of(data_.ipus.begin(), data_.ipus.end(), [](auto const& ipu) { return !ipu.steps.empty(); });
  }
  [[nodiscard]] bool has_cycles() const {
    return std::any_of(data_.ipus.begin(), data_.ipus.end(), [](auto const& ipu) { return !ipu.cycles_of.empty(); });
  }

  void write_contents() {
    page_ << "<nav>";
    auto const link = [&](bool is_there, std::string_view id, std::string_view name) {
      if (is_there) page_ << "<a href=\"#" << id << "\">" << name << "</a>";
    };
    link(has_tiles(), "memory", "Memory by tile");
    link(has_steps(), "liveness", "Memory over the program");
    link(data_.time_line.cycles > 0, "time", "Time line");
    link(data_.stages() > 1, "pipeline", "Pipeline");
    link(!data_.layers.empty(), "layers", "Layers");
    page_ << "</nav>\n";
  }

  void figure(std::string_view value, std::string_view name, std::string_view kind = "") {
    write_figure(page_, value, name, kind);
  }
  void write_figures() {
    auto const& totals = data_.totals;
    std::int64_t most = 0;
    for (auto const& ipu : data_.ipus) most = std::max(most, ipu.most_bytes());
    page_ << "<div class=\"figures\">\n";
    figure(percent_text(share_of(most, data_.machine.bytes_per_tile)),
           data_.fits() ? "of the fullest tile's memory: fits" : "of the fullest tile's memory: does not fit",
           data_.fits() ? "good" : "bad");
    figure(seconds_text(totals.seconds_per_update), data_.trains ? "per weight update" : "per execution");
    figure(rate_text(totals.samples_per_second), "samples per second");
    figure(seconds_text(totals.latency_seconds), "latency");
    if (data_.stages() > 1) figure(percent_text(totals.bubble), "bubble");
    figure(percent_text(totals.exchange_share), "exchange and sync");
    figure(percent_text(totals.utilisation), "utilisation");
    page_ << "</div>\n";
  }
  void write_facts() {
    page_ << "<dl>\n";
    for (auto const& [name, value] : facts_of(data_)) {
      page_ << "<dt>" << name << "</dt><dd>";
      page_.xml(value) << "</dd>\n";
    }
    page_ << "</dl>\n";
  }

  void begin_section(std::string_view id, std::string_view name, std::string_view text) {
    page_ << "<h2 id=\"" << id << "\">" << name << "</h2>\n<p>" << text << "</p>\n";
  }
  void picture(std::string_view svg) { write_picture(page_, svg); }

  void write_times() {
    begin_section(
        "time", "Time line",
        "What each IPU does when. Upper rows: passes, named as in the timetable below: F3 is the forward pass "
        "of micro-batch 3, B3 its backward pass, R3 its recomputation, U the weight update. Lower rows: what "
        "takes the time.");
    picture(time_line_svg(data_, options_));
    if (!has_cycles()) return;
    page_ << "<p style=\"margin-top: 14px\">The cycles of each IPU in all of that time:</p>\n";
    picture(cycles_svg(data_));
  }

  // The table of layers.
  void head(std::string_view name, std::string_view hint, bool is_text = false) {
    write_column(page_, name, hint, is_text);
  }
  void number(std::string_view text, double value, double part = -1) { write_number(page_, text, value, part); }
  void cycles(std::int64_t count, std::int64_t most) {
    number(grouped_digits(count), static_cast<double>(count), share_of(count, most));
  }

  void write_layers() {
    begin_section(
        "layers", "Layers",
        "Cycles of a layer's forward and backward steps are per micro-batch, backward ones with recomputation; "
        "update: of its weights. The name of a column sorts the table.");
    page_ << "<div class=\"wide\">\n<table>\n<thead><tr>";
    head("layer", "in the order of the model", true);
    head("class", "of the layer", true);
    head("stage", "of the pipeline");
    head("IPU", "on which it runs");
    head("forward", "cycles per micro-batch");
    head("backward", "cycles per micro-batch, with recomputation");
    head("update", "cycles of the weights' update");
    head("compute", "part of the cycles, forward and backward");
    head("exchange", "part of the cycles, forward and backward");
    head("sync", "part of the cycles, forward and backward");
    head("weights", "of all tiles");
    head("temporary", "of the fullest tile, in the step that needs most");
    head("exchanged", "bytes per micro-batch, received by the tile that receives most");
    head("flops", "per micro-batch");
    head("utilisation", "of the units for matrix products");
    page_ << "</tr></thead>\n<tbody>\n";
    std::int64_t most = 1;
    for (auto const& layer : data_.layers)
      most = std::max(
          {most, layer.forward.total(), layer.recompute.total() + layer.backward.total(), layer.update.total()});
    for (auto const& layer : data_.layers) write_layer(layer, most);
    page_ << "</tbody>\n</table>\n</div>\n";
  }
  void write_layer(profile_layer const& layer, std::int64_t most) {
    page_ << "<tr><td class=\"text name\" title=\"";
    page_.xml(layer.name) << "\">";
    page_.xml(layer.name) << "</td><td class=\"text\">";
    page_.xml(layer.class_name) << "</td>";
    number(std::to_string(layer.stage), layer.stage);
    number(std::to_string(layer.ipu), layer.ipu);
    cycles(layer.forward.total(), most);
    cycles(layer.recompute.total() + layer.backward.total(), most);
    cycles(layer.update.total(), most);
    auto const all = layer.cycles();
    auto const share = [&](std::int64_t profile_cycles::* part) {
      double const own = share_of(layer.forward.*part + layer.recompute.*part + layer.backward.*part, all);
      number(percent_text(own), own * 1e6);
    };
    share(&profile_cycles::compute);
    share(&profile_cycles::exchange);
    share(&profile_cycles::sync);
    auto const bytes = [&](std::int64_t count) { number(bytes_text(count), static_cast<double>(count)); };
    bytes(layer.weight_bytes);
    bytes(layer.temporary_bytes);
    bytes(layer.bytes_exchanged);
    number(count_text(static_cast<double>(layer.flops)), static_cast<double>(layer.flops));
    number(percent_text(layer.utilisation), layer.utilisation * 1e6);
    page_ << "</tr>\n";
  }

  void write_end() {
    write_footer(page_);
    if (!options_.json.empty()) write_page_json(page_, "profile", options_.json);
    end_page(page_);
  }

  profile_data const& data_;
  profile_report_options const& options_;
  text_writer page_;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// A profile as one page of HTML, light or dark as the reader's other pages: the figures that matter, memory by tile,
/// memory over the program, the time line of each IPU, the pipeline's timetable, and a table of layers that can be
/// sorted. Style, pictures and the table's script are inside the page, so that it can be sent and kept as one file.
[[nodiscard]] inline std::string profile_html(profile_data const& data, profile_report_options const& options = {}) {
  return detail::profile_page(data, options).write();
}

/// Writes profile_html(data, options) to a file. Throws file_error E5050 if that is not possible.
inline void write_profile_html(profile_data const& data, std::string const& to_file = "profile.html",
                               profile_report_options const& options = {}) {
  detail::write_text_file(to_file, profile_html(data, options), "write_profile_html");
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
