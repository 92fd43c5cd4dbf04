// SPDX-License-Identifier: BSD-3-Clause
// Carries out a convolution or matrix product as its plan says; one vertex stands for all kinds that a plan may name.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/convolution/convolution_division.hpp>
#include <stagecraft/ipu/tasks/convolution.hpp>
#include <stagecraft/ipu/tiles/codelets/convolution_tiles.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <stagecraft/ipu/tiles/weight_places.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

/// The operands of a vertex that are elements of a tensor; the others are zeros that only fill up.
struct convolution_real_elements {
  std::vector<char> inputs, weights;
};

/// Computes a tile's partial sums from its boxes of operands. Returns the number of products of real elements.
inline std::int64_t multiply_convolution_part(convolution_division const& division, convolution_part const& part,
                                              convolution_operand const& inputs, convolution_operand const& weights,
                                              tile_view const& partials, convolution_real_elements const& real) {
  auto const& view = division.view;
  auto const values_of = [](convolution_operand const& from) {
    std::vector<float> values(from.size());
    for (std::int64_t i = 0; i < from.size(); ++i) values[i] = from[i];
    return values;
  };
  auto const x = values_of(inputs), w = values_of(weights);
  bool const is_empty = x.empty() || w.empty();
  auto const box = is_empty ? convolution_division::input_box{} : division.inputs_of(part);
  field_size const padding = division.padding();
  // The input that an output meets with a kernel element, or -1.
  auto const meeting = [](std::int64_t output, std::int64_t stride, std::int64_t kernel, std::int64_t kernel_dilation,
                          std::int64_t zeros, std::int64_t dilation, std::int64_t inputs_there) -> std::int64_t {
    std::int64_t const place = output * stride + kernel * kernel_dilation - zeros;
    return place < 0 || place % dilation != 0 || place / dilation >= inputs_there ? -1 : place / dilation;
  };
  std::int64_t const channels = part.in_chans.size(), outs = part.out_chans.size();
  std::int64_t products = 0, index = 0;
  std::vector<double> sums(outs);
  for (std::int64_t g = 0; g < part.conv_groups.size(); ++g)
    for (std::int64_t b = 0; b < part.batch.size(); ++b)
      for (auto row = part.rows.first; row < part.rows.last; ++row)
        for (auto column = part.columns.first; column < part.columns.last; ++column) {
          sums.assign(sums.size(), 0.0);
          for (std::int64_t ky = 0; !is_empty && ky < part.kernel_rows.size(); ++ky) {
            auto const in_row =
                meeting(row, view.stride.height, part.kernel_rows.first + ky, view.kernel_dilation.height,
                        padding.height, view.input_dilation.height, view.input_field.height);
            // Rows that only fill up a kernel may look beyond what was received.
            if (in_row < box.rows.first || in_row >= box.rows.last) continue;
            for (std::int64_t kx = 0; kx < part.kernel_columns.size(); ++kx) {
              auto const in_column =
                  meeting(column, view.stride.width, part.kernel_columns.first + kx, view.kernel_dilation.width,
                          padding.width, view.input_dilation.width, view.input_field.width);
              if (in_column < box.columns.first || in_column >= box.columns.last) continue;
              std::int64_t const from =
                  (((g * part.batch.size() + b) * box.rows.size() + in_row - box.rows.first) * box.columns.size() +
                   in_column - box.columns.first) *
                  channels;
              std::int64_t const with =
                  ((g * part.kernel_rows.size() + ky) * part.kernel_columns.size() + kx) * channels * outs;
              for (std::int64_t c = 0; c < channels; ++c) {
                auto const i = static_cast<std::size_t>(from + c);
                for (std::int64_t o = 0; o < outs; ++o) {
                  auto const k = static_cast<std::size_t>(with + c * outs + o);
                  sums[o] += static_cast<double>(x[i]) * static_cast<double>(w[k]);
                  products += real.inputs[i] & real.weights[k];
                }
              }
            }
          }
          for (double const sum : sums) partials.set(index++, static_cast<float>(sum));
        }
  return products;
}

