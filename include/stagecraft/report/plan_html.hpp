// SPDX-License-Identifier: BSD-3-Clause
// The plans of a model as one page of HTML that needs no other file: a person chooses, and sees the profile of the
// combination and why it is so. All numbers stand in the page; its script shows and hides.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/report/detail/html_page.hpp>
#include <stagecraft/report/detail/plan_reasons.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/plan_data.hpp>
#include <stagecraft/report/plan_json.hpp>
#include <stagecraft/report/plot_profile.hpp>
#include <stagecraft/report/profile_options.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stagecraft::reports {

inline constexpr std::string_view plan_style = R"(
#choices { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: 8px 16px; margin: 16px 0;
  padding: 10px 12px; background: var(--panel); border: 1px solid var(--grid); border-radius: 8px; }
#choices label { font-size: 12px; color: var(--faint); }
#choices select { display: block; font: inherit; font-size: 14px; color: var(--ink); background: var(--sheet);
  border: 1px solid var(--grid); border-radius: 6px; padding: 3px 6px; }
.plan { scroll-margin-top: 90px; }
.plan[hidden]:target { display: block; }
.plan li { margin: 2px 0; max-width: 100ch; overflow-wrap: anywhere; }
tr.shown { background: var(--bar); }
.all { max-height: 480px; overflow: auto; }
td a { color: inherit; }
@media (max-width: 600px) { #choices { position: static; } .plan { scroll-margin-top: 200px; } }
)";

inline constexpr std::string_view plan_script = R"(
(function () {
  var plan = JSON.parse(document.getElementById('plan').textContent);
  var list = function (what) { return Array.prototype.slice.call(document.querySelectorAll(what)); };
  var selects = list('#choices select'), plans = list('.plan'), rows = list('tr[data-plan]');
  var show = function (number) {
    plans.forEach(function (each, i) { each.hidden = i !== number; });
    rows.forEach(function (row) { row.className = Number(row.getAttribute('data-plan')) === number ? 'shown' : ''; });
  };
  var chosen = function () {
    return selects.reduce(function (sum, each) {
      return sum + Number(each.getAttribute('data-stride')) * each.selectedIndex;
    }, 0);
  };
  selects.forEach(function (each) {
    each.addEventListener('change', function () {
      var number = plan.entry_of[chosen()];
      history.replaceState(null, '', '#plan' + number);
      show(number);
    });
  });
  var follow = function () {
    var found = /^#plan(\d+)$/.exec(location.hash), number = found ? Number(found[1]) : plan.best;
    if (number >= plans.length) { number = plan.best; }
    if (plan.entry_of[chosen()] !== number) {
      var combination = plan.entries[number].combination;
      selects.forEach(function (each) {
        var stride = Number(each.getAttribute('data-stride'));
        each.selectedIndex = Math.floor(combination / stride) % each.length;
      });
    }
    show(number);
  };
  window.addEventListener('hashchange', follow);
  follow();
})();
)";

/// Writes one page. All of its elements are closed, so that it is XML, too.
class plan_page {
 public:
  plan_page(plan_data const& data, profile_report_options const& options) : data_(data), options_(options) {}

  [[nodiscard]] std::string write() {
    auto const title = options_.title.empty() ? "Plans of " + data_.model : options_.title;
    begin_page(page_, title, plan_style);
    page_ << "<p>Choose how the model is divided and carried out. The compiler has computed the profile of each of the "
          << counted(data_.choices.combinations(), "combination")
          << "; nothing was run. With one stage, split and schedule change nothing.</p>\n";
    write_choices();
    int const best = data_.best();
    for (std::size_t i = 0; i < data_.entries.size(); ++i)
      write_entry(static_cast<int>(i), static_cast<int>(i) == best);
    write_all();
    write_footer(page_);
    write_page_json(page_, "plan", plan_json(data_));
    end_page(page_, plan_script);
    return page_.take();
  }

 private:
  [[nodiscard]] plan_entry const& entry(int number) const { return data_.entries[static_cast<std::size_t>(number)]; }

