// SPDX-License-Identifier: BSD-3-Clause
// Drawings of boxes, lines and text, written as SVG on a light or a dark sheet as the page is; their colours; and the
// parts of charts: an area with axes, stacked steps, a legend.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// A colour where the page is light, and where it is dark.
struct color_pair {
  std::string_view light, dark;
};

/// A hue: `tint` lies under text in ink, `strong` under white text.
struct hue {
  color_pair tint, strong;
};

/// The hues that tell micro-batches and stages apart. They repeat when there are more.
inline constexpr hue hues[]{
    {{"#cfe3fb", "#14345a"}, {"#1f6fcb", "#2a74c9"}},  // blue
    {{"#fde0c0", "#55300f"}, {"#b9520f", "#b9591b"}},  // orange
    {{"#cdeeda", "#113f2e"}, {"#1a7f5a", "#1f8560"}},  // green
    {{"#e4d9fb", "#372a63"}, {"#7a4fd0", "#8259d4"}},  // violet
    {{"#fbd5e8", "#571f42"}, {"#bf3989", "#bf4a8d"}},  // pink
    {{"#c9eef0", "#0f3f45"}, {"#157f8a", "#1b828d"}},  // teal
    {{"#f5eab0", "#463a08"}, {"#857000", "#8a7408"}},  // yellow
    {{"#fad3cf", "#5c221d"}, {"#c0392b", "#c54a3d"}},  // red
};
inline constexpr int hue_count = sizeof(hues) / sizeof(hues[0]);

inline constexpr color_pair sheet_color{"#ffffff", "#0d1117"};
inline constexpr color_pair panel_color{"#f6f8fa", "#161b22"};
inline constexpr color_pair ink_color{"#1f2328", "#e6edf3"};
inline constexpr color_pair faint_color{"#656d76", "#8d96a0"};
inline constexpr color_pair line_color{"#8c959f", "#6e7681"};
inline constexpr color_pair grid_color{"#d8dee4", "#30363d"};
/// Dark under white text, and no hue.
inline constexpr color_pair gray_color{"#57606a", "#5f6872"};
inline constexpr color_pair white_color{"#ffffff", "#ffffff"};

/// The largest width of a text in pixels, in a font as wide as DejaVu Sans. The reader's font is not known.
[[nodiscard]] constexpr double text_width(std::string_view text, double size, bool bold = false) {
  double width = 0;  // in hundredths of the size
  while (!text.empty()) {
    std::size_t length = character_length(text);
    char const c = text[0];
    if (length == 0) length = 1;
    if (length >= 3)
      width += 100;
    else if (length == 2)
      width += 65;
    else if (std::string_view("ijlI|'.,:;!() []").find(c) != std::string_view::npos)
      width += 36;
    else if (std::string_view("mwMW@%").find(c) != std::string_view::npos)
      width += 97;
    else if (c >= 'A' && c <= 'Z')
      width += 71;
    else
      width += 62;
    text.remove_prefix(length);
  }
  return width * size / 100 * (bold ? 1.1 : 1.0);
}

enum class text_anchor : unsigned char { start, middle, end };

/// The style of a text. `color` is the name of a class of the drawing's style: ink, faint, white.
struct text_style {
  double size = 12;
  std::string_view color = "ink";
  text_anchor anchor = text_anchor::start;
  bool bold = false;
};

/// Elements in the order in which they are drawn. Colours are the names of classes, so that they can follow the page:
/// `sheet`, `panel`, `ink`, `faint`, `line`, `grid`, `gray`, `white`, `t0`, `t1`, ... for tints and `s0`, ... for
/// strong hues. Areas and text have the name itself, lines and outlines the name followed by `-edge`.
class svg_drawing {
 public:
  explicit svg_drawing(std::string title) : title_(std::move(title)) {}

