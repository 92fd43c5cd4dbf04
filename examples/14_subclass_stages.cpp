// SPDX-License-Identifier: BSD-3-Clause
// A model subclass in four stages; one of its layers works in two of them, and twice in each. The stages are given in
// the model's code, or from outside to a model that has none.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

struct my_model : sc::model<my_model> {
  dense dense_layer_1{8, sc::relu}, dense_layer_2{8, sc::relu};
  concatenate concat_layer;
  dense dense_layer_3{1};

  constexpr auto call(auto& model, auto x) {
    sc::symbolic_tensor x1, x2;
    {
      sc::pipeline_stage stage(model, 0);
      x = dense_layer_1(x);
    }
    {
      sc::pipeline_stage stage(model, 1);
      x1 = dense_layer_2(x);
      x2 = dense_layer_2(x);
    }
    {
      sc::pipeline_stage stage(model, 2);
      x1 = dense_layer_2(x1);
      x2 = dense_layer_2(x2);
      x = concat_layer(x1, x2);
    }
    sc::pipeline_stage stage(model, 3);
    return dense_layer_3(x);
  }
};

/// This model was written before anybody thought of stages.
struct existing_model : sc::model<existing_model> {
  dense dense_layer_1{8, sc::relu}, dense_layer_2{8, sc::relu};
  concatenate concat_layer;
  dense dense_layer_3{1};

  constexpr auto call(auto& /*model*/, auto x) {
    x = dense_layer_1(x);
    auto x1 = dense_layer_2(x), x2 = dense_layer_2(x);
    x1 = dense_layer_2(x1);
    x2 = dense_layer_2(x2);
    return dense_layer_3(concat_layer(x1, x2));
  }
};
using existing_network = sc::build<existing_model, input{28, 28}>;

// The weights of a layer are on one device, and so are the stages in which it works, 1 and 2. The function that could
// change the stages of the model's code changes none.
using staged = sc::pipelined<sc::build<my_model, input{28, 28}>, [](auto&) {}, sc::device_mapping<0, 1, 1, 2>>;

// The calls come in Keras's post-order; their layers are compared with the model's members, and the calls of one layer
// are told apart by their number.
using assigned = sc::pipelined<existing_network,
                               [](auto& assignment) {
                                 auto const& model = sc::members_of<existing_network>;
                                 for (auto& call : assignment) {
                                   if (call.layer() == model.dense_layer_1)
                                     call.pipeline_stage = 0;
                                   else if (call.layer() == model.dense_layer_2)
                                     call.pipeline_stage = call.node_index() < 2 ? 1 : 2;
                                   else if (call.layer() == model.concat_layer)
                                     call.pipeline_stage = 2;
                                   else if (call.layer() == model.dense_layer_3)
                                     call.pipeline_stage = 3;
                                 }
                               },
                               sc::device_mapping<0, 1, 1, 2>>;
static_assert(sc::pipeline_stages<staged> == 4 && sc::pipeline_stages<assigned> == 4);
static_assert(sc::calls_of_stage<staged, 2> == sc::calls_of_stage<assigned, 2>);
static_assert(sc::device_of<assigned, 1> == sc::device_of<assigned, 2>);

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::mean_squared_error{},
                                              .metrics = sc::metrics::mean_absolute_error{},
                                              .batch_size = 32,
                                              .steps_per_execution = 64,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a model subclass in four pipeline stages.", 4);
  auto const [train, test] = load_data(given);
  auto const ink = [](auto const& images) -> xt::xtensor<float, 2> { return xt::sum(images, {2}); };  // of each row

  sc::print_pipeline_stage_assignment_summary<assigned>();
  sc::trainer<assigned, training, sc::host<2>> model;
  int const executions = static_cast<int>(train.y.size()) / (training.batch_size * training.steps_per_execution);
  model.fit(train.x, ink(train.x),
            {.epochs = given.epochs, .steps_per_epoch = executions * training.steps_per_execution});
  auto const [loss, error] = model.evaluate(test.x, ink(test.x), {.verbose = 0});
  std::printf("test loss %.4f; on average, a row's ink is %.4f off\n", loss, error);
}
