// SPDX-License-Identifier: BSD-3-Clause
// What programs may be compiled with: flags and macros that CMakeLists.txt gives, one compilation for each compiler and
// standard library. Only checked, not run.
#include <stagecraft/applications/vgg16.hpp>
#include <stagecraft/ipu.hpp>
#include <stagecraft/operations/words.hpp>
#include <stagecraft/stagecraft.hpp>
#ifndef _LIBCPP_VERSION  // libc++ 19 has no std::from_chars for float, with which files are read
#include <stagecraft/data/data.hpp>
#include <stagecraft/io/model_checkpoint.hpp>
#include <stagecraft/serving/embedded_runtime.hpp>
#endif

#if !defined(check) || !defined(min)
#error a macro of the program is gone
#endif
#undef min
#undef max

namespace sc = stagecraft;
using namespace sc;
using namespace sc::layers;

// sc::dense is sc::layers::dense, also to who uses both namespaces.
using network = sc::sequential<sc::input{8, 8, 1}, sc::conv2d{4, 3, sc::relu}, batch_normalization{}, max_pooling2d{2},
                               flatten{}, dropout{0.1F}, dense{3}>;
inline constexpr auto description =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 4};

// Layers whose constructors are inherited, or made by C++, in a template whose parameters they do not depend on.
template <int Size>
constexpr std::size_t calls_of_template() {
  using pooled =
      sc::sequential<input{Size, Size, 1}, conv2d{4, 3}, max_pooling2d{2, {.strides = 1}},
                     average_pooling2d{2, {.name = "mean"}}, global_average_pooling2d{}, gaussian_noise{0.1F}>;
  using sequence = sc::sequential<input{Size, 3}, max_pooling1d{}, global_max_pooling1d{{.name = "top"}}>;
  using volume = sc::sequential<input{Size, Size, Size, 1}, conv3d{2, 3}, max_pooling3d{2}, up_sampling3d{},
                                zero_padding3d{}, global_average_pooling3d{}>;
  return sc::call_count<pooled> + sc::call_count<sequence> + sc::call_count<volume>;
}
static_assert(calls_of_template<8>() == 15);

static_assert(
    sc::call_count<sc::applications::vgg16<sc::applications::application_options{.height = 32, .width = 32}>> > 20);

// Words of ops that have a header of their own.
struct places : sc::layer<places> {
  static constexpr std::string_view class_name = "Places";
  constexpr auto call(auto& ops, auto x) const {
    return ops.top_k(x, 2, -1).values + ops.one_hot(ops.argmax(x, -1), 2);
  }
};
static_assert(sc::call_count<sc::sequential<sc::input{5}, places{}>> == 2);

int main() {
  xt::xtensor<float, 4> const x({8, 8, 8, 1}, 0.5F);
  xt::xtensor<int, 1> const y({8}, 1);
  sc::trainer<network, description> model;
  sc::callbacks::early_stopping stop({.monitor = "loss"});
  model.fit(x, y, {.epochs = 1, .callbacks = {&stop}, .validation_split = 0.5});
#ifndef _LIBCPP_VERSION
  sc::callbacks::model_checkpoint saver(model, "network", {.save_best_only = true});
  model.fit(x, y, {.epochs = 1, .callbacks = {&saver}});
  auto const batches = sc::data::from(x, y).shuffle(8).batch(4).map(
      [](auto const& images, auto const& labels) { return std::tuple(images / 2.0F, labels); });
  model.fit(batches, {.epochs = 1});
#endif
  return model.predict(x).shape(0) == 8 ? 0 : 1;
}