  /// Draws a box, with an outline if `color` is two classes: "t0 s0-edge".
  void box(double x, double y, double width, double height, std::string_view color, double radius = 0) {
    body_ << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << width << "\" height=\"" << height << '"';
    if (radius > 0) body_ << " rx=\"" << radius << '"';
    body_ << " class=\"" << color << "\"/>\n";
  }
  void text(double x, double y, std::string_view text, text_style const& style = {}) {
    begin_text(x, y, style);
    body_.xml(text) << "</text>\n";
  }
  /// Draws one line in two colours, with a space of `gap` between them (spaces at a seam get lost).
  void text(double x, double y, std::string_view text, std::string_view more, std::string_view more_color,
            text_style const& style = {}, double gap = 5) {
    begin_text(x, y, style);
    body_.xml(text) << "<tspan dx=\"" << gap << "\" font-weight=\"normal\" class=\"" << more_color << "\">";
    body_.xml(more) << "</tspan></text>\n";
  }
  /// Draws a text that is turned to be read from below.
  void upright_text(double x, double y, std::string_view text, text_style const& style = {}) {
    body_ << "<g transform=\"translate(" << x << ' ' << y << ") rotate(-90)\">";
    this->text(0, 0, text, style);
    body_ << "</g>\n";
  }
  void line(double x1, double y1, double x2, double y2, std::string_view color = "grid-edge", double width = 1) {
    body_ << "<path d=\"M" << x1 << ' ' << y1 << 'L' << x2 << ' ' << y2 << "\" class=\"" << color << '"';
    if (width != 1) body_ << " stroke-width=\"" << width << '"';
    body_ << "/>\n";
  }
  /// A line along `d`, SVG's text for paths.
  void curve(std::string_view d, std::string_view color, double width = 1) {
    body_ << "<path fill=\"none\" d=\"" << d << "\" class=\"" << color << '"';
    if (width != 1) body_ << " stroke-width=\"" << width << '"';
    body_ << "/>\n";
  }
  /// Begins a hint: the reader's pointer shows the text on all elements from here to `end_hint`.
  void begin_hint(std::string_view text) {
    body_ << "<g><title>";
    body_.xml(text) << "</title>\n";
  }
  void end_hint() { body_ << "</g>\n"; }
  /// A box that is not seen, for a hint.
  void hidden_box(double x, double y, double width, double height) {
    body_ << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << width << "\" height=\"" << height
          << "\" fill-opacity=\"0\"/>\n";
  }
  /// The area within `d`.
  void area(std::string_view d, std::string_view color) {
    body_ << "<path d=\"" << d << "\" class=\"" << color << "\"/>\n";
  }

  /// The whole file.
  [[nodiscard]] std::string document(double width, double height) const {
    text_writer result;
    result << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << ' ' << height << "\" width=\""
           << width << "\" height=\"" << height << "\" class=\"stagecraft\" role=\"img\" font-family=\""
           << "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif\">\n<title>";
    result.xml(title_) << "</title>\n<style>\n";
    write_style(result, body_.view(), false);
    result << "@media (prefers-color-scheme: dark) {\n";
    write_style(result, body_.view(), true);
    result << "}\n</style>\n<rect width=\"" << width << "\" height=\"" << height << "\" rx=\"8\" class=\"sheet\"/>\n"
           << body_.view() << "</svg>\n";
    return result.take();
  }

 private:
  void begin_text(double x, double y, text_style const& style) {
    body_ << "<text x=\"" << x << "\" y=\"" << y << "\" font-size=\"" << style.size << "\" class=\"" << style.color
          << '"';
    if (style.anchor == text_anchor::middle) body_ << " text-anchor=\"middle\"";
    if (style.anchor == text_anchor::end) body_ << " text-anchor=\"end\"";
    if (style.bold) body_ << " font-weight=\"bold\"";
    body_ << '>';
  }

  /// True if an element of the body may have a class: its name stands between quotes or spaces.
  static bool uses(std::string_view body, std::string_view name) {
    for (auto at = body.find(name); at != std::string_view::npos; at = body.find(name, at + 1)) {
      auto const delimits = [&](std::size_t place) { return body[place] == '"' || body[place] == ' '; };
      if (at > 0 && delimits(at - 1) && at + name.size() < body.size() && delimits(at + name.size())) return true;
    }
    return false;
  }
  /// The classes that the drawing uses.
  static void write_style(text_writer& to, std::string_view body, bool dark) {
    auto const write = [&](std::string const& name, color_pair const& color) {
      auto const shade = dark ? color.dark : color.light;
      if (name == "sheet" || uses(body, name)) to << ".stagecraft ." << name << "{fill:" << shade << "}\n";
      auto const edge = std::string(name) + "-edge";
      if (uses(body, edge)) to << ".stagecraft ." << edge << "{stroke:" << shade << "}\n";
    };
    write("sheet", sheet_color);
    write("panel", panel_color);
    write("ink", ink_color);
    write("faint", faint_color);
    write("line", line_color);
    write("grid", grid_color);
    write("gray", gray_color);
    write("white", white_color);
    for (int i = 0; i < hue_count; ++i) {
      write("t" + std::to_string(i), hues[i].tint);
      write("s" + std::to_string(i), hues[i].strong);
    }
  }

  std::string title_;
  text_writer body_;
};

