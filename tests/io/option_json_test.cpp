// SPDX-License-Identifier: BSD-3-Clause
// Options in the JSON of bundles: each type has its form, and the library's optimizers and losses list all of theirs.
#include <stagecraft/stagecraft.hpp>

#include <stagecraft/io/detail/model_config.hpp>

#include "../losses/loss_table.hpp"
#include "../optimizers/optimizer_table.hpp"

#include <array>
#include <doctest/doctest.h>
#include <string>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

struct plain {
  float learning_rate = 0.25F;
  float factor = 3;

  constexpr void update(auto& ops, auto weight, auto gradient) const { ops.update(weight, weight - gradient * factor); }
};
struct named : sc::optimizer<named> {
  static constexpr std::string_view name = "other";
  float learning_rate = 0.5F;

  constexpr void update(auto& ops, auto weight, auto gradient) const { ops.update(weight, weight - gradient); }
};
struct of_base : sc::loss<of_base> {
  constexpr auto call(auto target, auto output) const { return target - output; }
};
struct derived : sc::optimizers::sgd {};

struct range_of_own {
  using listed_options = range_of_own;

  int first = 1;
  float last = 0.5F;
};
struct unknown {
  int height = 1;
  int width = 2;
};

static_assert(!sc::tracing::ListsOptions<derived>);

std::string text_of(auto const& value) { return sc::io::json_of(value).dump(); }
std::string object_of(auto const& value) { return sc::io::json_of_object(value).dump(); }
std::string options_of(auto const& layer) { return sc::io::layer_options(layer).dump(); }

}  // namespace

TEST_CASE("each type of an option has one form") {
  CHECK(text_of(true) == "true");
  CHECK(text_of(3) == "3");
  CHECK(text_of(0.1F) == "0.1");
  CHECK(text_of(0.1) == "0.1");
  CHECK(text_of(sc::padding::same) == R"("same")");
  CHECK(text_of(sc::fixed_name("text")) == R"("text")");
  CHECK(text_of(std::string_view("text")) == R"("text")");
  CHECK(text_of(sc::size_2d{3, 5}) == "[3,5]");
  CHECK(text_of(sc::size_3d{3, 5, 7}) == "[3,5,7]");
  CHECK(text_of(sc::border{1, 2}) == "[1,2]");
  CHECK(text_of(sc::border_2d{{1, 2}, {3, 4}}) == "[[1,2],[3,4]]");
  CHECK(text_of(sc::border_3d{{1, 2}, {3, 4}, {5, 6}}) == "[[1,2],[3,4],[5,6]]");
  CHECK(text_of(sc::factor_range{0.2}) == "[-0.2,0.2]");
  CHECK(text_of(sc::shape{2, 3}) == "[2,3]");
  CHECK(text_of(sc::axis_list::none()) == "null");
  CHECK(text_of(sc::axis_list{-1}) == "-1");
  CHECK(text_of(sc::axis_list{1, 2}) == "[1,2]");
  CHECK(text_of(sc::number_list{0.5, 1}) == "[0.5,1.0]");
  CHECK(text_of(sc::optimizers::weight_names{"bias", "gamma"}) == R"(["bias","gamma"])");
  CHECK(text_of(std::array{1, 2}) == "[1,2]");
  CHECK(text_of(range_of_own{}) == R"({"first":1,"last":0.5})");
  CHECK(text_of(unknown{}) == R"("unknown")");
}

TEST_CASE("options of layers") {
  CHECK(options_of(max_pooling2d{{2, 3}}) == R"({"pool_size":[2,3],"strides":[2,3],"padding":"valid"})");
  CHECK(options_of(zero_padding2d{{{1, 0}, {0, 2}}}) == R"({"padding":[[1,0],[0,2]]})");
  CHECK(options_of(permute{2, 1}) == R"({"dims":[2,1]})");
  CHECK(options_of(random_zoom{{0.25, 0.5}}) ==
        R"({"height_factor":[0.25,0.5],"width_factor":[0.25,0.5],"fill_mode":"reflect","interpolation":"bilinear",)"
        R"("seed":null,"fill_value":0.0,"dtype":"float32"})");
  CHECK(options_of(discretization{{.bin_boundaries = {-1, 0, 0.5}, .epsilon = 0.25F}}) ==
        R"({"bin_boundaries":[-1.0,0.0,0.5],"num_bins":null,"epsilon":0.25,"dtype":"float32"})");
}

TEST_CASE("optimizers and losses have their names and all of their options") {
  laws::with_optimizers([]<auto Optimizer>(char const* name) {
    INFO(name);
    CHECK(sc::tracing::ListsOptions<std::remove_const_t<decltype(Optimizer)>>);
  });
  laws::with_losses_of_calls([]<auto Loss>(char const* name) {
    INFO(name);
    CHECK(sc::tracing::ListsOptions<std::remove_const_t<decltype(Loss)>>);
  });
  CHECK(object_of(sc::losses::huber{.delta = 2}) ==
        R"({"class_name":"huber","config":{"delta":2.0,"reduction":"sum_over_batch_size"}})");
  std::string const of_sgd =
      R"({"class_name":"sgd","config":{"learning_rate":0.01,"momentum":0.0,"nesterov":false,"decay":0.0,)"
      R"("clipnorm":0.0,"clipvalue":0.0,"global_clipnorm":0.0}})";
  CHECK(object_of(sc::optimizers::sgd{}) == of_sgd);
  CHECK(object_of(sc::optimizers::moving_average{sc::optimizers::sgd{}}) ==
        R"({"class_name":"moving_average","config":{"optimizer":)" + of_sgd +
            R"(,"ema_momentum":0.99,"ema_overwrite_frequency":0,"learning_rate":0.01}})");
}

TEST_CASE("losses of several outputs stand in the order of the outputs") {
  CHECK(object_of(sc::losses::per_output(sc::losses::mean_squared_error{}, of_base{})) ==
        R"({"class_name":"per_output","config":{"losses":[{"class_name":"mean_squared_error","config":)"
        R"({"reduction":"sum_over_batch_size"}},{"class_name":"of_base","config":{}}]}})");
}

TEST_CASE("optimizers of one's own have their learning rate and the name of their type, or their own") {
  CHECK(object_of(plain{}) == R"({"class_name":"plain","config":{"learning_rate":0.25}})");
  CHECK(object_of(named{}) == R"({"class_name":"other","config":{"learning_rate":0.5}})");
  CHECK(
      object_of(sc::optimizers::moving_average{plain{}}) ==
      R"({"class_name":"moving_average","config":{"optimizer":{"class_name":"plain","config":{"learning_rate":0.25}},)"
      R"("ema_momentum":0.99,"ema_overwrite_frequency":0,"learning_rate":0.25}})");
}
