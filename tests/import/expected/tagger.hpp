// The model 'tagger' of tagger.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct tagger : sc::functional<tagger> {
  static constexpr std::string_view name = "tagger";

  static constexpr auto build(auto& model) {
    auto words = model.input({10, 6}, "words");
    auto picture = model.input({12}, "picture");
    auto x = conv1d{8, 3, sc::relu, {.padding = sc::padding::causal}}(words);
    x = group_normalization{{.groups = 2}}(x);
    auto y = dense{10}(picture);
    y = repeat_vector{8}(y);
    y = permute{2, 1}(y);
    x = attention{}(x, y);
    x = global_max_pooling1d{}(x);
    y = global_average_pooling1d{}(y);
    x = maximum{}(x, y);
    return dense{4, sc::softmax}(x);
  }
};

}  // namespace models