class convolution_run : convolution_sums {
 public:
  convolution_run(tile_machine& machine, task const& task)
      : convolution_sums(machine, task),
        elements_(division_.problem.shape, division_.view.transform, task.what.as<planned_product>().strides),
        zero_(at(0, memory_.zero, 1, type_)) {
    zero_.set(0, 0.0F);
  }

  void run() {
    if (division_.sends_inputs_once) bring_operands(0, 0, true, false);
    for (std::int64_t out = 0; out < division_.serial_out_parts; ++out)
      for (std::int64_t in = 0; in < division_.serial_in_parts; ++in) {
        bring_operands(out, in, !division_.sends_inputs_once, true);
        multiply(out, in);
        reduce(out, in);
        add(out, in);
      }
    send_home();
  }

 private:
  /// An element of the transformed inputs (0) or weights (1), or a zero.
  void receive_element(tile_view const& to, std::int64_t index, int operand, std::int64_t element) {
    if (element < 0)
      machine_.receive(to, index, zero_, 0, 1);
    else
      receive_element_of(to, index, task_.inputs[division_.view.transform.swap_operands ? 1 - operand : operand],
                         element);
  }

  void receive_element_of(tile_view const& to, std::int64_t index, int tensor, std::int64_t element) {
    machine_.receive(to, index, tensor, machine_.place_of(tensor, element), 1);
  }

  void bring_operands(std::int64_t out, std::int64_t in, bool inputs, bool weights) {
    auto const whole = division_.serial_part(out, in);
    std::int64_t const input_elements = inputs && division_.lays_out_inputs() ? division_.inputs(whole) : 0;
    std::int64_t const weight_elements = weights && division_.lays_out_weights() ? whole.weights() : 0;
    lay_out(whole, input_elements, weight_elements);
    if (inputs) receive_inputs(out, in, whole);
    if (weights) receive_weights(out, in, whole);
    machine_.end_exchange();
    if (!division_.problem.shape.multiplies_float16) return;
    for (int tile = 0; tile < tiles_; ++tile) {
      auto const part = division_.part(tile, out, in);
      if (!convolution_division::multiplies(part)) continue;
      if (inputs) cast(tile, input_operand(tile, out, in), memory_.cast_inputs);
      if (weights) cast(tile, weight_operand(tile, out, in), memory_.cast_weights);
    }
    machine_.end_compute_set();
  }
  void cast(int tile, convolution_operand const& from, std::int64_t to) {
    copy("Cast", tile, division_.cast_cycles(from.size()), from,
         at(tile, to, from.size(), division_.problem.shape.operand()));
  }
  /// Each tile receives an even share of an operand, and puts it in order.
  void lay_out(convolution_part const& whole, std::int64_t input_elements, std::int64_t weight_elements) {
    if (input_elements == 0 && weight_elements == 0) return;
    std::int64_t index = 0;
    auto const receive = [&](std::int64_t offset, std::int64_t share, int operand, std::int64_t element) {
      auto const to = at(static_cast<int>(index / share), offset, share, type_);
      receive_element(to, index % share, operand, element);
      ++index;
    };
    if (input_elements > 0) {
      input_share_ = division_.share(input_elements);
      visit_inputs(division_, whole,
                   [&](auto... i) { receive(memory_.received_inputs, input_share_, 0, elements_.input(i...)); });
    }
    index = 0;
    if (weight_elements > 0) {
      weight_share_ = division_.share(weight_elements);
      visit_weights(whole,
                    [&](auto... i) { receive(memory_.received_weights, weight_share_, 1, elements_.weight(i...)); });
    }
    machine_.end_exchange();
    auto const put_in_order = [&](int tile, std::int64_t elements, std::int64_t share, std::int64_t from,
                                  std::int64_t to) {
      auto const mine = index_range{0, elements}.piece(share, tile).size();
      if (mine == 0) return;
      copy("Rearrange", tile, division_.copy_cycles(mine, type_), at(tile, from, mine, type_),
           at(tile, to, mine, type_));
    };
    for (int tile = 0; tile < tiles_; ++tile) {
      if (input_elements > 0)
        put_in_order(tile, input_elements, input_share_, memory_.received_inputs, memory_.laid_out_inputs);
      if (weight_elements > 0)
        put_in_order(tile, weight_elements, weight_share_, memory_.received_weights, memory_.laid_out_weights);
    }
    machine_.end_compute_set();
  }

