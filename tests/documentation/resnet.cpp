// SPDX-License-Identifier: BSD-3-Clause
// Snippets of docs/steps.md and docs/importing.md with a ResNet-50: they compile as they stand there
// (tests/architecture/snippets.py compares them).
#include <stagecraft/applications/resnet50.hpp>
#include <stagecraft/io/keras_files.hpp>
#include <stagecraft/io/weights.hpp>
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 16};
inline constexpr auto single = sc::inference{.batch_size = 1};

namespace fine_tuning {

using base = sc::frozen<sc::without_top<sc::applications::resnet50<>, 1>, "conv[1-4]_.*">;  // conv5 is trained
using tuned = sc::sequential<input{224, 224, 3}, base{}, dense{5}>;

void train() {
  sc::trainer<tuned, training> model;
  model.load_weights("resnet50.h5", {.by_name = true});  // the new layer keeps its first values
}

using digits =
    sc::applications::resnet50<sc::applications::application_options{.height = 64, .width = 64, .classes = 10}>;

void predict() {
  sc::predictor<sc::applications::resnet50<>, single> net;
  net.load_weights("resnet50.safetensors");  // by stagecraft import of Keras's .h5
}

}  // namespace fine_tuning
