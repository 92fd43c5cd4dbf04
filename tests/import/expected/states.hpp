// The model 'states' of states.h5: made by `stagecraft import`.
#pragma once

#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace models {

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

struct states : sc::functional<states> {
  static constexpr std::string_view name = "states";

  static constexpr auto build(auto& model) {
    auto words = model.input({6, 3}, "words");
    auto answer = model.input({4, 2}, "answer");
    auto [t3, t4, t5] = lstm{5, {.return_state = true}}.named("encoder")(words);
    t4 = lstm{5, {.return_sequences = true}}.named("decoder")(answer, t4, t5);
    auto [t6, t7] = gru{4, {.return_sequences = true, .return_state = true}}(t4);
    t6 = dense{3, sc::softmax}(t6);
    t7 = simple_rnn{4}(words, t7);
    auto [t8, t9, t10] = bidirectional{gru{3, {.return_state = true}}}(words);
    t7 = concatenate{}(t7, t8, t9, t10);
    t7 = dense{2}(t7);
    return sc::outputs(t6, t7);
  }
};

}  // namespace models
