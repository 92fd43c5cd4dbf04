// SPDX-License-Identifier: BSD-3-Clause
// Pictures of a model's graph. Keras counterparts: tf.keras.utils.plot_model and model_to_dot.
#pragma once

#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/report/detail/model_dot.hpp>
#include <stagecraft/report/detail/model_drawing.hpp>
#include <stagecraft/report/detail/text_file.hpp>
#include <stagecraft/report/plot_model_options.hpp>
#include <string>

namespace stagecraft::reports {

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

/// The same in the language of Graphviz. Errors: E4080.
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
