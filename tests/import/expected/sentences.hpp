// The model 'sentences' of sentences.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct sentences : sc::functional<sentences> {
  static constexpr std::string_view name = "sentences";

  static constexpr auto build(auto& model) {
    auto x = model.input(7);
    x = embedding{20, 6, {.mask_zero = true}}(x);
    x = lstm{6, {.return_sequences = true}}(x);
    x = gru{5}(x);
    return dense{1, sc::sigmoid}(x);
  }
};

}  // namespace models
