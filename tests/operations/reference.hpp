// SPDX-License-Identifier: BSD-3-Clause
// Carries out a list of operations one after the other, in double, as plainly as can be: what every machine must agree
// with.
#pragma once

#include <stagecraft/kernels/elementwise/function.hpp>
#include <stagecraft/kernels/elementwise/whole.hpp>
#include <stagecraft/operations/kinds/operation.hpp>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft::operations::reference {

using values = std::vector<double>;

/// The values of all operations. Those of inputs, weights and random numbers are set before `run`.
class interpreter {
 public:
  interpreter(std::span<node const> nodes, std::span<int const> operands)
      : nodes_(nodes), operands_(operands), values_(nodes.size()), pending_(nodes.size()) {}

  values& operator[](int id) { return values_[static_cast<std::size_t>(id)]; }

  void run(int count) {
    for (int id = 0; id < count; ++id) {
      current_ = id;
      jump_ = -1;
      here().what.visit([&](auto const& what) { step(what, values_[static_cast<std::size_t>(id)]); });
      if (jump_ >= 0) id = jump_;
    }
  }

 private:
  using place = std::array<int, extents::max_rank>;

  node const& here() const { return nodes_[static_cast<std::size_t>(current_)]; }
  int read(int index) const { return operands_[static_cast<std::size_t>(here().first_operand + index)]; }
  values const& in(int index) const { return values_[static_cast<std::size_t>(read(index))]; }
  extents const& shape_of(int index) const { return nodes_[static_cast<std::size_t>(read(index))].shape; }
  dtype type_of(int index) const { return nodes_[static_cast<std::size_t>(read(index))].type; }

  static std::size_t offset(extents const& shape, place const& at, int rank) {  // of an operand that may be broadcast
    long long k = 0;
    int const* index = at.data() + (rank - shape.rank);
    for (int const* length = shape.lengths; length < shape.lengths + shape.rank; ++length, ++index)
      k = k * *length + (*length == 1 ? 0 : *index);
    return static_cast<std::size_t>(k);
  }
  template <class F>
  static void for_each_place(extents const& shape, F const& f) {
    place at{};
    int* const index = at.data();
    for (long long left = shape.size(); left > 0; --left) {
      f(at);
      for (int axis = shape.rank - 1; axis >= 0; --axis) {
        if (++index[axis] < shape.lengths[axis]) break;
        index[axis] = 0;
      }
    }
  }
  void zero(values& y) const { y.assign(static_cast<std::size_t>(here().shape.size()), 0.0); }

