// SPDX-License-Identifier: BSD-3-Clause
#include "layer_rules.hpp"

#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/layers/normalization/batch_normalization.hpp>
#include <stagecraft/layers/normalization/layer_normalization.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <doctest/doctest.h>

using namespace layer_rules;
using sc::layers::batch_normalization;
using sc::layers::layer_normalization;

static_assert(sc::Layer<batch_normalization> && sc::Layer<layer_normalization>);

// Keras's defaults.
constexpr batch_normalization plain{};
static_assert(plain.options.axis == -1 && plain.options.momentum == 0.99 && plain.options.epsilon == 1e-3F &&
              plain.options.center && plain.options.scale);
constexpr auto of_images = rules_of(plain, sc::shape(24, 24, 64));
static_assert(of_images.gives({24, 24, 64}));
static_assert(of_images.flops == 2 * 24 * 24 * 64);

// Weights in Keras's order; the moving statistics are not trained.
static_assert(of_images.weights.count == 4);
static_assert(of_images.weights.entries[0].name == "gamma" && of_images.weights.entries[0].trainable);
static_assert(of_images.weights.entries[1].name == "beta" && of_images.weights.entries[1].trainable);
static_assert(of_images.weights.entries[2].name == "moving_mean" && !of_images.weights.entries[2].trainable);
static_assert(of_images.weights.entries[3].name == "moving_variance" && !of_images.weights.entries[3].trainable);
static_assert([] {
  for (int i = 0; i < 4; ++i)
    if (of_images.weights.entries[i].shape != sc::shape(64)) return false;
  return true;
}());
static_assert(of_images.weights.entries[0].initializer == sc::initializer(sc::initializers::ones{}));
static_assert(of_images.weights.entries[1].initializer == sc::initializer(sc::initializers::zeros{}));
static_assert(of_images.weights.entries[2].initializer == sc::initializer(sc::initializers::zeros{}));
static_assert(of_images.weights.entries[3].initializer == sc::initializer(sc::initializers::ones{}));

constexpr batch_normalization chosen{{.axis = 1,
                                      .momentum = 0.5,
                                      .epsilon = 0.25,
                                      .center = false,
                                      .gamma_initializer = sc::initializers::constant{2},
                                      .gamma_regularizer = sc::regularizers::l2{0.5F},
                                      .name = "chosen"}};
static_assert(chosen.layer_name == "chosen" && chosen.options.momentum == 0.5F);
static_assert(rules_of(chosen, sc::shape(7, 3)).gives({7, 3}));
static_assert(rules_of(chosen, sc::shape(7, 3)).weights.count == 3);
static_assert(rules_of(chosen, sc::shape(7, 3)).weights.entries[0].shape == sc::shape(7));
static_assert(rules_of(chosen, sc::shape(7, 3)).weights.entries[0].regularizer.l2 == 0.5F);
static_assert(rules_of(chosen, sc::shape(7, 3)).weights.entries[1].name == "moving_mean");
static_assert(rules_of(batch_normalization{{.scale = false}}, sc::shape(7)).weights.entries[0].name == "beta");
static_assert(rules_of(batch_normalization{{.center = false, .scale = false}}, sc::shape(7)).weights.count == 2);
static_assert(batch_normalization{2}.options.axis == 2);

// Options in braces inside a template, where a compiler may know less of them.
template <class T>
constexpr batch_normalization in_template(T axis) {
  return batch_normalization{{.axis = axis, .name = "here"}};
}
static_assert(in_template(2).layer_name == "here" && in_template(2).options.axis == 2);

// Which variance Keras's kernels gather.
static_assert(!plain.moves_unbiased_variance(sc::shape(5)));
static_assert(!plain.moves_unbiased_variance(sc::shape(4, 5)));
static_assert(plain.moves_unbiased_variance(sc::shape(3, 4, 5)));
static_assert(plain.moves_unbiased_variance(sc::shape(2, 3, 4, 5)));
static_assert(!plain.moves_unbiased_variance(sc::shape(1, 2, 3, 4, 5)));
static_assert(batch_normalization{1}.moves_unbiased_variance(sc::shape(3, 4, 5)));
static_assert(!batch_normalization{2}.moves_unbiased_variance(sc::shape(3, 4, 5)));

static_assert(rules_of(batch_normalization{0}, sc::shape(4, 5))
                  .says("layer 'the_layer' normalises along axis 0, which is not an axis of an input of shape (4, 5); "
                        "axis 0 is the batch, the last is 2 [E1050]"));
