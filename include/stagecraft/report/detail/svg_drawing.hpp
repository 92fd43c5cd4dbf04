// SPDX-License-Identifier: BSD-3-Clause
// A drawing of boxes, lines and text, written as SVG: on a white sheet, or a dark one where the page is.
#pragma once

#include <stagecraft/report/detail/colors.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::reports {

/// How wide a text is at most, in pixels, in a font as wide as DejaVu Sans. The reader's font is not known.
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

/// How a text looks. `color` is the name of a class of the drawing's style: ink, faint, white.
struct text_style {
  double size = 12;
  std::string_view color = "ink";
  text_anchor anchor = text_anchor::start;
  bool bold = false;
};

/// Elements in the order in which they are drawn. Colours are the names of classes, so that they can follow the page:
/// `sheet`, `panel`, `ink`, `faint`, `line`, `grid`, `gray`, `white`, `t0`, `t1`, ... for tints and `s0`, ... for
/// strong hues. Areas and text have the name itself, lines and outlines the name with `-edge` behind it.
class svg_drawing {
 public:
  explicit svg_drawing(std::string title) : title_(std::move(title)) {}

  /// With an outline if `color` is two classes: "t0 s0-edge".
  void box(double x, double y, double width, double height, std::string_view color, double radius = 0) {
    body_ << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << width << "\" height=\"" << height << '"';
    if (radius > 0) body_ << " rx=\"" << radius << '"';
    body_ << " class=\"" << color << "\"/>\n";
  }
  void text(double x, double y, std::string_view text, text_style const& style = {}) {
    begin_text(x, y, style);
    body_.xml(text) << "</text>\n";
  }
  /// One line in two colours, with a space of `gap` between them (spaces at a seam get lost).
  void text(double x, double y, std::string_view text, std::string_view more, std::string_view more_color,
            text_style const& style = {}, double gap = 5) {
    begin_text(x, y, style);
    body_.xml(text) << "<tspan dx=\"" << gap << "\" font-weight=\"normal\" class=\"" << more_color << "\">";
    body_.xml(more) << "</tspan></text>\n";
  }
  /// Turned to be read from below.
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
  /// A text that the reader's pointer finds on what is drawn from here to `end_hint`.
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

  /// Whether an element of the body may be of a class: it stands between quotes or spaces.
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

}  // namespace stagecraft::reports
