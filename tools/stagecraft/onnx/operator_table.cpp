// SPDX-License-Identifier: BSD-3-Clause
#include "onnx/operator_table.hpp"

#include <stagecraft/diagnostics/shown_text.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace stagecraft::tool {

namespace {

using diagnostics::shown_name;

/// A line for each operator: its name, the inputs that are read, the outputs that exist (* any number), and its
/// attributes: `name:kind` is read, `name=value` must have that value, `name~kind` changes nothing of a prediction.
/// Lines that begin with a space go on with the one before.
constexpr std::string_view table_text = R"(
Abs 1 1
Acos 1 1
Acosh 1 1
Add 2 1
AffineGrid 2 1 align_corners:integer
And 2 1
ArgMax 1 1 axis:integer keepdims:integer select_last_index:integer
ArgMin 1 1 axis:integer keepdims:integer select_last_index:integer
Asin 1 1
Asinh 1 1
Atan 1 1
Atanh 1 1
Attention 7 4 is_causal:integer kv_num_heads:integer left_window_size:integer q_num_heads:integer
  qk_matmul_output_mode:integer right_window_size:integer scale:real softcap:real softmax_precision:integer
AveragePool 1 1 auto_pad:text dilations:integers kernel_shape:integers pads:integers strides:integers
  ceil_mode:integer count_include_pad:integer
BatchNormalization 5 1 epsilon:real momentum:real spatial=1 training_mode:integer
BitCast 1 1 to:integer
BitShift 2 1 direction:text
BitwiseAnd 2 1
BitwiseNot 1 1
BitwiseOr 2 1
BitwiseXor 2 1
BlackmanWindow 1 1 output_datatype=1 periodic:integer
Cast 1 1 round_mode=up saturate=1 to:integer
CastLike 2 1 round_mode=up saturate=1
CausalConvWithState 4 2 activation:text
Ceil 1 1
Celu 1 1 alpha:real
CenterCropPad 2 1 axes:integers
Clip 3 1
Col2Im 3 1 dilations:integers pads:integers strides:integers
Concat * 1 axis:integer
Constant 0 1 value:tensor value_float:real value_floats:reals value_int:integer value_ints:integers
ConstantOfShape 1 1 value:tensor
Conv 3 1 auto_pad:text dilations:integers kernel_shape:integers pads:integers strides:integers group:integer
ConvInteger 4 1 auto_pad:text dilations:integers kernel_shape:integers pads:integers strides:integers group:integer
ConvTranspose 3 1 auto_pad:text dilations:integers kernel_shape:integers pads:integers strides:integers
  group:integer output_padding:integers output_shape:integers
Cos 1 1
Cosh 1 1
CumProd 2 1 exclusive:integer reverse:integer
CumSum 2 1 exclusive:integer reverse:integer
DFT 3 1 axis:integer inverse:integer onesided:integer
DeformConv 5 1 dilations:integers group:integer kernel_shape~integers offset_group:integer pads:integers
  strides:integers
DepthToSpace 1 1 blocksize:integer mode:text
DequantizeLinear 3 1 axis:integer block_size:integer output_dtype=1
Det 1 1
Div 2 1
Dropout 3 2 seed~integer
DynamicQuantizeLinear 1 3
Einsum * 1 equation:text
Elu 1 1 alpha:real
Equal 2 1
Erf 1 1
Exp 1 1
Expand 2 1
EyeLike 1 1 dtype:integer k:integer
Flatten 1 1 axis:integer
Floor 1 1
GRU 6 2 activations:texts clip:real direction:text hidden_size:integer layout:integer linear_before_reset:integer
Gather 2 1 axis:integer
GatherElements 2 1 axis:integer
GatherND 2 1 batch_dims:integer
Gelu 1 1 approximate:text
Gemm 3 1 alpha:real beta:real transA:integer transB:integer
GlobalAveragePool 1 1
GlobalMaxPool 1 1
Greater 2 1
GreaterOrEqual 2 1
GridSample 2 1 align_corners:integer mode:text padding_mode:text
GroupNormalization 3 1 epsilon:real num_groups:integer stash_type=1
HammingWindow 1 1 output_datatype=1 periodic:integer
HannWindow 1 1 output_datatype=1 periodic:integer
Hardmax 1 1 axis:integer
HardSigmoid 1 1 alpha:real beta:real
HardSwish 1 1
Identity 1 1
If * * else_branch:graph then_branch:graph
InstanceNormalization 3 1 epsilon:real
IsInf 1 1 detect_negative:integer detect_positive:integer
IsNaN 1 1
LRN 1 1 alpha:real beta:real bias:real size:integer
LSTM 8 3 activations:texts clip:real direction:text hidden_size:integer layout:integer input_forget:integer
LayerNormalization 3 3 axis:integer epsilon:real stash_type=1
LeakyRelu 1 1 alpha:real
Less 2 1
LessOrEqual 2 1
LinearAttention 6 2 chunk_size~integer kv_num_heads:integer q_num_heads:integer scale:real update_rule:text
Log 1 1
Loop * * body:graph
LogSoftmax 1 1 axis:integer
SoftmaxCrossEntropyLoss 3 2 ignore_index:integer reduction:text
LpNormalization 1 1 axis:integer p:integer
LpPool 1 1 auto_pad:text ceil_mode:integer dilations:integers kernel_shape:integers p:integer pads:integers
  strides:integers
MatMul 2 1
MatMulInteger 4 1
Max * 1
MaxPool 1 2 auto_pad:text dilations:integers kernel_shape:integers pads:integers strides:integers ceil_mode:integer
  storage_order:integer
MaxUnpool 3 1 kernel_shape:integers pads:integers strides:integers
Mean * 1
MeanVarianceNormalization 1 1 axes:integers
Min * 1
Mish 1 1
Mod 2 1 fmod:integer
Mul 2 1
Neg 1 1
NegativeLogLikelihoodLoss 3 1 ignore_index:integer reduction:text
Not 1 1
OneHot 3 1 axis:integer
OptionalGetElement 1 1
Or 2 1
PRelu 2 1
Pad 4 1 mode:text
Pow 2 1
QLinearConv 9 1 auto_pad:text dilations:integers kernel_shape:integers pads:integers strides:integers group:integer
QLinearMatMul 8 1
QuantizeLinear 3 1 axis:integer block_size:integer output_dtype:integer precision=1 saturate=1
RMSNormalization 2 1 axis:integer epsilon:real stash_type=1
RNN 6 2 activations:texts clip:real direction:text hidden_size:integer layout:integer
Range 3 1
Reciprocal 1 1
ReduceL1 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceL2 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceLogSum 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceLogSumExp 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceMax 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceMean 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceMin 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceProd 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceSum 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
ReduceSumSquare 2 1 axes:integers keepdims:integer noop_with_empty_axes:integer
Relu 1 1
Reshape 2 1 allowzero:integer
Resize 4 1 antialias:integer axes:integers coordinate_transformation_mode:text cubic_coeff_a:real
  exclude_outside:integer extrapolation_value:real keep_aspect_ratio_policy:text mode:text nearest_mode:text
ReverseSequence 2 1 batch_axis~integer time_axis:integer
RoiAlign 3 1 coordinate_transformation_mode:text mode:text output_height:integer output_width:integer
  sampling_ratio:integer spatial_scale:real
RotaryEmbedding 4 1 interleaved:integer num_heads:integer rotary_embedding_dim:integer
Round 1 1
STFT 4 1 onesided:integer
Scan * * body:graph num_scan_inputs:integer scan_input_axes:integers scan_input_directions:integers
  scan_output_axes:integers scan_output_directions:integers
Scatter 3 1 axis:integer
ScatterElements 3 1 axis:integer reduction:text
ScatterND 3 1 reduction:text
Selu 1 1 alpha:real gamma:real
Shape 1 1 end:integer start:integer
Shrink 1 1 bias:real lambd:real
Sigmoid 1 1
Sign 1 1
SimplifiedLayerNormalization 2 1 axis:integer epsilon:real stash_type=1
Sin 1 1
Sinh 1 1
Size 1 1
Slice 5 1
Softmax 1 1 axis:integer
SoftmaxCrossEntropyLoss 3 2 ignore_index:integer reduction:text
Softplus 1 1
Softsign 1 1
SpaceToDepth 1 1 blocksize:integer mode:text
Split 2 * axis:integer num_outputs:integer
Sqrt 1 1
Squeeze 2 1 axes:integers
Sub 2 1
Sum * 1
SwiGLU 2 1 alpha:real
Swish 1 1 alpha:real
Tan 1 1
Tanh 1 1
TensorScatter 3 1 axis:integer mode:text
TfIdfVectorizer 1 1 max_gram_length:integer max_skip_count:integer min_gram_length:integer mode:text
  ngram_counts:integers ngram_indexes:integers pool_int64s:integers weights:reals
ThresholdedRelu 1 1 alpha:real
Tile 2 1
TopK 2 2 axis:integer largest:integer sorted:integer
Transpose 1 1 perm:integers
Trilu 2 1 upper:integer
Unsqueeze 2 1 axes:integers
Where 3 1
Xor 2 1
com.microsoft.Attention 4 1 do_rotary=0 mask_filter_value:real num_heads:integer past_present_share_buffer=0
  qkv_hidden_sizes:integers rotary_embedding_dim=0 scale:real unidirectional:integer
com.microsoft.BiasGelu 2 1
com.microsoft.EmbedLayerNormalization 9 3 epsilon:real mask_index_type~integer
com.microsoft.FastGelu 2 1
com.microsoft.FusedMatMul 2 1 alpha:real transA:integer transB:integer transBatchA=0 transBatchB=0
com.microsoft.Gelu 1 1
com.microsoft.QuickGelu 1 1 alpha:real
com.microsoft.SkipLayerNormalization 5 4 epsilon:real
com.microsoft.SkipSimplifiedLayerNormalization 4 4 epsilon:real
)";