static_assert(rules_of(batch_normalization{3}, sc::shape(4, 5)).problem.code == 1050);
static_assert(rules_of(batch_normalization{-3}, sc::shape(4, 5)).problem.code == 1050);
static_assert(rules_of(plain, sc::shape{}).problem.code == 1050);
static_assert(rules_of(plain, sc::shape(4), sc::shape(4)).problem.code == 1001);
static_assert(rules_of(batch_normalization{{.momentum = 1.5}}, sc::shape(4)).problem.code == 1052);
static_assert(rules_of(batch_normalization{{.momentum = __builtin_nanf("")}}, sc::shape(4)).problem.code == 1052);
static_assert(rules_of(batch_normalization{{.epsilon = -1e-3}}, sc::shape(4)).problem.code == 1053);

constexpr layer_normalization rows{};
static_assert(rows.options.axis == sc::axis_list(-1) && rows.options.epsilon == 1e-3F && rows.options.center &&
              rows.options.scale);
constexpr auto of_rows = rules_of(rows, sc::shape(7, 10));
static_assert(of_rows.gives({7, 10}) && of_rows.flops == 7 * 70);
static_assert(of_rows.weights.count == 2);
static_assert(of_rows.weights.entries[0].name == "gamma" && of_rows.weights.entries[0].shape == sc::shape(10));
static_assert(of_rows.weights.entries[1].name == "beta" && of_rows.weights.entries[1].shape == sc::shape(10));
static_assert(of_rows.weights.entries[0].initializer == sc::initializer(sc::initializers::ones{}));

constexpr auto of_planes = rules_of(layer_normalization{{.axis = {2, 3}}}, sc::shape(4, 5, 6));
static_assert(of_planes.gives({4, 5, 6}) && of_planes.weights.entries[0].shape == sc::shape(5, 6));
static_assert(rules_of(layer_normalization{{.axis = {-2, -1}, .scale = false}}, sc::shape(5, 6)).weights.count == 1);
static_assert(rules_of(layer_normalization{{.axis = {1, 2, 3}}}, sc::shape(4, 5, 6)).weights.entries[0].shape ==
              sc::shape(4, 5, 6));
static_assert(rules_of(layer_normalization{{.center = false, .gamma_regularizer = sc::regularizers::l1{0.5F}}},
                       sc::shape(5, 6))
                  .weights.entries[0]
                  .regularizer.l1 == 0.5F);
static_assert(layer_normalization{{.name = "here"}}.layer_name == "here");
static_assert(rules_of(layer_normalization{2}, sc::shape(5, 6)).gives({5, 6}));

static_assert(rules_of(layer_normalization{3}, sc::shape(4, 5)).problem.code == 1050);
static_assert(rules_of(layer_normalization{0}, sc::shape(4, 5)).problem.code == 1050);
static_assert(rules_of(rows, sc::shape{}).problem.code == 1050);
static_assert(rules_of(layer_normalization{{.axis = {1, 2, 0}}}, sc::shape(4, 5)).problem.code == 1050);
static_assert(rules_of(layer_normalization{{.axis = sc::axis_list::none()}}, sc::shape(4, 5)).problem.code == 1050);
static_assert(
    rules_of(layer_normalization{{.axis = {2, 1, -2}}}, sc::shape(4, 5, 6))
        .says("layer 'the_layer' normalises along axis (2, 1, -2), which names axis 2 twice; the input's shape "
              "is (4, 5, 6) behind the batch, which is axis 0 [E1051]"));
static_assert(rules_of(layer_normalization{{.axis = {-1, -1}}}, sc::shape(4, 5)).problem.code == 1051);

// Any axes, and weights in the order in which they are named; the last ones in any order are rows.
constexpr auto of_columns = rules_of(layer_normalization{1}, sc::shape(4, 5));
static_assert(of_columns.gives({4, 5}) && of_columns.flops == 7 * 20);
static_assert(of_columns.weights.entries[0].shape == sc::shape(4) &&
              of_columns.weights.entries[1].shape == sc::shape(4));
constexpr layer_normalization turned{{.axis = {-2, 1}}};
static_assert(rules_of(turned, sc::shape(4, 5, 6)).weights.entries[0].shape == sc::shape(5, 4));
static_assert(turned.normalizes_rows(sc::shape(4, 5)) && !turned.normalizes_rows(sc::shape(4, 5, 6)));
static_assert(rows.normalizes_rows(sc::shape(4, 5)) && !layer_normalization{1}.normalizes_rows(sc::shape(4, 5)));
static_assert(rules_of(layer_normalization{{.epsilon = __builtin_nanf("")}}, sc::shape(4)).problem.code == 1053);

TEST_CASE("options that are not numbers are refused at run time, too") {
  CHECK(rules_of(batch_normalization{{.momentum = __builtin_nanf("")}}, sc::shape(4)).problem.code == 1052);
  CHECK(rules_of(layer_normalization{{.epsilon = -1.0F}}, sc::shape(4)).problem.code == 1053);
}