  void write_choices() {
    auto const sizes = data_.choices.sizes();
    auto const chosen =
        data_.entries.empty() ? decltype(sizes){} : data_.choices.places(entry(data_.best()).combination);
    page_ << "<form id=\"choices\">\n";
    int stride = data_.choices.combinations();
    for (std::size_t dimension = 0; dimension < sizes.size(); ++dimension) {
      int const size = sizes[dimension];
      stride /= std::max(size, 1);
      page_ << "<label>" << dimension_names[dimension] << "<select name=\"" << dimension_names[dimension]
            << "\" data-stride=\"" << stride << "\" autocomplete=\"off\"" << (size < 2 ? " disabled=\"disabled\"" : "")
            << ">";
      for (int place = 0; place < size; ++place) {
        page_ << "<option" << (place == chosen[dimension] ? " selected=\"selected\"" : "") << ">";
        page_.xml(value_name(data_.choices, dimension, place)) << "</option>";
      }
      page_ << "</select></label>\n";
    }
    page_ << "</form>\n<noscript><p>Without scripts, the table below leads to each combination.</p></noscript>\n";
  }

  void write_entry(int number, bool is_shown) {
    auto const& own = entry(number);
    page_ << "<section class=\"plan\" id=\"plan" << number << '"' << (is_shown ? "" : " hidden=\"hidden\"")
          << ">\n<h2>";
    page_.xml(entry_text(own)) << "</h2>\n";
    if (own.problem.empty()) write_figures(own);
    page_ << "<h3>Why</h3>\n<ul>\n";
    for (auto const& sentence : plan_reasons(data_, number).sentences()) {
      page_ << "<li>";
      page_.xml(sentence) << "</li>\n";
    }
    page_ << "</ul>\n";
    write_changes(number);
    if (own.problem.empty()) {
      page_ << "<h3>Time line</h3>\n<p>Upper rows: passes, such as F3, the forward pass of micro-batch 3, B3 its "
               "backward pass, U the weight update. Lower rows: what takes the time; gray is waiting.</p>\n";
      write_picture(page_, time_line_svg(own.profile, options_));
      page_ << "<h3>Memory by tile</h3>\n";
      write_picture(page_, memory_svg(own.profile));
    }
    page_ << "</section>\n";
  }

  void write_figures(plan_entry const& own) {
    auto const& profile = own.profile;
    auto const& totals = profile.totals;
    page_ << "<div class=\"figures\">\n";
    write_figure(page_, rate_text(own.samples_per_second()), "samples per second");
    write_figure(page_, percent_text(share_of(most_bytes(own), profile.machine.bytes_per_tile)),
                 profile.fits() ? "of the fullest tile's memory: fits" : "of the fullest tile's memory: does not fit",
                 profile.fits() ? "good" : "bad");
    write_figure(page_, percent_text(totals.bubble), "bubble");
    write_figure(page_, seconds_text(own.seconds_per_update()), profile.trains ? "per weight update" : "per execution");
    write_figure(page_, seconds_text(totals.latency_seconds), "latency");
    write_figure(page_, percent_text(totals.exchange_share), "exchange and sync");
    if (own.choice.ranks > 1) write_figure(page_, percent_text(own.efficiency()), "of the time ranks work");
    page_ << "</div>\n";
  }

  void write_changes(int number) {
    auto const changes = changes_of(data_, number);
    if (changes.empty()) return;
    page_ << "<h3>If one choice changes</h3>\n<div class=\"wide\">\n<table>\n<thead><tr>";
    write_column(page_, "instead", "the value of the choice that changes", true);
    write_columns();
    page_ << "</tr></thead>\n<tbody>\n";
    for (auto const& change : changes) {
      page_ << "<tr><td class=\"text\"><a href=\"#plan" << change.entry << "\">";
      page_.xml(choice_text(data_.choices, change.dimension, change.place)) << "</a></td>";
      write_cells(entry(change.entry), entry(number).samples_per_second());
    }
    page_ << "</tbody>\n</table>\n</div>\n";
  }