  void step(input const&, values&) {}
  void step(weight const&, values&) {}
  void step(random const&, values&) {}
  void step(constant const& what, values& y) { y.assign(1, static_cast<double>(what.value)); }
  void step(iota const& what, values& y) {
    zero(y);
    auto const& shape = here().shape;
    for_each_place(
        shape, [&](place const& at) { y[offset(shape, at, shape.rank)] = at[static_cast<std::size_t>(what.axis)]; });
  }
  void step(map const& what, values& y) {
    auto const& shape = here().shape;
    values result(static_cast<std::size_t>(shape.size()));
    int const count = here().operand_count;
    values const* given[3]{};
    extents const* shapes[3]{};
    for (int i = 0; i < count; ++i) {
      given[i] = &in(i);
      shapes[i] = &shape_of(i);
    }
    for_each_place(shape, [&](place const& at) {
      double x[3]{};
      for (int i = 0; i < count; ++i) x[i] = (*given[i])[offset(*shapes[i], at, shape.rank)];
      result[offset(shape, at, shape.rank)] = kernels::function_value(what.apply, x[0], x[1], x[2]);
    });
    y = result;
  }
  /// Whole numbers up to 2^31 are exact in double.
  void step(whole_map const& what, values& y) {
    auto const& shape = here().shape;
    values result(static_cast<std::size_t>(shape.size()));
    auto const to_bits = [](double value, dtype type) {
      return type == dtype::int32 ? std::bit_cast<float>(static_cast<std::int32_t>(value)) : static_cast<float>(value);
    };
    for_each_place(shape, [&](place const& at) {
      float x[2]{};
      for (int i = 0; i < here().operand_count; ++i)
        x[i] = to_bits(in(i)[offset(shape_of(i), at, shape.rank)], type_of(i));
      if (what.apply == whole_function::constant) x[0] = std::bit_cast<float>(what.value);
      float const found = kernels::whole_value(what.apply, x[0], x[1]);
      result[offset(shape, at, shape.rank)] = here().type == dtype::int32
                                                  ? static_cast<double>(std::bit_cast<std::int32_t>(found))
                                                  : static_cast<double>(found);
    });
    y = result;
  }
  void step(reduce const& what, values& y) {
    auto const& shape = shape_of(0);
    bool const adds = what.by == reduction::sum;
    y.assign(static_cast<std::size_t>(here().shape.size()), adds ? 0.0 : -INFINITY);
    for_each_place(shape, [&](place const& at) {
      double const x = in(0)[offset(shape, at, shape.rank)];
      double& r = y[offset(here().shape, at, shape.rank)];
      r = adds ? r + x : r > x ? r : x;
    });
  }
  void step(product const& what, values& y) {
    zero(y);
    auto const& shape = here().shape;
    auto const last = static_cast<std::size_t>(shape.rank) - 1;
    auto const &a = in(0), &b = in(1);
    auto const &of_a = shape_of(0), &of_b = shape_of(1);
    int const inner = what.inner(of_a);
    for_each_place(shape, [&](place const& at) {
      double sum = 0;
      for (int k = 0; k < inner; ++k) {
        place p = at, q = at;
        p[last - 1] = what.transpose_a ? k : at[last - 1];
        p[last] = what.transpose_a ? at[last - 1] : k;
        q[last - 1] = what.transpose_b ? at[last] : k;
        q[last] = what.transpose_b ? k : at[last];
        sum += a[offset(of_a, p, shape.rank)] * b[offset(of_b, q, shape.rank)];
      }
      y[offset(shape, at, shape.rank)] = sum;
    });
  }

