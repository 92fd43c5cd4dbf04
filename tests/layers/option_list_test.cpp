// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/layers/option_list.hpp>

#include <concepts>
#include <doctest/doctest.h>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

/// The names, a comma behind each.
struct name_list {
  char text[400]{};
  int length = 0;

  template <class L>
  constexpr explicit name_list(L const& layer) {
    sc::for_each_option(layer, [&](std::string_view name, auto const&) {
      for (char const letter : name) text[length++] = letter;
      text[length++] = ',';
    });
  }
  constexpr bool operator==(std::string_view other) const {
    return std::string_view(text, static_cast<std::size_t>(length)) == other;
  }
};

template <class Value, class L>
constexpr Value value_of(L const& layer, std::string_view wanted) {
  Value result{};
  sc::for_each_option(layer, [&]<class T>(std::string_view name, T const& value) {
    if constexpr (std::same_as<T, Value>)
      if (name == wanted) result = value;
  });
  return result;
}

struct own : sc::layer<own> {
  [[maybe_unused]] static constexpr std::string_view class_name = "Own";
  float factor = 2;
  using arguments = sc::argument_list<&own::factor>;
  constexpr auto call(auto&, auto x) const { return x * factor; }
};

static_assert(name_list(dense{3}) ==
              "units,activation,use_bias,kernel_initializer,bias_initializer,kernel_regularizer,bias_regularizer,"
              "activity_regularizer,kernel_constraint,bias_constraint,input_bytes,name,trainable,dtype,");
static_assert(name_list(conv2d{3, 5}) ==
              "filters,kernel_size,activation,strides,padding,dilation_rate,groups,use_bias,kernel_initializer,"
              "bias_initializer,kernel_regularizer,bias_regularizer,activity_regularizer,kernel_constraint,"
              "bias_constraint,stateful,input_bytes,name,trainable,dtype,");
static_assert(name_list(layer_normalization{}) ==
              "axis,epsilon,center,scale,beta_initializer,gamma_initializer,beta_regularizer,gamma_regularizer,"
              "beta_constraint,gamma_constraint,name,trainable,dtype,");
static_assert(name_list(own{}) == "factor,");
static_assert(name_list(flatten{}) == "");

static_assert(value_of<int>(dense{64}, "units") == 64);
static_assert(value_of<sc::activation>(dense{64, sc::tanh}, "activation") == sc::tanh);
static_assert(!value_of<bool>(dense{64, {.use_bias = false}}, "use_bias"));
static_assert(value_of<sc::size_2d>(conv2d{3, {5, 7}, {.strides = 2}}, "kernel_size") == sc::size_2d(5, 7));
static_assert(value_of<sc::size_2d>(conv2d{3, {5, 7}, {.strides = 2}}, "strides") == sc::size_2d(2, 2));
static_assert(value_of<double>(batch_normalization{{.momentum = 0.5}}, "momentum") == 0.5);
static_assert(value_of<float>(own{}, "factor") == 2);

}  // namespace

TEST_CASE("the options of a layer are listed with their names and values") {
  int count = 0;
  sc::for_each_option(depthwise_conv2d{3, {.depth_multiplier = 2}}, [&](std::string_view name, auto const& value) {
    ++count;
    if constexpr (std::same_as<std::remove_cvref_t<decltype(value)>, int>) {
      CHECK(name == "depth_multiplier");
      CHECK(value == 2);
    }
  });
  CHECK(count == 17);
}
