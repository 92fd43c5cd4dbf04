// SPDX-License-Identifier: BSD-3-Clause
// An entry of the tables that the tests of this folder walk: a layer, and the shapes of its inputs.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace words {

namespace sc = stagecraft;

/// What is not the same for all entries.
struct word_traits {
  bool trains = false;      ///< whether Keras's values are those of training
  bool has_slopes = true;   ///< whether differences say what the gradients are: not where inputs are rounded
  bool tiles = true;        ///< whether tiles have all of its operations; else tile 0 carries the layer out
  double tolerance = 5e-6;  ///< of the comparison with Keras, relative to 1 or the value
};

/// A layer with options, under the name of its values in the golden file. Its type is forgotten, so that an entry costs
/// compilers no more than one trace.
struct word {
  std::string name;
  std::vector<sc::shape> shapes;  ///< of one sample of each input
  std::function<sc::operations::trace(int batch, bool training)> traced;
  word_traits traits;

  template <class Layer>
  word(std::string name_, Layer const& layer, std::initializer_list<sc::shape> shapes_, word_traits const& traits_ = {})
      : name(std::move(name_)), shapes(shapes_), traits(traits_) {
    traced = [layer, inputs = shapes](int batch, bool training) {
      return sc::detail::trace_layer(layer, inputs, batch, training);
    };
  }
};

}  // namespace words
