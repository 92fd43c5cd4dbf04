// SPDX-License-Identifier: BSD-3-Clause
// The picture of a model as SVG: a box per call of a layer, in the colour of its stage, and frames around nested
// models.
#pragma once

#include <stagecraft/report/detail/layered_layout.hpp>
#include <stagecraft/report/detail/model_nodes.hpp>
#include <stagecraft/report/detail/svg_drawing.hpp>
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::reports {

/// "0", or "0-2" for a nested model in several stages; empty without stages.
[[nodiscard]] inline std::string stage_text(model_node const& node) {
  if (node.first_stage == unassigned) return {};
  auto text = std::to_string(node.first_stage);
  return node.first_stage == node.last_stage ? text : text + '-' + std::to_string(node.last_stage);
}

/// The text of a box: a name and a class, and a second line about tensors.
struct model_label {
  std::string name, class_name, tensors;

  model_label(model_node const& node, plot_model_options const& options) {
    if (options.show_layer_names) name = node.name;
    class_name = node.class_name;
    if (options.show_dtype) tensors = node.type;
    if (options.show_shapes) tensors += (tensors.empty() ? "" : "  ") + node.shapes;
  }
};

/// Draws one model.
class model_drawing {
 public:
  model_drawing(drawn_model const& model, plot_model_options const& options)
      : model_(model),
        options_(options),
        downwards_(options.rankdir == rankdir::tb),
        nodes_(model, options),
        frames_(nodes_.levels().size()),
        drawing_("Model " + std::string(model.graph.name())) {}

  [[nodiscard]] std::string draw() {
    arrange(0);
    auto const title = std::string(model_.graph.name());
    auto const about = description();
    double const inner = downwards_ ? frames_[0].across : frames_[0].along;
    double const height = downwards_ ? frames_[0].along : frames_[0].across;
    double const width =
        std::max({inner, text_width(title, 18, true), text_width(about, text), std::min(legend_width(), 420.0)});
    drawing_.text(margin, 34, title, {.size = 18, .bold = true});
    drawing_.text(margin, 54, about, {.color = "faint"});
    double const top = draw_legend(width) + 22;
    draw_level(0, margin + (width - inner) / 2, top);
    return drawing_.document(width + 2 * margin, top + height + margin);
  }

 private:
  static constexpr double margin = 20, text = 12, small_text = 10.5, box_height = 27, line_height = 16;
  // The margins of a frame around the layers of a nested model: above, for its title, and at the other sides.
  static constexpr double frame_title = 34, frame_side = 12;

  /// The places of one level's nodes. In layouts, (across, along) is (x, y) downwards and (y, x) to the right.
  struct frame {
    layered_layout layout;
    double across = 0, along = 0;
    std::vector<double> inputs, outputs;  // places across the frame where a nested model's tensors enter and leave
  };
  [[nodiscard]] model_level const& level(int number) const { return nodes_.levels()[number]; }
  [[nodiscard]] double before_across() const { return downwards_ ? frame_side : frame_title; }
  [[nodiscard]] double before_along() const { return downwards_ ? frame_title : frame_side; }

  [[nodiscard]] double band_width(model_node const& node) const {
    auto const stage = stage_text(node);
    return stage.empty() ? 0 : std::max(20.0, text_width(stage, small_text, true) + 10);
  }
  [[nodiscard]] double box_width(model_node const& node) const {
    model_label const label(node, options_);
    double const first =
        text_width(label.name, text, true) + text_width(label.class_name, text) + (label.name.empty() ? 0 : text_gap);
    return band_width(node) + std::max(first, text_width(label.tensors, small_text)) + 20;
  }

  void arrange(int number) {
    auto& own = frames_[number];
    bool const two_lines = options_.show_shapes || options_.show_dtype;
    for (auto const& node : level(number).nodes) {
      if (node.level >= 0) {
        arrange(node.level);
        own.layout.add_node(frames_[node.level].across, frames_[node.level].along);
      } else if (node.kind == model_node::node_kind::output) {
        own.layout.add_node(0, 0, node_place::last);
      } else {
        double const width = box_width(node), height = box_height + (two_lines ? line_height : 0);
        own.layout.add_node(downwards_ ? width : height, downwards_ ? height : width,
                            node.kind == model_node::node_kind::input ? node_place::first : node_place::anywhere);
      }
    }
    for (auto const& arrow : level(number).arrows) {
      int const from = level(number).nodes[arrow.from].level, to = level(number).nodes[arrow.to].level;
      own.layout.add_edge(arrow.from, arrow.to, from < 0 ? 0 : offset(from, frames_[from].outputs, arrow.output),
                          to < 0 ? 0 : offset(to, frames_[to].inputs, arrow.input));
    }
    own.layout.arrange(downwards_ ? layout_spacing{} : layout_spacing{12, 10, 30});
    own.across = own.layout.across();
    own.along = own.layout.along();
    if (number == 0) return;
    // The frame is as wide as its title.
    auto const& title = frame_text(level(number).model);
    double const needed = text_width(title, text, true) + 2 * frame_side;
    own.across += before_across() + frame_side;
    own.along += before_along();  // after the last layer there is room enough, above the places of the outputs
    double& width = downwards_ ? own.across : own.along;
    width = std::max(width, needed);
    for (int i = 0; i < own.layout.size(); ++i) {
      double const place = own.layout.middle(i).across + before_across();
      auto const kind = level(number).nodes[i].kind;
      if (kind == model_node::node_kind::input) own.inputs.push_back(place);
      if (kind == model_node::node_kind::output) own.outputs.push_back(place);
    }
  }
  /// The offset of a nested model's input or output from the middle of its frame.
  [[nodiscard]] double offset(int number, std::vector<double> const& places, int place) const {
    return places[place] - frames_[number].across / 2;
  }
  [[nodiscard]] std::string frame_text(int model) const {
    auto const& info = model_.graph.nested_models[model];
    return std::string(info.name.view()) + " " + std::string(info.class_name);
  }

  /// Draws a level's boxes; (x, y) is the begin of its layout.
  void draw_level(int number, double x, double y) {
    auto const& own = frames_[number];
    auto const& layout = own.layout;
    auto const place = [&](layout_point const& point) -> layout_point {
      return downwards_ ? layout_point{x + point.across, y + point.along}
                        : layout_point{x + point.along, y + point.across};
    };
    auto const draw_each = [&](bool nested, auto const& draw) {
      for (int i = 0; i < layout.size(); ++i) {
        auto const& node = level(number).nodes[i];
        auto const middle = place(layout.middle(i));
        if (nested == (node.level >= 0) && node.kind != model_node::node_kind::output)
          (this->*draw)(node, middle.across, middle.along);
      }
    };
    draw_each(true, &model_drawing::draw_frame);
    for (int i = 0; i < layout.edge_count(); ++i) draw_arrow(number, i, place);
    draw_each(true, &model_drawing::draw_frame_title);
    draw_each(false, &model_drawing::draw_box);
  }

  void draw_frame(model_node const& node, double x, double y) {
    auto const& own = frames_[node.level];
    double const width = downwards_ ? own.across : own.along, height = downwards_ ? own.along : own.across;
    drawing_.box(x - width / 2, y - height / 2, width, height, "panel line-edge", 8);
    draw_level(node.level, x - width / 2 + frame_side, y - height / 2 + frame_title);
  }

  /// Draws the title of a frame over the arrows that lead into it.
  void draw_frame_title(model_node const& node, double x, double y) {
    auto const& own = frames_[node.level];
    double const left = x - (downwards_ ? own.across : own.along) / 2,
                 top = y - (downwards_ ? own.along : own.across) / 2;
    double const width = text_width(node.name, text, true) + text_gap + text_width(node.class_name, text);
    drawing_.box(left + frame_side - 4, top + 5, width + 8, 17, "panel");
    drawing_.text(left + frame_side, top + 17, node.name, node.class_name, "faint", {.size = text, .bold = true});
  }

  void draw_box(model_node const& node, double x, double y) {
    model_label const label(node, options_);
    bool const two_lines = !label.tensors.empty();
    double const width = box_width(node), height = box_height + (two_lines ? line_height : 0);
    double const left = x - width / 2, top = y - height / 2, band = band_width(node);
    bool const staged = node.first_stage != unassigned;
    auto const strong = staged ? strong_class(node.first_stage) : std::string("line");
    drawing_.box(left, top, width, height, (staged ? tint_class(node.first_stage) : "sheet") + ' ' + strong + "-edge",
                 5);
    if (staged) {
      text_writer d;
      d << 'M' << left + 5 << ' ' << top << 'h' << band - 5 << 'v' << height << 'h' << 5 - band << "q-5 0 -5 -5v"
        << 10 - height << "q0 -5 5 -5z";
      drawing_.area(d.view(), strong);
      drawing_.text(left + band / 2, y + 3.8, stage_text(node),
                    {.size = small_text, .color = "white", .anchor = text_anchor::middle, .bold = true});
    }
    double const middle = left + band + (width - band) / 2, line = top + box_height / 2 + 4.3;
    text_style const style{.size = text, .anchor = text_anchor::middle, .bold = true};
    if (label.name.empty())
      drawing_.text(middle, line, label.class_name, {.size = text, .anchor = text_anchor::middle});
    else
      drawing_.text(middle, line, label.name, label.class_name, staged ? "ink" : "faint", style);
    if (two_lines)
      drawing_.text(middle, line + line_height - 1, label.tensors,
                    {.size = small_text, .color = staged ? "ink" : "faint", .anchor = text_anchor::middle});
  }

  void draw_arrow(int number, int edge, auto const& place) {
    auto const& arrow = level(number).arrows[edge];
    auto const& to = level(number).nodes[arrow.to];
    std::vector<layout_point> way(frames_[number].layout.way(edge).begin(), frames_[number].layout.way(edge).end());
    // The arrow goes through a nested model's frame to the box that takes the tensor.
    if (to.level >= 0) way.back().along += before_along();
    text_writer d;
    auto const write = [&](char command, std::initializer_list<layout_point> points) {
      d << command;
      bool first = true;
      for (auto const& point : points) {
        auto const at_place = place(point);
        d << (first ? "" : " ") << at_place.across << ' ' << at_place.along;
        first = false;
      }
    };
    bool const ends = to.kind != model_node::node_kind::output;
    auto const tip = place(way.back());
    if (ends) way.back().along -= 4;  // the arrow's head
    write('M', {way[0]});
    for (std::size_t i = 1; i < way.size(); ++i) {
      auto const &a = way[i - 1], &b = way[i];
      double const bend = (a.along + b.along) / 2;
      if (a.across == b.across)
        write('L', {b});
      else
        write('C', {{a.across, bend}, {b.across, bend}, b});
    }
    drawing_.curve(d.view(), arrow.between_stages ? "ink-edge" : "line-edge", arrow.between_stages ? 1.8 : 1.2);
    if (!ends) return;
    text_writer head;
    head << 'M' << tip.across << ' ' << tip.along << (downwards_ ? "l-3.5 -7h7z" : "l-7 -3.5v7z");
    drawing_.area(head.view(), arrow.between_stages ? "ink" : "line");
  }

  /// "175 layers, 25,636,712 parameters".
  [[nodiscard]] std::string description() const {
    int inputs = 0;
    for (auto const& call : model_.graph.calls) inputs += call.is_input ? 1 : 0;
    auto const layers = static_cast<int>(model_.graph.layers.size()) - inputs;
    long long parameters = 0;
    for (auto const& weight : model_.graph.parameters) parameters += weight.counted_size();
    text_writer result;
    result << layers << (layers == 1 ? " layer, " : " layers, ");
    auto const digits = std::to_string(parameters);
    for (std::size_t i = 0; i < digits.size(); ++i)
      result << (i > 0 && (digits.size() - i) % 3 == 0 ? "," : "") << digits[i];
    result << " parameters";
    return result.take();
  }

  [[nodiscard]] std::string stage_entry(int stage) const {
    return "stage " + std::to_string(stage) + " on device " + std::to_string(model_.device(stage));
  }
  [[nodiscard]] double legend_width() const {
    double width = 0;
    for (int stage = 0; stage < model_.stage_count; ++stage) width += 20 + text_width(stage_entry(stage), 11) + 16;
    return width;
  }
  /// Draws the colours of the stages, in lines; returns the y where they end.
  double draw_legend(double width) {
    double x = margin, y = 54;
    for (int stage = 0; stage < model_.stage_count; ++stage) {
      double const own = 20 + text_width(stage_entry(stage), 11) + 16;
      if (stage == 0 || x + own > margin + width + 16) {
        x = margin;
        y += 22;
      }
      drawing_.box(x, y - 10, 13, 13, strong_class(stage), 3);
      drawing_.text(x + 20, y + 0.8, stage_entry(stage), {.size = 11, .color = "faint"});
      x += own;
    }
    return y;
  }

  static constexpr double text_gap = 6;

  drawn_model model_;
  plot_model_options options_;
  bool downwards_;
  model_nodes nodes_;
  std::vector<frame> frames_;
  svg_drawing drawing_;
};

}  // namespace stagecraft::reports
