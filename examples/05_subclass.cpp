// SPDX-License-Identifier: BSD-3-Clause
// A model subclass: layers are members, `call` says how they follow, a layer that is called twice shares its weights.
// Two images come in; the model says whether they show the same digit.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

struct same_digit : sc::model<same_digit> {
  flatten flat;
  dense dense_layer_1{128, sc::relu}, dense_layer_2{32, sc::relu};
  multiply agreement;
  concatenate join;
  dense dense_layer_3{32, sc::relu}, dense_layer_4{1, sc::sigmoid};

  constexpr auto call(auto& model, auto left, auto right) {
    auto const encode = [&](auto x) { return dense_layer_2(dense_layer_1(flat(x))); };
    sc::symbolic_tensor a, b;
    {
      sc::pipeline_stage stage(model, 0);
      a = encode(left);
      b = encode(right);
    }
    sc::pipeline_stage stage(model, 1);
    return dense_layer_4(dense_layer_3(join(agreement(a, b), a, b)));
  }
};

using staged_model = sc::build<same_digit, input{28, 28}, input{28, 28}>;
static_assert(sc::pipeline_stages<staged_model> == 2);
static_assert(sc::graph_of<staged_model>.layers.size() == 9);  // two inputs, seven layers; encoding shares its weights
using network = sc::unpipelined<staged_model>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::binary_crossentropy{},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 64};

/// Pairs of images, half of them of one digit.
struct pairs {
  xt::xtensor<float, 3> left, right;
  xt::xtensor<float, 1> same;
};

pairs make_pairs(sc::datasets::labelled_data const& digits) {
  auto const count = digits.y.size();
  pairs result{digits.x, digits.x, xt::xtensor<float, 1>::from_shape({count})};
  std::size_t candidate = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bool const wanted = i % 2 == 0;
    for (std::size_t tries = 0; tries < count; ++tries) {  // few digits may be all of one kind
      candidate = (candidate + 1) % count;
      if ((digits.y(candidate) == digits.y(i)) == wanted) break;
    }
    xt::view(result.right, i) = xt::view(digits.x, candidate);
    result.same(i) = digits.y(candidate) == digits.y(i) ? 1.0F : 0.0F;
  }
  return result;
}

int main(int argc, char** argv) {
  auto const given =
      read_arguments(argc, argv, "Trains a model of two inputs to tell whether two digits are the same.", 3);
  auto const [train_digits, test_digits] = load_data(given);
  auto const train = make_pairs(train_digits), test = make_pairs(test_digits);

  sc::print_pipeline_stage_assignment_summary<staged_model>();
  sc::trainer<network, training> model;
  model.fit(sc::inputs(train.left, train.right), train.same, {.epochs = given.epochs});
  auto const [loss, accuracy] = model.evaluate(sc::inputs(test.left, test.right), test.same, {.verbose = 0});
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);
}
