// SPDX-License-Identifier: BSD-3-Clause
// Steps that are masked against real Keras: sequences filled up behind, before and between, one with nothing else.
#include "golden_layers.hpp"

namespace {

golden::file const& file() {
  static auto const read = golden::read("masking.txt");
  return read;
}
template <auto... Behind>
void check(std::string const& name) {
  golden::check_layer<sc::sequential<input{5, 3}, golden::probe{5}, masking{}, Behind...>, 5>(file(), name);
}
template <auto Behind>
void check_minus_one(std::string const& name) {
  golden::check_layer<sc::sequential<input{5, 3}, golden::probe{5}, masking{{.mask_value = -1}}, Behind>, 5>(file(),
                                                                                                             name);
}

}  // namespace

TEST_CASE("simple_rnn") {
  check<simple_rnn{4}>("simplernn");
  check_minus_one<simple_rnn{4, {.return_sequences = true}}>("simplernn_sequences");
  check<simple_rnn{4, {.go_backwards = true}}>("simplernn_backwards");
}

TEST_CASE("gru") {
  check<gru{4}>("gru");
  check_minus_one<gru{4, {.return_sequences = true}}>("gru_sequences");
  check<gru{4, {.go_backwards = true}}>("gru_backwards");
  check<gru{4, {.reset_after = false}}>("gru_reset_before");
}

TEST_CASE("lstm") {
  check<lstm{4}>("lstm");
  check_minus_one<lstm{4, {.return_sequences = true}}>("lstm_sequences");
  check<lstm{4, {.go_backwards = true}}>("lstm_backwards");
}

TEST_CASE("bidirectional") {
  check<bidirectional{lstm{2}}>("bidirectional");
  check<bidirectional{gru{2, {.return_sequences = true}}, {.merge_mode = merge_mode::sum}}>("bidirectional_sequences");
}

TEST_CASE("a mask goes along") {
  check<dense{4, sc::tanh, {.name = "dense"}}, activation{sc::relu},
        lstm{3, {.return_sequences = true, .name = "lstm"}}, gru{2, {.name = "gru"}}>("along");
}

TEST_CASE("embedding") {
  using words = sc::sequential<input{5}, embedding{7, 4, {.mask_zero = true}}, lstm{3}>;
  golden::check_layer<words, 5>(file(), "embedding");
}