constexpr std::array<std::pair<onnx_kind, std::string_view>, 8> kind_words{{{onnx_kind::real, "real"},
                                                                            {onnx_kind::integer, "integer"},
                                                                            {onnx_kind::text, "text"},
                                                                            {onnx_kind::tensor, "tensor"},
                                                                            {onnx_kind::graph, "graph"},
                                                                            {onnx_kind::reals, "reals"},
                                                                            {onnx_kind::integers, "integers"},
                                                                            {onnx_kind::texts, "texts"}}};

onnx_kind kind_of(std::string_view word) {
  for (auto const& [kind, name] : kind_words)
    if (name == word) return kind;
  throw std::logic_error("the table of operators has no kind '" + std::string(word) + "'");
}

std::optional<std::int64_t> number_in(std::string_view word) {
  std::int64_t number = 0;
  auto const [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  return problem == std::errc() && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
}

std::size_t count_in(std::string_view word) {
  return word == "*" ? any_number : static_cast<std::size_t>(number_in(word).value());
}

attribute_rule attribute_in(std::string_view word) {
  auto const mark = word.find_first_of(":=~");
  auto const name = word.substr(0, mark), rest = word.substr(mark + 1);
  if (word[mark] != '=')
    return {name, kind_of(rest), word[mark] == ':' ? attribute_use::read : attribute_use::no_effect};
  auto const number = number_in(rest);
  return {name, number ? onnx_kind::integer : onnx_kind::text, attribute_use::only, number.value_or(0), rest};
}

std::vector<operator_rule> read_table() {
  std::vector<operator_rule> all;
  std::vector<std::string_view> words;
  auto const finish = [&] {
    if (words.empty()) return;
    operator_rule rule{words[0], {}, count_in(words[1]), count_in(words[2])};
    for (std::size_t i = 3; i < words.size(); ++i) rule.attributes.push_back(attribute_in(words[i]));
    all.push_back(std::move(rule));
    words.clear();
  };
  for (auto rest = table_text.substr(1); !rest.empty();) {
    auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    if (!line.starts_with(' ')) finish();
    while (!line.empty()) {
      auto const word = line.substr(0, line.find(' '));
      if (!word.empty()) words.push_back(word);
      line.remove_prefix(std::min(word.size() + 1, line.size()));
    }
  }
  finish();
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.type < b.type; });
  return all;
}

