// SPDX-License-Identifier: BSD-3-Clause
// Every word of the tables against Keras and its laws, by the runners of the host and of tiles.
#include "check_word.hpp"
#include "table.hpp"

TEST_CASE("merging, attention") { words::check_words("words_merging.txt", words::merging_words()); }
TEST_CASE("regularization, scales") { words::check_words("words_regularization.txt", words::regularization_words()); }
TEST_CASE("preprocessing") { words::check_words("words_preprocessing.txt", words::preprocessing_words()); }
TEST_CASE("windows") { words::check_words("words_window.txt", words::window_words()); }
TEST_CASE("augmentation") { words::check_words("words_augmentation.txt", words::augmentation_words()); }
TEST_CASE("recurrent") { words::check_words("words_recurrent.txt", words::recurrent_words()); }