  /// The table of all combinations, which are compared with the one that is shown first.
  void write_all() {
    if (data_.entries.empty()) return;
    double const best = entry(data_.best()).samples_per_second();
    page_ << "<h2 id=\"all\">All combinations</h2>\n<p>The name of a column sorts the table. times: the samples per "
             "second, divided by those of the fastest that fits.</p>\n<div class=\"wide all\">\n<table>\n<thead><tr>";
    for (auto const& [name, hint] : {std::pair{"IPUs", "of a replica"}, {"stages", "of the pipeline"}})
      write_column(page_, name, hint);
    write_column(page_, "split", "into stages", true);
    write_column(page_, "schedule", "of the pipeline", true);
    write_column(page_, "micro-batches", "of a replica");
    write_column(page_, "replicas", "copies of the model, of each rank");
    write_column(page_, "ranks", "processes of the cluster");
    write_columns();
    page_ << "</tr></thead>\n<tbody>\n";
    for (std::size_t i = 0; i < data_.entries.size(); ++i) {
      auto const& own = data_.entries[i];
      auto const& choice = own.choice;
      auto const number = [&](int value) { write_number(page_, std::to_string(value), value); };
      page_ << "<tr data-plan=\"" << static_cast<int>(i) << "\"><td data-value=\"" << choice.ipus
            << "\"><a href=\"#plan" << static_cast<int>(i) << "\">" << choice.ipus << "</a></td>";
      number(choice.stages);
      bool const is_divided = choice.stages > 1;
      page_ << "<td class=\"text\">"
            << (!is_divided           ? "-"
                : choice.is_next_best ? "next best"
                                      : "best")
            << "</td><td class=\"text\">" << (is_divided ? name(choice.schedule) : std::string_view("-")) << "</td>";
      number(choice.micro_batches);
      number(choice.replicas);
      number(choice.ranks);
      write_cells(own, best);
    }
    page_ << "</tbody>\n</table>\n</div>\n";
  }

  void write_columns() {
    write_column(page_, "samples/s", "of all replicas");
    write_column(page_, "times", "of the samples per second");
    write_column(page_, "bubble", "the part of the time in which IPUs wait");
    write_column(page_, "fullest tile", "the part of its memory that is needed");
    write_column(page_, "latency", "from a micro-batch's arrival to its result");
    write_column(page_, "", "whether it fits, or why there is none", true);
  }
  /// The cells of write_columns, and the end of the row. `others_rate` is what the samples per second are divided by.
  void write_cells(plan_entry const& own, double others_rate) {
    if (!own.problem.empty()) {
      for (int i = 0; i < 5; ++i) write_number(page_, "-", -1);
      page_ << "<td class=\"text name\" title=\"";
      page_.xml(own.problem) << "\">";
      page_.xml(own.problem) << "</td></tr>\n";
      return;
    }
    auto const& totals = own.profile.totals;
    double const rate = own.samples_per_second(), times = others_rate > 0 ? rate / others_rate : 0;
    double const memory = share_of(most_bytes(own), own.profile.machine.bytes_per_tile);
    write_number(page_, rate_text(rate), rate);
    write_number(page_, others_rate > 0 ? three_digits(times) : "-", times * 1e6);
    write_number(page_, percent_text(totals.bubble), totals.bubble * 1e6, totals.bubble);
    write_number(page_, percent_text(memory), memory * 1e6, memory);
    write_number(page_, seconds_text(totals.latency_seconds), totals.latency_seconds * 1e9);
    page_ << (own.fits() ? "<td class=\"text\">fits" : "<td class=\"text bad\">does not fit") << "</td></tr>\n";
  }

  [[nodiscard]] static std::int64_t most_bytes(plan_entry const& own) {
    std::int64_t most = 0;
    for (auto const& ipu : own.profile.ipus) most = std::max(most, ipu.most_bytes());
    return most;
  }

  plan_data const& data_;
  profile_report_options const& options_;
  text_writer page_;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// Plans as one page of HTML, light or dark as the reader's other pages. A person chooses numbers of IPUs, stages,
/// micro-batches, replicas and ranks, the split and the schedule, and sees samples per second, memory, bubble, the time
/// line, and why: the stage or the transfer that decides the time, and what becomes of it if one choice changes. The
/// page is one file, and has the numbers of all combinations; it computes none. `options.title` is its title,
/// `max_slots` those of its time lines.
[[nodiscard]] inline std::string plan_html(plan_data const& data, profile_report_options const& options = {}) {
  return detail::plan_page(data, options).write();
}

/// Writes plan_html(data, options) to a file. Throws file_error E5050 if that is not possible.
inline void write_plan_html(plan_data const& data, std::string const& to_file = "plan.html",
                            profile_report_options const& options = {}) {
  detail::write_text_file(to_file, plan_html(data, options), "write_plan_html");
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