  /// Calls `f(window, offset within, place of the input)` for each place of each window that is not padding.
  template <class F>
  static void for_each_tap(windows const& over, extents const& of_input, extents const& of_output, F const& f) {
    extents out, taps;
    for (int i = 0; i < over.count; ++i) {
      out.push_back(of_output[i + 1]);
      taps.push_back(over[i].size);
    }
    for_each_place(out, [&](place const& window) {
      for_each_place(taps, [&](place const& tap) {
        place from{};
        for (int i = 0; i < over.count; ++i) {
          auto const axis = static_cast<std::size_t>(i);
          from[axis] = window[axis] * over[i].stride + tap[axis] * over[i].dilation - over[i].before;
          if (from[axis] < 0 || from[axis] >= of_input[i + 1]) return;
        }
        f(window, tap, from);
      });
    });
  }
  /// The offset of (batch, places, channel).
  static std::size_t image_offset(extents const& shape, int batch, place const& at, int channel) {
    long long k = batch;
    int const* index = at.data();
    for (int i = 1; i + 1 < shape.rank; ++i) k = k * shape.lengths[i] + *index++;
    return static_cast<std::size_t>(k * shape[-1] + channel);
  }
  static std::size_t filter_offset(extents const& shape, place const& tap, int channel, int filter) {
    long long k = 0;
    int const* index = tap.data();
    for (int i = 0; i + 2 < shape.rank; ++i) k = k * shape.lengths[i] + *index++;
    return static_cast<std::size_t>((k * shape[-2] + channel) * shape[-1] + filter);
  }
  /// Calls `f(input, filter, output)` with the offsets of each multiplication of a convolution.
  template <class F>
  static void for_each_term(windows const& over, int groups, extents const& x, extents const& filter, extents const& y,
                            F const& f) {
    int const filters = filter[-1] / groups, channels = filter[-2];
    for_each_tap(over, x, y, [&](place const& window, place const& tap, place const& from) {
      for (int b = 0; b < x[0]; ++b)
        for (int n = 0; n < filter[-1]; ++n)
          for (int c = 0; c < channels; ++c)
            f(image_offset(x, b, from, n / filters * channels + c), filter_offset(filter, tap, c, n),
              image_offset(y, b, window, n));
    });
  }
  void step(convolution const& what, values& y) {
    zero(y);
    auto const &x = in(0), &filter = in(1);
    for_each_term(what.windows, what.groups, shape_of(0), shape_of(1), here().shape,
                  [&](auto i, auto k, auto o) { y[o] += x[i] * filter[k]; });
  }
  void step(convolution_input_gradient const& what, values& y) {
    zero(y);
    for_each_term(what.windows, what.groups, here().shape, shape_of(1), shape_of(0),
                  [&](auto i, auto k, auto o) { y[i] += in(0)[o] * in(1)[k]; });
  }
  void step(convolution_filter_gradient const& what, values& y) {
    zero(y);
    for_each_term(what.windows, what.groups, shape_of(0), here().shape, shape_of(1),
                  [&](auto i, auto k, auto o) { y[k] += in(0)[i] * in(1)[o]; });
  }
  /// Calls `f(input, output)` with the offsets of each place of each window, for each batch and channel.
  template <class F>
  static void for_each_pooled(windows const& over, extents const& x, extents const& y, F const& f) {
    for_each_tap(over, x, y, [&](place const& window, place const&, place const& from) {
      for (int b = 0; b < x[0]; ++b)
        for (int c = 0; c < x[-1]; ++c) f(image_offset(x, b, from, c), image_offset(y, b, window, c));
    });
  }
  static values counts(windows const& over, extents const& x, extents const& y) {
    values result(static_cast<std::size_t>(y.size()), 0.0);
    for_each_pooled(over, x, y, [&](auto, auto o) { result[o] += 1; });
    return result;
  }
  void step(pooling const& what, values& y) {
    bool const is_max = what.kind == pooling_kind::max;
    y.assign(static_cast<std::size_t>(here().shape.size()), is_max ? -INFINITY : 0.0);
    for_each_pooled(what.windows, shape_of(0), here().shape, [&](auto i, auto o) {
      double const x = in(0)[i];
      y[o] = is_max ? std::max(y[o], x) : y[o] + x;
    });
    if (is_max) return;
    values const count = counts(what.windows, shape_of(0), here().shape);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] /= count[i];
  }
  void step(pooling_gradient const& what, values& dx) {
    zero(dx);
    auto const &x = in(0), &y = in(1), &dy = in(2);
    values const count = counts(what.windows, shape_of(0), shape_of(1));
    std::vector<bool> given(y.size());
    for_each_pooled(what.windows, shape_of(0), shape_of(1), [&](auto i, auto o) {
      if (what.kind == pooling_kind::average) {
        dx[i] += dy[o] / count[o];
      } else if (!given[o] && x[i] == y[o]) {
        dx[i] += dy[o];
        given[o] = true;
      }
    });
  }

  void step(reshape const&, values& y) { y = in(0); }
  void step(composite const&, values& y) { y = in(0); }
  void step(broadcast const&, values& y) { step(map{function::identity}, y); }
  void step(transpose const& what, values& y) {
    zero(y);
    auto const& shape = here().shape;
    for_each_place(shape, [&](place const& at) {
      place from{};
      for (int i = 0; i < shape.rank; ++i)
        from[static_cast<std::size_t>(what.order[i])] = at[static_cast<std::size_t>(i)];
      y[offset(shape, at, shape.rank)] = in(0)[offset(shape_of(0), from, shape.rank)];
    });
  }
  void step(slice const& what, values& y) {
    zero(y);
    move_along(what.axis, what.begin, what.step, here().shape, shape_of(0), [&](auto i, auto k) { y[i] = in(0)[k]; });
  }
  void step(pad const& what, values& y) {
    zero(y);
    move_along(what.axis, what.begin, what.step, shape_of(0), here().shape, [&](auto i, auto k) { y[k] = in(0)[i]; });
  }
  /// Calls `f(offset in narrow, offset in wide)`.
  template <class F>
  static void move_along(int axis, int begin, int step, extents const& narrow, extents const& wide, F const& f) {
    for_each_place(narrow, [&](place const& at) {
      place to = at;
      auto& index = to[static_cast<std::size_t>(axis)];
      index = begin + index * step;
      f(offset(narrow, at, narrow.rank), offset(wide, to, wide.rank));
    });
  }
  void step(concatenate const& what, values& y) {
    zero(y);
    for (int i = 0, begin = 0; i < here().operand_count; begin += shape_of(i++)[what.axis])
      move_along(what.axis, begin, 1, shape_of(i), here().shape, [&](auto p, auto q) { y[q] = in(i)[p]; });
  }
  void step(gather const&, values& y) {
    zero(y);
    rows(in(1), shape_of(0), [&](auto row, auto width, auto k) {
      for (std::size_t i = 0; i < width; ++i) y[k * width + i] = in(0)[row * width + i];
    });
  }
  void step(scatter_add const&, values& y) {
    zero(y);
    rows(in(1), here().shape, [&](auto row, auto width, auto k) {
      for (std::size_t i = 0; i < width; ++i) y[row * width + i] += in(0)[k * width + i];
    });
  }
  template <class F>
  static void rows(values const& indices, extents const& table, F const& f) {
    auto const width = static_cast<std::size_t>(table.size() / table[0]);
    for (std::size_t k = 0; k < indices.size(); ++k)
      if (indices[k] >= 0 && indices[k] < table[0]) f(static_cast<std::size_t>(indices[k]), width, k);
  }
  void step(update const&, values& y) { y = in(1); }  // the weight keeps the value that is read

  int trips_of(int index) const { return nodes_[static_cast<std::size_t>(read(index))].what.as<loop>().trips; }
  double& trip_of(int index) { return values_[static_cast<std::size_t>(read(index))][0]; }
  void step(loop const&, values& y) { y.assign(1, 0.0); }
  void step(carry const&, values& y) { y = trip_of(0) == 0 ? in(1) : pending_[static_cast<std::size_t>(current_)]; }
  void step(next const&, values&) { pending_[static_cast<std::size_t>(read(1))] = in(2); }
  void step(last const&, values& y) { y = pending_[static_cast<std::size_t>(read(1))]; }
  void step(at const& what, values& y) {
    zero(y);
    place_of_trip(what.axis, what.reversed, here().shape, shape_of(1), [&](auto i, auto k) { y[i] = in(1)[k]; });
  }
  void step(stack const& what, values& y) {
    if (trip_of(0) == 0) zero(y);
    place_of_trip(what.axis, what.reversed, shape_of(1), here().shape, [&](auto i, auto k) { y[k] = in(1)[i]; });
  }
  template <class F>
  void place_of_trip(int axis, bool reversed, extents const& one, extents const& all, F const& f) {
    int const trip = static_cast<int>(trip_of(0));
    for_each_place(one, [&](place const& at) {
      place to{};
      for (int i = 0; i < all.rank; ++i)
        to[static_cast<std::size_t>(i)] =
            i == axis ? (reversed ? trips_of(0) - 1 - trip : trip) : at[static_cast<std::size_t>(i < axis ? i : i - 1)];
      f(offset(one, at, one.rank), offset(all, to, all.rank));
    });
  }
  void step(loop_end const&, values&) {
    if (++trip_of(0) < trips_of(0)) jump_ = read(0);
  }

  std::span<node const> nodes_;
  std::span<int const> operands_;
  std::vector<values> values_, pending_;
  int current_ = 0;
  int jump_ = -1;
};

}  // namespace stagecraft::operations::reference