  void receive_inputs(std::int64_t out, std::int64_t in, convolution_part const& whole) {
    bool const is_laid_out = division_.lays_out_inputs();
    auto const all = division_.inputs_of(whole);
    for (int tile = 0; tile < tiles_; ++tile) {
      auto const part = division_.part(tile, out, in);
      if (!convolution_division::multiplies(part)) continue;
      if (division_.inputs_are_there()) {
        receive_kernel(tile, out, in, input_operand(tile, out, in));
        continue;
      }
      auto const to = at(tile, memory_.inputs, division_.inputs(part), type_);
      std::int64_t index = 0;
      visit_inputs(division_, part, [&](auto g, auto b, auto y, auto x, auto c) {
        if (is_laid_out) {
          auto const place =
              (((g * division_.view.batch + b) * all.rows.size() + y - all.rows.first) * all.columns.size() + x -
               all.columns.first) *
                  whole.in_chans.size() +
              c - whole.in_chans.first;
          receive_laid_out(to, index++, memory_.laid_out_inputs, input_share_, place);
        } else {
          receive_element(to, index++, 0, elements_.input(g, b, y, x, c));
        }
      });
    }
  }
  void receive_weights(std::int64_t out, std::int64_t in, convolution_part const& whole) {
    bool const is_laid_out = division_.lays_out_weights();
    for (int tile = 0; tile < tiles_; ++tile) {
      auto const part = division_.part(tile, out, in);
      if (!convolution_division::multiplies(part)) continue;
      if (division_.weights_are_there()) {
        receive_kernel(tile, out, in, weight_operand(tile, out, in));
        continue;
      }
      auto const to = at(tile, memory_.weights, part.weights(), type_);
      std::int64_t index = 0;
      visit_weights(part, [&](auto g, auto y, auto x, auto i, auto o) {
        if (is_laid_out) {
          auto const place =
              (((g * whole.kernel_rows.size() + y) * whole.kernel_columns.size() + x) * whole.in_chans.size() + i -
               whole.in_chans.first) *
                  whole.out_chans.size() +
              o - whole.out_chans.first;
          receive_laid_out(to, index++, memory_.laid_out_weights, weight_share_, place);
        } else {
          receive_element(to, index++, 1, elements_.weight(g, y, x, i, o));
        }
      });
    }
  }
  /// Receives, from other tiles, their parts of a slice of the kernel that lies where it is multiplied.
  void receive_kernel(int tile, std::int64_t out, std::int64_t in, convolution_operand const& to) {
    std::int64_t const share = division_.kernel_share();
    for (std::int64_t i = 0; i < to.received.size(); ++i) {
      std::int64_t const element = to.number_of_received(i);
      machine_.receive(to.received, i,
                       kernel_at_home(static_cast<int>(division_.kernel_tile_of(tile, element)), out, in, share),
                       element % share, 1);
    }
  }
  void receive_laid_out(tile_view const& to, std::int64_t index, std::int64_t offset, std::int64_t share,
                        std::int64_t place) {
    machine_.receive(to, index, at(static_cast<int>(place / share), offset, share, type_), place % share, 1);
  }

