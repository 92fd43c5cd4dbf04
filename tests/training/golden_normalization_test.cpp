// SPDX-License-Identifier: BSD-3-Clause
// batch_normalization and layer_normalization against real Keras: outputs, gradients, moving statistics, and a training
// whose last batch is partial.
#include "../session_steps.hpp"
#include "golden_layers.hpp"
#include "golden_trainer.hpp"

namespace {

golden::file const& normalizations() {
  static auto const file = golden::read("normalization.txt");
  return file;
}

/// Outputs and gradients while training, and what is predicted before that.
template <int Batch, sc::layers::input Input, auto Layer>
void check(std::string const& name) {
  CAPTURE(name);
  auto const& file = normalizations();
  golden::check_layer<golden::one<Batch, Input, Layer>, Batch>(file, name);

  session_steps<sc::sequential<Input, Layer>, golden::by_gradient<Batch>, sc::host<>> s;
  auto const& x = file[name + "/input_0"].values;
  std::copy(x.begin(), x.end(), s.input(0));
  [&]<std::size_t... Weight>(std::index_sequence<Weight...>) {
    (s.template write_weight<Weight>(
         file[name + "/" + std::string(s.graph.parameters[Weight].name.view())].values.data()),
     ...);
  }(std::make_index_sequence<decltype(s)::graph.parameters.size()>{});
  s.predict_step();
  golden::check_close("prediction", s.prediction(0), file[name + "/prediction"].values);
}

/// Moving statistics after several steps.
template <int Batch, sc::layers::input Input>
void check_steps(std::string const& name) {
  CAPTURE(name);
  auto const& file = normalizations();
  session_steps<sc::sequential<Input, batch_normalization{{.momentum = 0.8}}>, golden::by_gradient<Batch>, sc::host<>>
      s;
  auto const& inputs = file[name + "/inputs"].values;
  std::fill_n(s.scale(0), Batch * s.rows_per_sample(0), 0.0F);
  auto const size = inputs.size() / 3;
  for (std::size_t step = 0; step < 3; ++step) {
    std::copy_n(inputs.data() + step * size, size, s.input(0));
    s.train_step([] {});
  }
  golden::check_close("moving_mean", s.weight(2), file[name + "/moving_mean"].values);
  golden::check_close("moving_variance", s.weight(3), file[name + "/moving_variance"].values);
  std::copy_n(inputs.data(), size, s.input(0));
  s.predict_step();
  golden::check_close("prediction", s.prediction(0), file[name + "/prediction"].values);
}

struct network : sc::functional<network> {
  static constexpr auto build(auto& model) {
    batch_normalization shared{{.momentum = 0.7, .name = "shared"}};
    auto x = dense(4, {.name = "first"})(model.input(2, 2, 3));
    x = shared(activation(sc::tanh)(shared(x)));
    x = layer_normalization{{.name = "rows"}}(x);
    x = dense(3, {.name = "second"})(flatten()(x));
    return batch_normalization{{.momentum = 0.6, .gamma_regularizer = sc::regularizers::l2{}, .name = "last"}}(x);
  }
};

template <int BatchSize>
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                                              .loss = sc::losses::mean_squared_error{},
                                              .batch_size = BatchSize};

template <int BatchSize, class Machine = sc::host<>>
void check_fit() {
  auto const& file = normalizations();
  sc::trainer<network, training<BatchSize>, Machine> model;
  golden::set_weights(model, file, "fit/before");
  xt::xtensor<float, 4> x = xt::xtensor<float, 4>::from_shape({10, 2, 2, 3});
  std::copy_n(file["fit/x"].values.data(), x.size(), x.data());
  auto const y = golden::rows(file["fit/y"]);
  auto const history = model.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
  CHECK(golden::deviation(history.history["loss"], file["fit/loss"].values) < golden::loss_tolerance);
  CHECK(golden::weight_deviation(model, file, "fit/after") < golden::weight_tolerance);
  auto const [loss] = model.evaluate(x, y, {.batch_size = 4, .verbose = 0});
  CHECK(std::abs(loss - static_cast<double>(file["fit/evaluate"][0])) < golden::loss_tolerance);
  auto const predicted = model.predict(x, {.batch_size = 4});
  CHECK(golden::deviation(predicted, file["fit/predict"].values) < golden::weight_tolerance);
}

}  // namespace

