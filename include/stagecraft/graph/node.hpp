// SPDX-License-Identifier: BSD-3-Clause
// The records of a traced model: layers, calls of layers, nested models. Edges are indices.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/type_tag.hpp>
#include <string_view>

namespace stagecraft {

/// A kernel of the library that carries out a layer's steps, in place of the operations of its `call`. A layer names in
/// `steps_by` the one that computes what its `call` says (see also `runs_by_operations`); kernels read the layer's
/// options by the names that the library's layers have.
enum class layer_kernel : unsigned char {
  none,                    ///< the operations of the layer's `call`, or loops of its own
  product,                 ///< rows times a matrix, as dense
  convolution,             ///< that of conv1d and conv2d
  transposed_convolution,  ///< that of conv2d_transpose
  depthwise_convolution,   ///< that of depthwise_conv2d
  separable_convolution,   ///< that of separable_conv1d and separable_conv2d
  batch_normalization,     ///< also folded into the product or convolution before it, where weights do not change
  layer_normalization,     ///< that of layer_normalization
  max_pooling,             ///< that of max_pooling1d and max_pooling2d
  average_pooling,         ///< that of average_pooling1d and average_pooling2d
  global_max_pooling,      ///< that of global_max_pooling1d and global_max_pooling2d
  each_step                ///< the steps of the layer `each`, to which all steps of a sequence are samples
};

/// The loops of its own that a layer brings. A layer that has neither a `call` nor a kernel needs them.
enum class own_loops : unsigned char {
  unneeded,  ///< it has a `call` or a kernel, or is final, so that it cannot be asked
  both,      ///< it has `forward` and `backward`
  forward,   ///< it has `forward` alone, so that it can only be run
  missing    ///< it has no `forward`, so that its shapes are known and nothing else
};

}  // namespace stagecraft

namespace stagecraft::tracing {

/// The kernel that a layer names.
template <class L>
inline constexpr layer_kernel kernel_of = layer_kernel::none;
template <class L>
  requires requires { L::steps_by; }
inline constexpr layer_kernel kernel_of<L> = L::steps_by;

/// True if the operations of the layer's `call` are its steps although it names a kernel, since its options ask for
/// what the kernel does not do: the layer says so with `constexpr bool runs_by_operations() const`.
template <class L>
constexpr bool runs_by_operations(L const& layer) {
  if constexpr (requires { layer.runs_by_operations(); })
    return layer.runs_by_operations();
  else
    return false;
}

/// The stage of a call or layer that has none. Printed as `None`. No number that anybody writes by mistake.
inline constexpr int unassigned = -0x7fffffff - 1;

/// Keras's three kinds of model.
enum class model_kind : unsigned char { sequential, functional, subclass };

/// A layer of a model: what its calls share.
struct layer_info {
  fixed_name name;
  std::string_view class_name;     ///< Keras's class name, such as "Dense"
  type_tag const* type = no_type;  ///< leads to the C++ type; no_type for inputs
  int index_in_type = 0;    ///< its number among the model's layers of that type, in the order of their first calls
  int first_parameter = 0;  ///< its weights are [first_parameter, first_parameter + parameter_count)
  int parameter_count = 0;
  int pipeline_stage = unassigned;  ///< the stage of the scope in which the layer was constructed
  int call_count = 0;
  int first_call = 0;
  dtype type_of_values = dtype::of_policy;   ///< the type of its weights and of what it computes
  bool is_on_host = false;                   ///< the host carries it out, where the machine has IPUs
  layer_kernel kernel = layer_kernel::none;  ///< the kernel that carries out its steps
  own_loops loops = own_loops::unneeded;
  bool has_own_activation = false;  ///< its `activation` is of the user's own, whose operations trainers count
  int traced_id = 0;                ///< `layer_base::layer_id` of the layer itself, after the model's code has run

  /// True if a weight is one of this layer's.
  [[nodiscard]] constexpr bool has_parameter(int parameter) const {
    return parameter >= first_parameter && parameter < first_parameter + parameter_count;
  }

  /// Takes the layer's properties at its first call.
  constexpr void take(auto const& record) {
    kernel = record.kernel;
    loops = record.loops;
    has_own_activation = record.has_own_activation;
    pipeline_stage = record.layer->pipeline_stage;
    type_of_values = record.layer->layer_dtype;
    is_on_host = record.layer->is_on_host;
  }
};

/// One call of a layer: a node of the graph, in the order in which calls were made, so that inputs come first.
struct call_info {
  int layer = 0;
  int node_index = 0;   ///< the number of the call among those of its layer, from 0
  int first_input = 0;  ///< its inputs are the calls inputs[first_input, first_input + input_count)
  int input_count = 0;
  int pipeline_stage = unassigned;
  int nested_model = 0;  ///< the model whose call made it: 0 is the outermost
  int mask_inputs = 0;   ///< number of its last inputs that only say which steps count
  int mask = 0;          ///< 0 if all steps of its output count; else which mask says so
  int output_count = 1;  ///< more than 1: `shape` is that of all its outputs packed into one tensor, and calls after
                         ///< it are its outputs
  int first_output = 0;  ///< then their shapes are output_shapes[first_output, first_output + output_count)
  int loss_count = 0;    ///< the number of parts after its outputs, which are added to the loss
  int output_index =
      -1;  ///< the number of the output that this call stands for, a part of its only input; -1: a call of its own
  bool is_input = false;
  bool is_penalty = false;  ///< a part whose mean over the batch is added to the loss
  dtype type = dtype::float32;
  stagecraft::shape shape;  ///< the shape of its output, without the batch
  long long flops = 0;      ///< forward FLOPs of one sample; a multiply-add counts as two

  /// True if it only stands for one of the outputs of the call before, or for a penalty on it: nobody gives it a stage,
  /// or lists it.
  [[nodiscard]] constexpr bool is_part() const noexcept { return output_index >= 0; }
  /// True if it is the call of a layer that users write.
  [[nodiscard]] constexpr bool is_listed() const noexcept { return !is_input && !is_part(); }
};

/// A call of a model inside another one; number 0 is the outermost model itself.
struct nested_model_info {
  fixed_name name;
  std::string_view class_name;  ///< as Keras prints it: "Sequential", "Functional" or the name of the subclass
  model_kind kind = model_kind::functional;
  int parent = -1;
  int instance = 0;  ///< calls of one instance share its weights
  int node_index = 0;
  int first_input = 0;  ///< it takes nested_inputs[first_input, first_input + input_count)
  int input_count = 0;
  int first_output = 0;  ///< its outputs are the calls model_outputs[first_output, first_output + output_count)
  int output_count = 0;
  int batch_size =
      0;  ///< the batch size that inputs of the outermost model fix, here or in nested models; 0: none does
};

/// One input of one call of a nested model.
struct nested_input_info {
  fixed_name name;  ///< the name of the nested model's own InputLayer; empty if it has none
  int call = 0;     ///< the call whose output it is
};

/// The class name that Keras prints for a model of a kind; a subclass has its own.
[[nodiscard]] constexpr std::string_view class_name(model_kind kind) noexcept {
  switch (kind) {
    case model_kind::sequential: return "Sequential";
    case model_kind::functional: return "Functional";
    default: return "Model";
  }
}

/// A call of a model that is traced again.
struct known_call {
  stagecraft::shape shape;
  int loss_count = 0;
};

}  // namespace stagecraft::tracing
