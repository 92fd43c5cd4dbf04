// The model 'pair' of nested.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace nested_parts {

struct encoder : sc::functional<encoder> {
  static constexpr std::string_view name = "encoder";

  static constexpr auto build(auto& model) {
    auto x = model.input(8, 8, 1);
    x = conv2d{3, 3, sc::relu}(x);
    x = batch_normalization{}(x);
    return flatten{}(x);
  }
};

using head = sc::named<"head", sc::sequential<input{108}, dense{6, sc::gelu}, dense{3}>>;

}  // namespace nested_parts

struct nested : sc::functional<nested> {
  static constexpr std::string_view name = "pair";

  static constexpr auto build(auto& model) {
    using namespace nested_parts;  // NOLINT
    auto first = model.input({8, 8, 1}, "first");
    auto second = model.input({8, 8, 1}, "second");
    auto shared_encoder = encoder{};
    auto x = shared_encoder(first);
    auto y = shared_encoder(second);
    x = average{}(x, y);
    return head{}(x);
  }
};

}  // namespace models
