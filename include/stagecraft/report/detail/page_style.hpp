// SPDX-License-Identifier: BSD-3-Clause
// How a report's page looks, and what sorts its tables.
#pragma once

#include <string_view>

namespace stagecraft::reports {

/// The colours are those of pictures (colors.hpp). Neither text has a character that XML or HTML would take for a tag.
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

/// Sorts a table by the column whose name is pressed: by the numbers that its cells have as data, or by their text.
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

}  // namespace stagecraft::reports
