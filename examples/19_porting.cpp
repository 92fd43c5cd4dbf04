// SPDX-License-Identifier: BSD-3-Clause
// Porting a program of TensorFlow 2.1, whose models had classes and constructor arguments of their own:
//
//     model = ipu.keras.PipelineSequential(
//         [tf.keras.layers.Flatten(),
//          tf.keras.layers.Dense(256, activation='relu'),
//          tf.keras.layers.Dense(128, activation='relu'),
//          tf.keras.layers.Dense(10)],
//         gradient_accumulation_count=16,
//         device_mapping=[0, 0, 1, 1])
//     model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(), optimizer=tf.keras.optimizers.RMSprop())
//     model.fit(dataset, epochs=2, steps_per_epoch=128)
//
// That is an ordinary model, its stages, and the options of its training:
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;
using model_in_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;  // device_mapping

inline constexpr auto training =  // compile
    sc::training{.optimizer = sc::optimizers::rmsprop{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .batch_size = 32,
                 .steps_per_execution = 128,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 16}};  // gradient_accumulation_count

// A step was a weight update of 16 batches there; here, as in TensorFlow 2.4, it is one batch, and 128 steps are eight
// updates.
static_assert(sc::effective_batch_size<model_in_stages, training> == 32 * 16);

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains what was a PipelineSequential.", 2);
  auto const [train, test] = load_data(given);
  sc::trainer<model_in_stages, training, sc::host<2>> model;
  model.fit(train.x, train.y, {.epochs = given.epochs, .steps_per_epoch = 128});
  auto const [loss] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f\n", loss);
}
