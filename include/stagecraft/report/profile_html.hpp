// SPDX-License-Identifier: BSD-3-Clause
// A profile as one page of HTML that needs no other file, with its style and the script that sorts its tables.
// Graphcore's counterpart: PopVision's graph analyser.
#pragma once

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

/// The style of the page, with the colours of pictures (svg_drawing.hpp). Neither text has a character that XML or HTML
/// would take for a tag.
inline constexpr std::string_view page_style = R"(
:root { color-scheme: light dark; --sheet: #ffffff; --panel: #f6f8fa; --ink: #1f2328; --faint: #656d76;
  --grid: #d8dee4; --bar: #cfe3fb; --bad: #c0392b; --good: #1a7f5a; }
@media (prefers-color-scheme: dark) {
  :root { --sheet: #0d1117; --panel: #161b22; --ink: #e6edf3; --faint: #8d96a0; --grid: #30363d; --bar: #14345a;
    --bad: #ff7b6b; --good: #4cc38a; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px; max-width: 1208px; background: var(--sheet); color: var(--ink);
  font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 36px 0 4px; }
p { margin: 0 0 10px; color: var(--faint); max-width: 100ch; }
nav { margin: 8px 0 16px; }
nav a { color: inherit; margin-right: 14px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 8px; margin: 16px 0; }
.figure { background: var(--panel); border: 1px solid var(--grid); border-radius: 8px; padding: 10px 12px; }
.figure b { display: block; font-size: 20px; font-variant-numeric: tabular-nums; }
.figure span { display: block; color: var(--faint); font-size: 12px; }
.bad { color: var(--bad); }
.good { color: var(--good); }
.wide { overflow-x: auto; border: 1px solid var(--grid); border-radius: 8px; }
.wide svg { display: block; }
table { border-collapse: collapse; width: 100%; font-size: 12px; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 7px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th { background: var(--panel); position: sticky; top: 0; font-weight: 600; }
th.text, td.text { text-align: left; }
td.name { max-width: 260px; overflow: hidden; text-overflow: ellipsis; }
tbody tr:hover { background: var(--panel); }
th button { all: unset; cursor: pointer; border-bottom: 1px dotted var(--faint); }
th button:hover { border-bottom-style: solid; }
th button:focus-visible { outline: 2px solid currentColor; }
th[aria-sort=ascending] button::after { content: ' \2191'; }
th[aria-sort=descending] button::after { content: ' \2193'; }
td.share { background: linear-gradient(to left, var(--bar) var(--part), transparent var(--part)); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 0; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
footer { margin-top: 36px; color: var(--faint); font-size: 12px; }
@media print { .wide { overflow: visible; } }
)";

/// The script that sorts a table by the column whose name is pressed: by the numbers in its cells' data, or by text.
inline constexpr std::string_view page_script = R"(
document.querySelectorAll('th button').forEach(function (button) {
  button.addEventListener('click', function () {
    var head = button.parentNode, body = head.closest('table').tBodies[0];
    var column = head.cellIndex, up = head.getAttribute('aria-sort') === 'descending' ? 1 : -1;
    if (head.getAttribute('aria-sort') === null) { up = head.className === 'text' ? 1 : -1; }
    var value = function (row) {
      var cell = row.cells[column];
      return cell.hasAttribute('data-value') ? Number(cell.getAttribute('data-value')) : cell.textContent;
    };
    var rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      var x = value(a), y = value(b);
      return up * (typeof x === 'number' ? x - y : x.localeCompare(y));
    });
    head.parentNode.querySelectorAll('th').forEach(function (other) { other.removeAttribute('aria-sort'); });
    head.setAttribute('aria-sort', up === 1 ? 'ascending' : 'descending');
    rows.forEach(function (row) { body.appendChild(row); });
  });
});
)";

/// Writes one page. All of its elements are closed, so that it is XML, too.
class profile_page {
 public:
  profile_page(profile_data const& data, profile_report_options const& options) : data_(data), options_(options) {}

  [[nodiscard]] std::string write() {
    auto const title = !options_.title.empty() ? options_.title : !data_.model.empty() ? data_.model : "Profile";
    page_ << "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
             "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
             "<meta name=\"generator\" content=\"stagecraft\"/>\n<title>";
    page_.xml(title) << "</title>\n<style>" << page_style << "</style>\n</head>\n<body>\n<h1>";
    page_.xml(title) << "</h1>\n";
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
    page_ << "<div class=\"figure\"><b";
    if (!kind.empty()) page_ << " class=\"" << kind << '"';
    page_ << '>';
    page_.xml(value) << "</b><span>" << name << "</span></div>\n";
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
  void picture(std::string_view svg) { page_ << "<div class=\"wide\">\n" << svg << "</div>\n"; }

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
    page_ << "<th scope=\"col\"" << (is_text ? " class=\"text\"" : "") << " title=\"" << hint
          << "\"><button type=\"button\">" << name << "</button></th>";
  }
  void number(std::string_view text, double value, double part = -1) {
    page_ << "<td data-value=\"";
    exact(value);
    page_ << '"';
    if (part >= 0) page_ << " class=\"share\" style=\"--part: " << 100 * std::min(part, 1.0) << "%\"";
    page_ << '>';
    page_.xml(text) << "</td>";
  }
  /// Appends a value for sorting: a whole number, or a share in millionths.
  void exact(double value) { page_ << static_cast<long long>(value < 9e18 && value > -9e18 ? value : 0); }
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
    page_ << "<footer>Times and bytes follow from the emulated machine's description; no IPU was measured.</footer>\n";
    if (!options_.json.empty()) {
      page_ << "<script type=\"application/json\" id=\"profile\">";
      // Within JSON these stand in strings only, and mean the same there.
      for (char const c : options_.json) {
        if (c == '<')
          page_ << "\\u003c";
        else if (c == '&')
          page_ << "\\u0026";
        else if (c == '>')
          page_ << "\\u003e";
        else
          page_ << c;
      }
      page_ << "</script>\n";
    }
    page_ << "<script>" << page_script << "</script>\n</body>\n</html>\n";
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
