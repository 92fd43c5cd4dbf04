// SPDX-License-Identifier: BSD-3-Clause
#include "tensorflow/operation_table.hpp"

#include <stagecraft/diagnostics/shown_text.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

namespace stagecraft::tool {

namespace {

using diagnostics::shown_name;

constexpr std::size_t any_number = 1 << 20;

/// A line for each operation: its name, its inputs that are read (* any number), its outputs (one, * any number, or the
/// names of several), and its attributes: `name:kind` is read, `name:elements` is the type in which it computes,
/// `name=value` must have that value, `name~kind` does not change predictions. A line that begins with a space
/// continues the line before.
constexpr std::string_view table_text = R"(
Abs 1 1 T:elements
AccumulateNV2 * 1 N~integer T:elements shape~shape
Acos 1 1 T:elements
Acosh 1 1 T:elements
Add 2 1 T:elements
AddN * 1 N~integer T:elements
AddV2 2 1 T:elements
All 2 1 Tidx~type keep_dims:truth
Any 2 1 Tidx~type keep_dims:truth
ArgMax 2 1 T:elements Tidx~type output_type:type
ArgMin 2 1 T:elements Tidx~type output_type:type
Asin 1 1 T:elements
Asinh 1 1 T:elements
Atan 1 1 T:elements
Atanh 1 1 T:elements
AvgPool 1 1 T:elements data_format:text ksize:integers padding:text strides:integers
AvgPool3D 1 1 T:elements data_format:text ksize:integers padding:text strides:integers
BatchMatMul 2 1 T:elements adj_x:truth adj_y:truth grad_x~truth grad_y~truth
BatchMatMulV2 2 1 T:elements adj_x:truth adj_y:truth grad_x~truth grad_y~truth
BatchMatMulV3 2 1 Ta:elements Tb:elements Tout:elements adj_x:truth adj_y:truth grad_x~truth grad_y~truth
BiasAdd 2 1 T:elements data_format:text
BiasAddV1 2 1 T:elements
BroadcastTo 2 1 T~type Tidx~type
Cast 1 1 DstT:type SrcT~type Truncate=false
Ceil 1 1 T:elements
CheckNumerics 1 1 T:elements message~text
ClipByValue 3 1 T:elements
Concat * 1 N~integer T~type
ConcatV2 * 1 N~integer T~type Tidx~type
Const 0 1 dtype~type value:tensor
Conv2D 2 1 T:elements data_format:text dilations:integers explicit_paddings:integers padding:text strides:integers
  use_cudnn_on_gpu~truth
Conv2DBackpropInput 3 1 T:elements data_format:text dilations:integers explicit_paddings:integers padding:text
  strides:integers use_cudnn_on_gpu~truth
Conv3D 2 1 T:elements data_format:text dilations:integers padding:text strides:integers
Cos 1 1 T:elements
Cosh 1 1 T:elements
Cumprod 2 1 T:elements Tidx~type exclusive:truth reverse:truth
Cumsum 2 1 T:elements Tidx~type exclusive:truth reverse:truth
DepthToSpace 1 1 T:elements block_size:integer data_format:text
DepthwiseConv2dNative 2 1 T:elements data_format:text dilations:integers explicit_paddings:integers padding:text
  strides:integers
Div 2 1 T:elements
DivNoNan 2 1 T:elements
Einsum * 1 N~integer T:elements equation:text
Elu 1 1 T:elements
EnsureShape 1 1 T~type shape~shape
Equal 2 1 T:elements incompatible_shape_error=true
Erf 1 1 T:elements
Erfc 1 1 T:elements
EuclideanNorm 2 1 T:elements Tidx~type keep_dims:truth
Exp 1 1 T:elements
ExpandDims 2 1 T~type Tdim~type
Expm1 1 1 T:elements
Fill 2 1 T:elements index_type~type
Floor 1 1 T:elements
FloorDiv 2 1 T:elements
FloorMod 2 1 T:elements
FusedBatchNorm 5 y,batch_mean,batch_variance,reserve_space_1,reserve_space_2 T:elements data_format:text
  epsilon:real exponential_avg_factor~real is_training:truth
FusedBatchNormV2 5 y,batch_mean,batch_variance,reserve_space_1,reserve_space_2 T:elements U:elements
  data_format:text epsilon:real exponential_avg_factor~real is_training:truth
FusedBatchNormV3 5 y,batch_mean,batch_variance,reserve_space_1,reserve_space_2,reserve_space_3 T:elements
  U:elements data_format:text epsilon:real exponential_avg_factor~real is_training:truth
Gather 2 1 Tindices~type Tparams~type validate_indices~truth
GatherV2 3 1 Taxis~type Tindices~type Tparams~type batch_dims:integer
Greater 2 1 T:elements
GreaterEqual 2 1 T:elements
Identity 1 1 T~type
IdentityN * * T~types
If * * Tcond~type Tin~types Tout~types else_branch:function output_shapes~list then_branch:function
Inv 1 1 T:elements
IsFinite 1 1 T:elements
IsInf 1 1 T:elements
IsNan 1 1 T:elements
LeakyRelu 1 1 T:elements alpha:real
Less 2 1 T:elements
LessEqual 2 1 T:elements
Log 1 1 T:elements
Log1p 1 1 T:elements
LogSoftmax 1 1 T:elements
LogicalAnd 2 1
LogicalNot 1 1
LogicalOr 2 1
MatMul 2 1 T:elements transpose_a:truth transpose_b:truth grad_a~truth grad_b~truth
MatrixBandPart 3 1 T:elements Tindex~type
Max 2 1 T:elements Tidx~type keep_dims:truth
MaxPool 1 1 T:elements data_format:text explicit_paddings:integers ksize:integers padding:text strides:integers
MaxPool3D 1 1 T:elements data_format:text ksize:integers padding:text strides:integers
Maximum 2 1 T:elements
Mean 2 1 T:elements Tidx~type keep_dims:truth
Min 2 1 T:elements Tidx~type keep_dims:truth
Minimum 2 1 T:elements
MirrorPad 2 1 T~type Tpaddings~type mode:text
Mod 2 1 T:elements
Mul 2 1 T:elements
MulNoNan 2 1 T:elements
Neg 1 1 T:elements
NotEqual 2 1 T:elements incompatible_shape_error=true
OneHot 4 1 T:elements TI~type axis:integer
OnesLike 1 1 T:elements
Pack * 1 N~integer T~type axis:integer
Pad 2 1 T~type Tpaddings~type
PadV2 3 1 T~type Tpaddings~type
PartitionedCall * * Tin~types Tout~types config~text config_proto~text executor_type~text f:function
Placeholder 0 1 dtype:type shape:shape
PlaceholderWithDefault 1 1 dtype~type shape~shape
Pow 2 1 T:elements
PreventGradient 1 1 T:elements message~text
Prod 2 1 T:elements Tidx~type keep_dims:truth
Range 3 1 Tidx:elements
Rank 1 1 T~type
ReadVariableOp 1 1 dtype~type
RealDiv 2 1 T:elements
Reciprocal 1 1 T:elements
Relu 1 1 T:elements
Relu6 1 1 T:elements
Reshape 2 1 T~type Tshape~type
ResizeBilinear 2 1 T:elements align_corners:truth half_pixel_centers:truth
ResizeNearestNeighbor 2 1 T:elements align_corners:truth half_pixel_centers:truth
ResourceGather 2 1 Tindices~type batch_dims:integer dtype~type validate_indices~truth
ReverseV2 2 1 T~type Tidx~type
Rint 1 1 T:elements
Round 1 1 T:elements
Rsqrt 1 1 T:elements
Select 3 1 T:elements
SelectV2 3 1 T:elements
Selu 1 1 T:elements
Shape 1 1 T~type out_type~type
ShapeN * * N~integer T~type out_type~type
Sigmoid 1 1 T:elements
Sign 1 1 T:elements
Sin 1 1 T:elements
Sinh 1 1 T:elements
Size 1 1 T~type out_type~type
Slice 3 1 Index~type T~type
Snapshot 1 1 T~type
Softmax 1 1 T:elements
Softplus 1 1 T:elements
Softsign 1 1 T:elements
SpaceToDepth 1 1 T:elements block_size:integer data_format:text
Split 2 * T~type num_split:integer
SplitV 3 * T~type Tlen~type num_split:integer
Sqrt 1 1 T:elements
Square 1 1 T:elements
SquaredDifference 2 1 T:elements
Squeeze 1 1 T~type squeeze_dims:integers
StatefulPartitionedCall * * Tin~types Tout~types config~text config_proto~text executor_type~text f:function
StatelessIf * * Tcond~type Tin~types Tout~types else_branch:function output_shapes~list then_branch:function
StatelessWhile * * T~types body:function cond:function output_shapes~list parallel_iterations~integer
StopGradient 1 1 T~type
StridedSlice 4 1 Index~type T~type begin_mask:integer ellipsis_mask:integer end_mask:integer new_axis_mask:integer
  shrink_axis_mask:integer
Sub 2 1 T:elements
Sum 2 1 T:elements Tidx~type keep_dims:truth
Tan 1 1 T:elements
Tanh 1 1 T:elements
Tile 2 1 T~type Tmultiples~type
Transpose 2 1 T~type Tperm~type
TruncateDiv 2 1 T:elements
TruncateMod 2 1 T:elements
Unpack 1 * T~type axis:integer num:integer
VarHandleOp 0 1 allowed_devices~texts container~text debug_name~text dtype~type shape~shape shared_name:text
VariableV2 0 1 container~text dtype~type shape~shape shared_name:text
While * * T~types body:function cond:function output_shapes~list parallel_iterations~integer
Xdivy 2 1 T:elements
ZerosLike 1 1 T:elements
)";

constexpr std::array<std::pair<tensorflow_kind, std::string_view>, 13> kind_words{
    {{tensorflow_kind::text, "text"},
     {tensorflow_kind::integer, "integer"},
     {tensorflow_kind::real, "real"},
     {tensorflow_kind::truth, "truth"},
     {tensorflow_kind::type, "type"},
     {tensorflow_kind::shape, "shape"},
     {tensorflow_kind::tensor, "tensor"},
     {tensorflow_kind::function, "function"},
     {tensorflow_kind::texts, "texts"},
     {tensorflow_kind::whole_numbers, "integers"},
     {tensorflow_kind::reals, "reals"},
     {tensorflow_kind::types, "types"},
     {tensorflow_kind::other, "list"}}};

tensorflow_kind kind_of(std::string_view word) {
  for (auto const& [kind, name] : kind_words)
    if (name == word) return kind;
  throw std::logic_error("the table of TensorFlow's operations has no kind '" + std::string(word) + "'");
}

std::string_view name_of(tensorflow_kind kind) {
  for (auto const& [each, name] : kind_words)
    if (each == kind) return name;
  return "nothing";
}

bool is_list(tensorflow_kind kind) {
  using enum tensorflow_kind;
  return kind == texts || kind == whole_numbers || kind == reals || kind == types || kind == other;
}

tensorflow_attribute_rule attribute_in(std::string_view word) {
  auto const mark = word.find_first_of(":=~");
  auto const name = word.substr(0, mark), rest = word.substr(mark + 1);
  if (word[mark] == '=') {
    bool const is_truth = rest == "true" || rest == "false";
    return {name, is_truth ? tensorflow_kind::truth : tensorflow_kind::text, tensorflow_use::only, rest};
  }
  if (rest == "elements") return {name, tensorflow_kind::type, tensorflow_use::elements};
  return {name, kind_of(rest), word[mark] == ':' ? tensorflow_use::read : tensorflow_use::no_effect};
}

std::size_t count_in(std::string_view word) {
  std::size_t count = any_number;
  if (word != "*") std::from_chars(word.data(), word.data() + word.size(), count);
  return count;
}

std::vector<std::string_view> outputs_in(std::string_view word) {
  std::vector<std::string_view> names;
  if (word.find(',') == std::string_view::npos) return names;
  while (!word.empty()) {
    auto const name = word.substr(0, word.find(','));
    names.push_back(name);
    word.remove_prefix(std::min(name.size() + 1, word.size()));
  }
  return names;
}

std::vector<tensorflow_rule> read_table() {
  std::vector<tensorflow_rule> all;
  std::vector<std::string_view> words;
  auto const finish = [&] {
    if (words.empty()) return;
    tensorflow_rule rule{words[0], {}, count_in(words[1]), outputs_in(words[2])};
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

/// True for types in which nodes compute here: numbers of 32 and 64 bits, floats or whole, and truth values.
bool is_computed(std::int64_t type) {
  auto const is = [&](tensorflow_type each) { return type == static_cast<std::int64_t>(each); };
  using enum tensorflow_type;
  return is(float32) || is(float64) || is(int32) || is(int64) || is(boolean);
}

}  // namespace

std::vector<tensorflow_rule> const& tensorflow_table() {
  static auto const all = read_table();
  return all;
}

tensorflow_rule const* rule_of(tensorflow_node const& node) {
  auto const& all = tensorflow_table();
  auto const found =
      std::lower_bound(all.begin(), all.end(), node.type,
                       [](tensorflow_rule const& rule, std::string const& type) { return rule.type < type; });
  return found != all.end() && found->type == node.type ? &*found : nullptr;
}

std::optional<std::string> unread_part(tensorflow_node const& node) {
  auto const* const rule = rule_of(node);
  if (rule == nullptr) return "is a " + shown_name(node.type) + ", which is not here";
  for (auto const& [name, value] : node.attributes) {
    if (name.starts_with('_')) continue;
    auto const found = std::find_if(rule->attributes.begin(), rule->attributes.end(),
                                    [&](tensorflow_attribute_rule const& each) { return each.name == name; });
    auto const said = "has the attribute '" + shown_name(name) + "', ";
    if (found == rule->attributes.end()) return said + "which is not here";
    bool const is_empty_list = value.kind == tensorflow_kind::other && is_list(found->kind);
    if (value.kind != found->kind && !is_empty_list)
      return said + "of the kind " + std::string(name_of(value.kind)) + ", expected " +
             std::string(name_of(found->kind));
    if (found->use == tensorflow_use::elements && !is_computed(value.integer))
      return said + "type " + std::to_string(value.integer) + ", in which nothing is computed here";
    bool const is_that = found->kind == tensorflow_kind::truth ? (value.integer != 0) == (found->text == "true")
                                                               : value.text == found->text;
    if (found->use == tensorflow_use::only && !is_that)
      return said + "of which only " + std::string(found->text) + " is here";
  }
  std::size_t inputs = 0;
  for (auto const& each : node.inputs) inputs += each.starts_with('^') ? 0 : 1;
  if (inputs > rule->inputs) return "has an input " + std::to_string(rule->inputs) + ", which is not here";
  return std::nullopt;
}

}  // namespace stagecraft::tool