std::string_view name_of(onnx_kind kind) {
  switch (kind) {
    case onnx_kind::real: return "a number";
    case onnx_kind::integer: return "a whole number";
    case onnx_kind::text: return "a text";
    case onnx_kind::tensor: return "a tensor";
    case onnx_kind::graph: return "a graph";
    case onnx_kind::reals: return "a list of numbers";
    case onnx_kind::integers: return "a list of whole numbers";
    case onnx_kind::texts: return "a list of texts";
    default: return "something else";
  }
}

std::string text_of(onnx_attribute const& value) {
  return value.kind == onnx_kind::text ? "'" + shown_name(value.text) + "'" : std::to_string(value.integer);
}

}  // namespace

std::vector<operator_rule> const& operator_table() {
  static auto const all = read_table();
  return all;
}

operator_rule const* rule_of(onnx_node const& node) {
  auto const& all = operator_table();
  auto const name = node.domain.empty() ? node.type : node.domain + "." + node.type;
  if (node.domain.empty() && name.find('.') != std::string::npos) return nullptr;
  auto const found = std::lower_bound(all.begin(), all.end(), name,
                                      [](operator_rule const& rule, auto const& wanted) { return rule.type < wanted; });
  return found != all.end() && found->type == name ? &*found : nullptr;
}

std::optional<std::string> unread_part(onnx_node const& node) {
  auto const* const rule = rule_of(node);
  if (rule == nullptr) return "is a " + shown_name(node.type) + ", which is not here";
  for (auto const& [name, value] : node.attributes) {
    auto const found = std::find_if(rule->attributes.begin(), rule->attributes.end(),
                                    [&](attribute_rule const& each) { return each.name == name; });
    auto const said = "has the attribute '" + shown_name(name) + "', ";
    if (found == rule->attributes.end()) return said + "which is not here";
    if (value.kind != found->kind)
      return said + std::string(name_of(value.kind)) + ", expected " + std::string(name_of(found->kind));
    bool const is_that = value.kind == onnx_kind::text ? value.text == found->text : value.integer == found->number;
    if (found->use == attribute_use::only && !is_that)
      return said + text_of(value) + "; only " + std::string(found->text) + " is here";
  }
  for (std::size_t i = rule->inputs; i < node.inputs.size(); ++i)
    if (!node.inputs[i].empty()) return "has an input " + std::to_string(i) + ", which is not here";
  return std::nullopt;
}

}  // namespace stagecraft::tool
