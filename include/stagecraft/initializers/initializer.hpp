// SPDX-License-Identifier: BSD-3-Clause
// A weight's initializer as a constant: the type that all initializers convert to, and the base of one's own.
// Keras counterpart: tf.keras.initializers.Initializer. Filling is kernels/random/initial_values.hpp.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <bit>
#include <cstdint>
#include <string_view>

namespace stagecraft {

/// The initializers of Keras by name; `sc::initializers` has a type for each, with its options.
enum class initializer_kind : unsigned char {
  unsaid,  ///< Keras's None: the weight begins as `parameter::initializer` says
  zeros,
  ones,
  constant,
  random_normal,
  random_uniform,
  truncated_normal,
  variance_scaling,
  glorot_normal,
  glorot_uniform,
  he_normal,
  he_uniform,
  lecun_normal,
  lecun_uniform,
  orthogonal,
  identity,
  own,  ///< the user's: own_initializer
};

/// The fan that variance_scaling divides its scale by.
enum class fan_mode : unsigned char { fan_in, fan_out, fan_avg };

/// The distribution that variance_scaling draws from.
enum class initializer_distribution : unsigned char { truncated_normal, untruncated_normal, uniform };

namespace operations {
struct tensor;
struct extents;
class tracer;
}  // namespace operations

/// The rule by which a weight gets its first values. Programs write it through the factories of this folder:
/// `initializers::he_normal{.seed = 1}`. `{}` names none: a weight then begins as `parameter::initializer` says.
struct initializer {
  using own_call = operations::tensor(operations::tracer&, operations::extents const&);
  static constexpr auto own_kind = initializer_kind::own;
  static constexpr std::string_view own_name = "initializer";
  static constexpr std::string_view own_usage = "constexpr auto call(auto& ops, auto const& shape) const";

  // No member has a default value: GCC then prints only what differs from 0, of a layer's options with all defaults.
  /// The formula that weights begin with.
  initializer_kind kind;
  float a;  ///< constant: value; normal: mean; uniform: minval; variance_scaling: scale; orthogonal, identity: gain
  float b;  ///< normal: stddev; uniform: maxval
  std::uint64_t seed;                     ///< 0: taken from the trainer's seed
  fan_mode mode;                          ///< variance_scaling; `fan` has that of other kinds
  initializer_distribution distribution;  ///< variance_scaling
  bool unit_forget_bias;                  ///< the second quarter is 1, whatever the rest is: the forget gate of LSTM
  diagnostics::own_rules<own_call> const* rules;  ///< rules of the user's own initializer
  diagnostics::own_options options;               ///< its members

  /// The value that a factory converts to. A 0 is not stored, since GCC prints what is.
  [[nodiscard]] static constexpr initializer of(initializer_kind kind, std::uint64_t seed = 0, float a = 0,
                                                float b = 0) {
    initializer result{};
    result.kind = kind;
    if (std::bit_cast<unsigned>(a) != 0) result.a = a;
    if (std::bit_cast<unsigned>(b) != 0) result.b = b;
    if (seed != 0) result.seed = seed;
    return result;
  }

  friend constexpr bool operator==(initializer const&, initializer const&) = default;

  /// Keras's class name, as in a model's configuration.
  [[nodiscard]] constexpr std::string_view name() const {
    switch (kind) {
      case initializer_kind::unsaid: return "None";
      case initializer_kind::zeros: return "Zeros";
      case initializer_kind::ones: return "Ones";
      case initializer_kind::constant: return "Constant";
      case initializer_kind::random_normal: return "RandomNormal";
      case initializer_kind::random_uniform: return "RandomUniform";
      case initializer_kind::truncated_normal: return "TruncatedNormal";
      case initializer_kind::variance_scaling: return "VarianceScaling";
      case initializer_kind::glorot_normal: return "GlorotNormal";
      case initializer_kind::glorot_uniform: return "GlorotUniform";
      case initializer_kind::he_normal: return "HeNormal";
      case initializer_kind::he_uniform: return "HeUniform";
      case initializer_kind::lecun_normal: return "LecunNormal";
      case initializer_kind::lecun_uniform: return "LecunUniform";
      case initializer_kind::orthogonal: return "Orthogonal";
      case initializer_kind::identity: return "Identity";
      case initializer_kind::own: return rules->name;
    }
    return "Unknown";
  }

  /// The variance of variance_scaling and of Glorot's, He's and LeCun's choices is `scale() / fan`.
  [[nodiscard]] constexpr float scale() const {
    if (kind == initializer_kind::variance_scaling) return a;
    return kind == initializer_kind::he_normal || kind == initializer_kind::he_uniform ? 2.0F : 1.0F;
  }
  /// The fan that the variance is divided by.
  [[nodiscard]] constexpr fan_mode fan() const {
    bool const is_glorot = kind == initializer_kind::glorot_normal || kind == initializer_kind::glorot_uniform;
    return is_glorot ? fan_mode::fan_avg : mode;
  }
};

/// Base of an initializer of your own: the values that a weight of a shape begins with, in the words of a layer's
/// `call`:
///
///     struct ramp : sc::own_initializer<ramp> {
///       static constexpr std::string_view name = "ramp";
///       constexpr auto call(auto& ops, auto const& shape) const { return ops.iota(shape) * 0.1F + ops.normal(shape); }
///     };
///
/// `dense{64, sc::relu, {.kernel_initializer = ramp{}}}`. Random numbers differ from weight to weight, and follow
/// from the trainer's seed, or from a member `int seed` that is not 0. `call` runs once, on the host. Members are
/// options: at most eight floats and ints. Errors: E1070 for tensors that do not fit; E1081 other members; E1082 no
/// `call`.
template <class Derived>
using own_initializer = detail::own_option<Derived, initializer>;

}  // namespace stagecraft