  void multiply(std::int64_t out, std::int64_t in) {
    bool const is_cast = division_.problem.shape.multiplies_float16;
    dtype const type = division_.problem.shape.operand();
    for (int tile = 0; tile < tiles_; ++tile) {
      auto const part = division_.part(tile, out, in);
      if (part.outputs() == 0) continue;
      auto const to = partials(tile, out, in, part.outputs());
      bool const multiplies = convolution_division::multiplies(part);
      convolution_operand const input =
          !multiplies ? at(tile, memory_.inputs, 0, type)
          : is_cast   ? convolution_operand(at(tile, memory_.cast_inputs, division_.inputs(part), type))
                      : input_operand(tile, out, in);
      convolution_operand const weights =
          !multiplies ? at(tile, memory_.weights, 0, type)
          : is_cast   ? convolution_operand(at(tile, memory_.cast_weights, part.weights(), type))
                      : weight_operand(tile, out, in);
      convolution_real_elements real;
      visit_inputs(division_, part, [&](auto... i) { real.inputs.push_back(elements_.input(i...) >= 0); });
      visit_weights(part, [&](auto... i) { real.weights.push_back(elements_.weight(i...) >= 0); });
      machine_.vertex(name(division_.view.vertex).data(), tile, division_.compute_cycles(part), [&] {
        machine_.count_flops(2 * multiply_convolution_part(division_, part, input, weights, to, real));
      });
    }
    machine_.end_compute_set();
  }

  /// Results go to where the result is mapped, and are put in order there if the plan has them in another.
  void send_home() {
    int const tensor = task_.outputs[0];
    auto const where = machine_.mapping(tensor);
    bool const lands = division_.view.rearranges_output;
    std::vector<tile_view> landing;
    for (int tile = 0; lands && tile < where.tiles_used(); ++tile)
      landing.push_back(tile < tiles_ ? at(tile, memory_.landing, where.elements_of(tile), where_type())
                                      : machine_.allocate(tile, where.elements_of(tile), where_type()));
    auto const send = [&](std::int64_t place, tile_view const& from, std::int64_t at) {
      int const home = where.tile_of(place);
      machine_.receive(lands ? landing[home] : machine_.home(tensor, home), place - where.first(home), from, at, 1);
    };
    for (int tile = 0; tile < tiles_; ++tile)
      for (std::int64_t out = 0; out < division_.serial_out_parts; ++out) {
        auto const mine = kept(tile, out, 0);
        if (mine.size() == 0) continue;
        auto const from = results(tile, out, mine.size());
        std::int64_t index = 0;
        visit_outputs(division_.part(tile, out, 0), [&](auto... i) {
          std::int64_t const number = index++;
          if (number < mine.first || number >= mine.last) return;
          std::int64_t const element = elements_.output(i...);
          if (element < 0) return;
          send(machine_.place_of(tensor, element), from, number - mine.first);
        });
      }
    // A result whose places follow from a plan has zeros in it, too.
    if (machine_.step().tensors[tensor].planned != nullptr)
      for (std::int64_t place = 0; place < where.elements; ++place)
        if (machine_.element_at(tensor, place) < 0) send(place, at(0, memory_.zero, 1, where_type()), 0);
    machine_.end_exchange();
    for (int tile = 0; lands && tile < where.tiles_used(); ++tile)
      copy("Rearrange", tile, division_.copy_cycles(where.elements_of(tile), where_type()), landing[tile],
           machine_.home(tensor, tile));
    machine_.end_compute_set();
  }
  [[nodiscard]] dtype where_type() const { return machine_.step().output_of(task_).type; }

  convolution_elements elements_;
  tile_view zero_;
  std::int64_t input_share_ = 1;
  std::int64_t weight_share_ = 1;
};

inline void run(tile_machine& machine, task const& task, planned_product const&) {
  convolution_run(machine, task).run();
}

}  // namespace stagecraft::tiles
