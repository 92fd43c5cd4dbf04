// SPDX-License-Identifier: BSD-3-Clause
// Pictures of a model's graph, as SVG and in Graphviz's language. Keras counterparts: tf.keras.utils.plot_model and
// model_to_dot.
#pragma once

#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/report/detail/model_drawing.hpp>
#include <stagecraft/report/detail/model_nodes.hpp>
#include <stagecraft/report/detail/svg_drawing.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <string>
#include <utility>

namespace stagecraft::reports {

/// Writes one model in Graphviz's language. Nested models are clusters; arrows to one lead to the box of its input.
class model_dot {
 public:
  model_dot(drawn_model const& model, plot_model_options const& options)
      : model_(model), options_(options), nodes_(model, options) {}

  [[nodiscard]] std::string write() {
    text_ << "digraph ";
    text_.quoted(model_.graph.name()) << " {\n  rankdir=" << (options_.rankdir == rankdir::tb ? "TB" : "LR")
                                      << "\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", "
                                         "fontname=\"Helvetica\", fontsize=11]\n";
    write_nodes(0, "  ");
    for (int number = 0; number < static_cast<int>(nodes_.levels().size()); ++number)
      for (auto const& arrow : level(number).arrows) {
        if (level(number).nodes[arrow.to].kind == model_node::node_kind::output) continue;
        auto const from = source(number, arrow.from, arrow.output), to = target(number, arrow.to, arrow.input);
        write_id(text_ << "  ", from);
        write_id(text_ << " -> ", to);
        text_ << (arrow.between_stages ? " [penwidth=2]\n" : "\n");
      }
    text_ << "}\n";
    return text_.take();
  }

 private:
  /// A level and its node.
  using place = std::pair<int, int>;
  [[nodiscard]] model_level const& level(int number) const { return nodes_.levels()[number]; }

  static void write_id(text_writer& to, place const& node) { to << 'n' << node.first << '_' << node.second; }

  void write_nodes(int number, std::string const& indent) {
    for (int i = 0; i < static_cast<int>(level(number).nodes.size()); ++i) {
      auto const& node = level(number).nodes[i];
      if (node.kind == model_node::node_kind::output) continue;
      if (node.level >= 0) {
        text_ << indent << "subgraph cluster_" << node.level << " {\n" << indent << "  label=";
        text_.quoted(node.name + " (" + node.class_name + ")") << '\n';
        write_nodes(node.level, indent + "  ");
        text_ << indent << "}\n";
        continue;
      }
      write_id(text_ << indent, {number, i});
      model_label const label(node, options_);
      text_ << " [label=";
      auto text = label.name.empty() ? label.class_name : label.name + ": " + label.class_name;
      if (node.first_stage != unassigned) text += "\nstage " + stage_text(node);
      if (!label.tensors.empty()) text += '\n' + label.tensors;
      write_lines(text);
      if (node.first_stage != unassigned)
        text_ << ", fillcolor=\"" << hues[node.first_stage % hue_count].tint.light << '"';
      text_ << "]\n";
    }
  }
  /// Writes lines as a quoted text, with DOT's own ends of lines.
  void write_lines(std::string_view lines) {
    text_ << '"';
    while (true) {
      auto const end = lines.find('\n');
      text_writer line;
      line.quoted(lines.substr(0, end));
      text_ << line.view().substr(1, line.size() - 2);
      if (end == std::string_view::npos) break;
      text_ << "\\n";
      lines.remove_prefix(end + 1);
    }
    text_ << '"';
  }

  /// The box that computes an output of a node.
  [[nodiscard]] place source(int number, int node, int output) const {
    int const inner = level(number).nodes[node].level;
    if (inner < 0) return {number, node};
    for (auto const& arrow : level(inner).arrows) {
      auto const& to = level(inner).nodes[arrow.to];
      if (to.kind == model_node::node_kind::output && to.index == output)
        return source(inner, arrow.from, arrow.output);
    }
    return {number, node};
  }
  /// The box that takes an input of a node.
  [[nodiscard]] place target(int number, int node, int input) const {
    int const inner = level(number).nodes[node].level;
    return inner < 0 ? place{number, node} : place{inner, input};
  }

  drawn_model model_;
  plot_model_options options_;
  model_nodes nodes_;
  text_writer text_;
};

template <class M>
drawn_model drawn_model_of() {
  auto const& staged = checked_stages<M>;
  if constexpr (is_pipelined<M>)
    return {graph_of<M>, staged.stages, staged.devices, staged.stage_count()};
  else
    return {graph_of<M>, {}, {}, 0};
}

}  // namespace stagecraft::reports

namespace stagecraft {

/// A model's graph as an SVG picture. Each call of a layer is a box with its name and class, `shared[1]` the second
/// call of a layer that is called again (Keras has one box per layer, but each call has a stage of its own). Boxes of a
/// pipelined model have the colour and number of their stage; arrows from stage to stage are strong. On a page in dark
/// colours, the picture is dark. Throws data_error E4080 if layer_range names a layer that the model does not have.
template <Model M>
[[nodiscard]] std::string model_to_svg(plot_model_options const& options = {}) {
  return detail::model_drawing(detail::drawn_model_of<M>(), options).draw();
}

/// A model's graph in Graphviz's language, with the boxes of model_to_svg. Errors: E4080.
template <Model M>
[[nodiscard]] std::string model_to_dot(plot_model_options const& options = {}) {
  return detail::model_dot(detail::drawn_model_of<M>(), options).write();
}

/// Writes a model's picture to a file: SVG if its name ends in .svg, Graphviz's language if it ends in .dot or .gv.
/// Throws data_error E4080 and file_error: E5050 if the file cannot be written, E5051 if its name ends otherwise.
///
///     sc::plot_model<two_stages>("model.svg", {.show_shapes = true});
template <Model M>
void plot_model(std::string const& to_file = "model.svg", plot_model_options const& options = {}) {
  if (to_file.ends_with(".svg"))
    detail::write_text_file(to_file, model_to_svg<M>(options), "plot_model");
  else if (to_file.ends_with(".dot") || to_file.ends_with(".gv"))
    detail::write_text_file(to_file, model_to_dot<M>(options), "plot_model");
  else
    detail::throw_unknown_ending(to_file, ".svg, .dot or .gv", "plot_model");
}

}  // namespace stagecraft