TEST_CASE("batch_normalization") {
  check<5, input{1}, batch_normalization{}>("batch_rank2_1");
  check<5, input{3}, batch_normalization{}>("batch_rank2_3");
  check<4, input{17}, batch_normalization{}>("batch_rank2_17");
  check<3, input{64}, batch_normalization{{.momentum = 0.5}}>("batch_rank2_64");
  check<2, input{7, 3}, batch_normalization{}>("batch_rank3_3");
  check<2, input{3, 17}, batch_normalization{{.epsilon = 0.1}}>("batch_rank3_17");
  check<4, input{3}, batch_normalization{{.center = false}}>("batch_no_center");
  check<4, input{3}, batch_normalization{{.center = false, .scale = false}}>("batch_neither");
}

TEST_CASE("batch_normalization moves the unbiased variance where Keras's kernel is fused") {
  check<2, input{3, 4, 1}, batch_normalization{{.momentum = 0.75}}>("batch_rank4_1");
  check<2, input{3, 4, 3}, batch_normalization{}>("batch_rank4_3");
  check<2, input{2, 2, 17}, batch_normalization{{.momentum = 0.25}}>("batch_rank4_17");
  check<2, input{2, 2, 64}, batch_normalization{{.momentum = 0}}>("batch_rank4_64");
  check<2, input{2, 2, 2, 3}, batch_normalization{{.momentum = 0.5}}>("batch_rank5_3");
  check<2, input{3, 2, 3}, batch_normalization{{.scale = false}}>("batch_no_scale");
}

TEST_CASE("batch_normalization along other axes") {
  check<3, input{4, 3}, batch_normalization{{.axis = 1, .momentum = 0.5}}>("batch_rank3_axis1");
  check<2, input{3, 4, 5}, batch_normalization{{.axis = 1, .momentum = 0.5}}>("batch_rank4_axis1");
  check<2, input{3, 4, 5}, batch_normalization{{.axis = 2, .momentum = 0.5}}>("batch_rank4_axis2");
}

TEST_CASE("layer_normalization") {
  check<3, input{1}, layer_normalization{}>("layer_rank2_1");
  check<5, input{3}, layer_normalization{}>("layer_rank2_3");
  check<19, input{10}, layer_normalization{}>("layer_rank2_10");
  check<3, input{17}, layer_normalization{{.epsilon = 0.1}}>("layer_rank2_17");
  check<3, input{64}, layer_normalization{}>("layer_rank2_64");
  check<2, input{200}, layer_normalization{}>("layer_rank2_200");
  check<2, input{5, 3}, layer_normalization{}>("layer_rank3_3");
  check<2, input{2, 2, 17}, layer_normalization{}>("layer_rank4_17");
  check<4, input{6}, layer_normalization{{.center = false}}>("layer_no_center");
  check<4, input{18}, layer_normalization{{.scale = false}}>("layer_no_scale");
  check<4, input{6}, layer_normalization{{.center = false, .scale = false}}>("layer_neither");
}

TEST_CASE("layer_normalization over several axes") {
  check<3, input{4, 3}, layer_normalization{{.axis = {1, 2}}}>("layer_rank3_axes");
  check<2, input{3, 4, 5}, layer_normalization{{.axis = {-2, -1}}}>("layer_rank4_axes");
  check<3, input{2, 3, 4}, layer_normalization{{.axis = {1, 2, 3}}}>("layer_rank4_all");
  check<3, input{4, 3}, layer_normalization{{.axis = {2, 1}}}>("layer_rank3_turned");
}

TEST_CASE("layer_normalization along axes in front") {
  check<3, input{4, 5}, layer_normalization{1}>("layer_rank3_front");
  check<2, input{3, 4, 5}, layer_normalization{{.axis = {-2, 1}}}>("layer_rank4_turned");
}

TEST_CASE("moving statistics after several steps") {
  check_steps<4, input{5}>("steps_rank2");
  check_steps<2, input{3, 2, 5}>("steps_rank4");
}

TEST_CASE("a training whose last batch is partial") {
  check_fit<4>();
  check_fit<16>();  // every batch is partial
}