/// "t3": the class of a number's tint.
[[nodiscard]] inline std::string tint_class(int number) { return "t" + std::to_string(number % hue_count); }
/// "s3": the class of a number's strong colour.
[[nodiscard]] inline std::string strong_class(int number) { return "s" + std::to_string(number % hue_count); }

/// The colour of a part of the memory.
[[nodiscard]] constexpr std::string_view color_of(memory_category category) {
  constexpr std::string_view colors[memory_category_count]{"s0", "s3", "s4", "s2", "s5", "gray", "line", "s6", "s1"};
  return colors[static_cast<int>(category)];
}
/// The colour of a use of time. `idle` is that of the ground.
[[nodiscard]] constexpr std::string_view color_of(cycle_kind kind) {
  constexpr std::string_view colors[cycle_kind_count]{"s0", "s1", "s7", "s3", "s5", "s4", "grid"};
  return colors[static_cast<int>(kind)];
}

/// An area of a drawing in which `across` and `up` are shown, from 0 on.
struct chart_area {
  double x = 0, y = 0, width = 0, height = 0;
  double most_across = 1, most_up = 1;

  [[nodiscard]] double x_of(double across) const { return x + width * across / most_across; }
  [[nodiscard]] double y_of(double up) const { return y + height - height * up / most_up; }
};

/// Draws lines across at each tick of the bytes, with their numbers.
inline void draw_bytes_axis(svg_drawing& drawing, chart_area const& area) {
  auto const most = static_cast<std::int64_t>(area.most_up);
  auto const distance = tick_distance(most, 4, true);
  for (std::int64_t tick = 0; tick <= most; tick += distance) {
    double const y = area.y_of(static_cast<double>(tick));
    drawing.line(area.x, y, area.x + area.width, y, tick == 0 ? "line-edge" : "grid-edge");
    drawing.text(area.x - 8, y + 4, bytes_text(tick), {.size = 10.5, .color = "faint", .anchor = text_anchor::end});
  }
}

/// The text that describes a path: `heights[i]` is the height from i to i + 1, above the ground.
[[nodiscard]] inline std::string step_path(chart_area const& area, std::vector<std::int64_t> const& heights) {
  text_writer path;
  double const ground = area.y_of(0);
  path << 'M' << area.x << ' ' << ground;
  for (std::size_t i = 0, end = 0; i < heights.size(); i = end) {
    for (end = i + 1; end < heights.size() && heights[end] == heights[i];) ++end;
    double const y = area.y_of(static_cast<double>(heights[i]));
    path << 'L' << area.x_of(static_cast<double>(i)) << ' ' << y << 'L' << area.x_of(static_cast<double>(end)) << ' '
         << y;
  }
  path << 'L' << area.x_of(static_cast<double>(heights.size())) << ' ' << ground << 'z';
  return path.take();
}

/// An entry of a legend, which is drawn from left to right in as many lines as it needs.
struct legend_entry {
  std::string_view color;
  std::string name;
};
inline double draw_legend(svg_drawing& drawing, double left, double right, double y,
                          std::vector<legend_entry> const& entries) {
  double x = left;
  for (auto const& entry : entries) {
    double const width = 17 + text_width(entry.name, 12) + 14;
    if (x > left && x + width > right) {
      x = left;
      y += 20;
    }
    drawing.box(x, y - 10, 12, 12, entry.color, 2);
    drawing.text(x + 17, y, entry.name);
    x += width;
  }
  return y + 20;
}

/// Draws a dashed line, with its name, at the memory that a tile has, if it lies within the area.
inline void draw_room(svg_drawing& drawing, chart_area const& area, std::int64_t room) {
  if (room <= 0 || static_cast<double>(room) > area.most_up) return;
  double const y = area.y_of(static_cast<double>(room));
  for (double x = area.x; x < area.x + area.width; x += 12)
    drawing.line(x, y, std::min(x + 7, area.x + area.width), y, "ink-edge", 1.5);
  auto const label = "room: " + bytes_text(room);
  double const width = text_width(label, 11, true) + 12, right = area.x + area.width - 6;
  drawing.box(right - width, y - 9, width, 18, "sheet ink-edge", 4);
  drawing.text(right - width / 2, y + 4, label, {.size = 11, .anchor = text_anchor::middle, .bold = true});
}

/// The top of an axis that shows `most` bytes, and the room of a tile unless that is far above.
[[nodiscard]] inline double bytes_scale(std::int64_t most, std::int64_t room) {
  auto const top = room > 0 && most * 2 >= room ? std::max(most, room) : most;
  return std::max(1.0, static_cast<double>(top) * 1.12);
}

}  // namespace stagecraft::reports
