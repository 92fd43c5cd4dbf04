// SPDX-License-Identifier: BSD-3-Clause
// Pooling, padding, up-sampling and activation layers against real Keras.
#include "golden_layers.hpp"

namespace {

using golden::check_layer, golden::one;

golden::file const& pooling_file() {
  static auto const file = golden::read("pooling.txt");
  return file;
}

/// The layer on images and sequences of the shapes in make_pooling.py.
template <auto Layer, int Batch = 2, sc::layers::input Input = input{5, 6, 3}>
void image(std::string const& name) {
  check_layer<one<Batch, Input, Layer>, Batch>(pooling_file(), name);
}
template <auto Layer>
void sequence(std::string const& name) {
  check_layer<one<2, input{7, 3}, Layer>, 2>(pooling_file(), name);
}
template <auto Layer>
void rows(std::string const& name) {
  check_layer<one<3, input{4}, Layer>, 3>(pooling_file(), name);
}

constexpr auto same = sc::padding::same;

}  // namespace

TEST_CASE("max pooling") {
  image<max_pooling2d{}>("max2d");
  image<max_pooling2d{2, {.padding = same}}>("max2d_same");
  image<max_pooling2d{3, 2, {.padding = same}}>("max2d_3_2_same");
  image<max_pooling2d{{2, 3}, {.strides = {1, 2}}}>("max2d_2x3_strides_1x2");
  image<max_pooling2d{2, 3}, 2, input{6, 8, 2}>("max2d_gaps");
  image<max_pooling2d{}, 1, input{4, 4, 37}>("max2d_wide");
  image<max_pooling2d{}, 1, input{4, 4, 1}>("max2d_ties");
  image<max_pooling2d{3, 1, {.padding = same}}, 1, input{4, 4, 1}>("max2d_ties_overlap");
  sequence<max_pooling1d{}>("max1d");
  sequence<max_pooling1d{3, 1, {.padding = same}}>("max1d_3_1_same");
  sequence<max_pooling1d{4, 3, {.padding = same}}>("max1d_4_3_same");
}

TEST_CASE("average pooling") {
  image<average_pooling2d{}>("average2d");
  image<average_pooling2d{2, {.padding = same}}>("average2d_same");
  image<average_pooling2d{3, 2, {.padding = same}}>("average2d_3_2_same");
  image<average_pooling2d{{2, 3}, {.strides = {1, 2}}}>("average2d_2x3_strides_1x2");
  image<average_pooling2d{2, 3}, 2, input{6, 8, 2}>("average2d_gaps");
  image<average_pooling2d{}, 1, input{4, 4, 37}>("average2d_wide");
  sequence<average_pooling1d{}>("average1d");
  sequence<average_pooling1d{3, 1, {.padding = same}}>("average1d_3_1_same");
  sequence<average_pooling1d{4, 3, {.padding = same}}>("average1d_4_3_same");
}

TEST_CASE("global pooling") {
  image<global_max_pooling2d{}>("global_max2d");
  image<global_max_pooling2d{{.keepdims = true}}>("global_max2d_keepdims");
  image<global_max_pooling2d{}, 1, input{4, 4, 1}>("global_max2d_ties");
  image<global_average_pooling2d{}>("global_average2d");
  image<global_average_pooling2d{{.keepdims = true}}>("global_average2d_keepdims");
  sequence<global_max_pooling1d{}>("global_max1d");
  sequence<global_max_pooling1d{{.keepdims = true}}>("global_max1d_keepdims");
  sequence<global_average_pooling1d{}>("global_average1d");
  sequence<global_average_pooling1d{{.keepdims = true}}>("global_average1d_keepdims");
}

TEST_CASE("zero padding and cropping") {
  image<zero_padding2d{}, 2, input{2, 3, 2}>("zero_padding2d");
  image<zero_padding2d{{1, 2}}, 2, input{2, 3, 2}>("zero_padding2d_1x2");
  image<zero_padding2d{{{1, 0}, {2, 3}}}, 2, input{2, 3, 2}>("zero_padding2d_each");
  image<zero_padding1d{}, 2, input{3, 2}>("zero_padding1d");
  image<zero_padding1d{{0, 2}}, 2, input{3, 2}>("zero_padding1d_each");
  image<cropping2d{1}>("cropping2d");
  image<cropping2d{{{1, 0}, {2, 3}}}>("cropping2d_each");
  sequence<cropping1d{}>("cropping1d");
  sequence<cropping1d{{0, 3}}>("cropping1d_each");
}

TEST_CASE("up-sampling") {
  constexpr auto bilinear = sc::interpolation::bilinear;
  image<up_sampling2d{}, 2, input{3, 2, 3}>("up_sampling2d");
  image<up_sampling2d{{3, 1}}, 2, input{3, 2, 3}>("up_sampling2d_3x1");
  image<up_sampling2d{2, {.interpolation = bilinear}}, 2, input{3, 4, 3}>("up_sampling2d_bilinear");
  image<up_sampling2d{{3, 4}, {.interpolation = bilinear}}, 1, input{4, 3, 2}>("up_sampling2d_bilinear_3x4");
  image<up_sampling2d{{2, 3}, {.interpolation = bilinear}}, 2, input{1, 3, 1}>("up_sampling2d_bilinear_one");
  sequence<up_sampling1d{}>("up_sampling1d");
  sequence<up_sampling1d{3}>("up_sampling1d_3");
}

TEST_CASE("activations with options, where they change and elsewhere") {
  rows<re_lu{}>("re_lu");
  rows<re_lu{6}>("re_lu_6");
  rows<re_lu{3}>("re_lu_3");
  rows<re_lu{{.negative_slope = 0.1F}}>("re_lu_slope");
  rows<re_lu{{.max_value = 2, .negative_slope = 0.2F, .threshold = 0.5F}}>("re_lu_all");
  rows<leaky_re_lu{}>("leaky_re_lu");
  rows<leaky_re_lu{0.5}>("leaky_re_lu_half");
  rows<elu_layer{}>("elu");
  rows<elu_layer{0.5}>("elu_half");
  rows<thresholded_re_lu{}>("thresholded_re_lu");
  rows<thresholded_re_lu{0.5}>("thresholded_re_lu_half");
}

TEST_CASE("softmax along an axis") {
  image<softmax_layer{}, 2, input{3, 4}>("softmax");
  image<softmax_layer{1}, 2, input{3, 4}>("softmax_axis_1");
  image<softmax_layer{-2}, 2, input{2, 3, 2}>("softmax_axis_2");
}

TEST_CASE("rectifiers that learn their slopes") {
  rows<prelu{}>("prelu");
  image<prelu{}, 2, input{2, 3, 2}>("prelu_image");
  image<prelu{{.shared_axes = {1, 2}}}, 2, input{3, 4, 3}>("prelu_shared");
  image<prelu{{.shared_axes = 2}}, 2, input{3, 4, 3}>("prelu_shared_rows");
  image<prelu{{.shared_axes = {1, 3}}}, 2, input{3, 4, 3}>("prelu_shared_channels");
  image<prelu{{.shared_axes = {1, 2, 3}}}, 2, input{3, 4, 3}>("prelu_one");
}
