// The model 'siamese' of shared.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct shared : sc::functional<shared> {
  static constexpr std::string_view name = "siamese";

  static constexpr auto build(auto& model) {
    auto left = model.input({10}, "left");
    auto right = model.input({10}, "right");
    auto encode = dense{6, sc::relu}.named("encode");
    auto x = encode(left);
    auto again = dense{6, sc::sigmoid}.named("again");
    x = again(x);
    auto y = encode(right);
    y = again(y);
    auto z = multiply{}(x, y);
    x = subtract{}(x, y);
    z = concatenate{}(z, x);
    return dense{1, sc::sigmoid}.named("same")(z);
  }
};

}  // namespace models
