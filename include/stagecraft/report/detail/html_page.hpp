// SPDX-License-Identifier: BSD-3-Clause
// What pages of HTML share: their style, the script that sorts tables, their begin and end, rows of figures, and JSON
// within a page.
#pragma once

#include <stagecraft/report/detail/text_writer.hpp>
#include <string_view>

namespace stagecraft::reports {

/// The style of pages, with the colours of pictures (svg_drawing.hpp). Neither text has a character that XML or HTML
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

/// Appends the begin of a page up to its heading. Only `title` may come from a model or a file. `more_style` is a
/// literal, and follows the style of all pages.
inline void begin_page(text_writer& page, std::string_view title, std::string_view more_style = {}) {
  page << "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta name=\"generator\" content=\"stagecraft\"/>\n<title>";
  page.xml(title) << "</title>\n<style>" << page_style << more_style << "</style>\n</head>\n<body>\n<h1>";
  page.xml(title) << "</h1>\n";
}

/// Appends the end of a page. `more_script` is a literal, and follows the script that sorts tables.
inline void end_page(text_writer& page, std::string_view more_script = {}) {
  page << "<script>" << page_script << more_script << "</script>\n</body>\n</html>\n";
}

/// Appends what every page ends with: where its numbers come from.
inline void write_footer(text_writer& page) {
  page << "<footer>Times and bytes follow from the emulated machine's description; no IPU was measured.</footer>\n";
}

/// Appends JSON that scripts find by its id. Of the characters that HTML knows, JSON has some in strings only, where
/// an escape means the same: so no text within it ends the element.
inline void write_page_json(text_writer& page, std::string_view id, std::string_view json) {
  page << "<script type=\"application/json\" id=\"" << id << "\">";
  for (char const c : json) {
    if (c == '<')
      page << "\\u003c";
    else if (c == '&')
      page << "\\u0026";
    else if (c == '>')
      page << "\\u003e";
    else
      page << c;
  }
  page << "</script>\n";
}

/// Appends one figure: a value in large letters, what it is below it, and a class, `good` or `bad`, or none.
inline void write_figure(text_writer& page, std::string_view value, std::string_view name, std::string_view kind = {}) {
  page << "<div class=\"figure\"><b";
  if (!kind.empty()) page << " class=\"" << kind << '"';
  page << '>';
  page.xml(value) << "</b><span>" << name << "</span></div>\n";
}

/// Appends a picture that is scrolled if the page is narrower.
inline void write_picture(text_writer& page, std::string_view svg) {
  page << "<div class=\"wide\">\n" << svg << "</div>\n";
}

/// Appends the head of a column by which a table is sorted.
inline void write_column(text_writer& page, std::string_view name, std::string_view hint, bool is_text = false) {
  page << "<th scope=\"col\"" << (is_text ? " class=\"text\"" : "") << " title=\"" << hint
       << "\"><button type=\"button\">" << name << "</button></th>";
}

/// Appends a cell: its text, the number that it is sorted by (whole numbers: shares in millionths), and its bar from 0
/// to 1, if there is one.
inline void write_number(text_writer& page, std::string_view text, double value, double part = -1) {
  page << "<td data-value=\"" << static_cast<long long>(value < 9e18 && value > -9e18 ? value : 0) << '"';
  if (part >= 0) page << " class=\"share\" style=\"--part: " << 100 * (part < 1 ? part : 1.0) << "%\"";
  page << '>';
  page.xml(text) << "</td>";
}

}  // namespace stagecraft::reports
