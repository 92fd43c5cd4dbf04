// SPDX-License-Identifier: BSD-3-Clause
// What a layer's rules see of one of its calls: the shapes that come in, and where to say that they do not fit.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/graph/shape.hpp>
#include <string_view>

namespace stagecraft {

/// The inputs of one call of a layer, given to `output_shape`, `parameters` and `flops`.
class layer_inputs {
 public:
  constexpr layer_inputs(shape const* shapes, int count, std::string_view layer_name, diagnostics::diagnostic& problem)
      : shapes_(shapes), count_(count), layer_name_(layer_name), problem_(&problem) {}

  [[nodiscard]] constexpr int size() const noexcept { return count_; }
  constexpr shape const& operator[](int index) const { return shapes_[index]; }
  [[nodiscard]] constexpr shape const* data() const noexcept { return shapes_; }
  /// True if an input is of type int32.
  [[nodiscard]] constexpr bool has_whole_numbers() const noexcept {
    for (int i = 0; i < count_; ++i)
      if (shapes_[i].is_whole) return true;
    return false;
  }

  /// Says that the call is not valid: `return in.error(1002, "expects ..., but got ", in[0]);`. The text begins with
  /// the layer's name by itself. Returns a shape that stands in for the missing one.
  template <class... Parts>
  constexpr shape error(int code, Parts const&... parts) const {
    if (begin_error(code)) {
      (problem_->append(parts), ...);
      problem_->end();
    }
    return count_ > 0 ? shapes_[0] : shape(1);
  }

  /// Other inputs of the same call, for the rules of a layer inside this one.
  [[nodiscard]] constexpr layer_inputs with_shapes(shape const* shapes, int count) const {
    return {shapes, count, layer_name_, *problem_};
  }
  [[nodiscard]] constexpr std::string_view layer_name() const noexcept { return layer_name_; }
  [[nodiscard]] constexpr diagnostics::diagnostic& problem() const noexcept { return *problem_; }

  /// E1001 unless there are at least `least` and at most `most` inputs.
  constexpr bool expect_count(int least, int most) const {
    if (count_ >= least && count_ <= most) return true;
    if (least == most)
      error(1001, "takes ", least, least == 1 ? " input" : " inputs", ", but is called with ", count_);
    else
      error(1001, "takes at least ", least, " inputs, but is called with ", count_);
    return false;
  }

 private:
  constexpr bool begin_error(int code) const {
    if (!problem_->begin(code)) return false;
    problem_->append("layer '");
    problem_->append(layer_name_);
    problem_->append("' ");
    return true;
  }

  shape const* shapes_;
  int count_;
  std::string_view layer_name_;
  diagnostics::diagnostic* problem_;
};

}  // namespace stagecraft
