// SPDX-License-Identifier: BSD-3-Clause
// A layer of the library made from Keras's configuration: its options are read by name into the layer itself, so that
// the library's own declarations define the options, their defaults and their consequences.
#pragma once

#include "keras/option_values.hpp"
#include "source/source_layer.hpp"

#include <stagecraft/layers/layers.hpp>
#include <stagecraft/layers/option_list.hpp>
#include <concepts>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::tool {

/// The text of a layer's arguments (its own `arguments`).
struct argument_counts {
  int required = 0;    ///< the first ones, which a file must have, and which are always written
  int in_front = 100;  ///< the number of arguments in front of the braces; the others are options in them
};

/// The number of a layer's `arguments`.
template <class L>
struct own_arguments {
  using type = argument_list<>;
};
template <class L>
  requires requires { typename L::arguments; }
struct own_arguments<L> {
  using type = typename L::arguments;
};

/// Keras's names of an option: its own name, unless the table of layers has others.
[[nodiscard]] std::vector<std::string> keras_names_of(std::string_view word, std::string_view option);
/// Throws unsupported if a configuration has options, other than their defaults, that the library lacks.
void check_unknown_options(json const& config, std::set<std::string> const& known);
/// The value of an option in a configuration; null if there is none.
[[nodiscard]] json const& option_in(json const& config, std::string_view word, std::string_view option,
                                    std::set<std::string>& known);

/// The configuration of the layer or cell inside a wrapper. Throws unsupported if there is none.
[[nodiscard]] layer_config wrapped_config(layer_config const& config, char const* key);
/// Keras's RNN of one of the library's cells, or of several.
[[nodiscard]] std::unique_ptr<source_layer> make_rnn(layer_config const& config);
/// An Activation by hard_silu or hard_sigmoid of Keras 3; null for other functions.
[[nodiscard]] std::unique_ptr<source_layer> make_own_activation(layer_config const& config);
/// The CustomScaleLayer of keras.applications.inception_resnet_v2.
[[nodiscard]] std::unique_ptr<source_layer> make_custom_scale(layer_config const& config);
/// The LayerScale of keras.applications.convnext.
[[nodiscard]] std::unique_ptr<source_layer> make_layer_scale(layer_config const& config);

/// The text of a default, which is written if other repeated layers have another whole number there.
template <class T>
literal default_literal(T const& value) {
  if constexpr (std::same_as<T, int>)
    return {literal::kinds::integer, number_text(value)};
  else if constexpr (std::same_as<T, size_2d>)
    return size_literal({value.height, value.width});
  else
    return {};
}

/// Returns the output shape and weights of a layer. Throws unsupported with the library's error.
template <class L>
layer_rules rules_from(L const& layer, std::span<shape const> inputs, std::string const& name) {
  diagnostics::diagnostic problem;
  layer_inputs const in(inputs.data(), static_cast<int>(inputs.size()), name, problem);
  parameter_list weights;
  stagecraft::detail::rules_of_layer<L> const found(layer, in, name, weights, problem);
  if (problem.failed()) throw unsupported(std::string(problem.text.view()));
  layer_rules result{found.output, {}};
  for (int i = 0; i < weights.count && i < parameter_list::most; ++i) {
    auto const& weight = weights.entries[static_cast<std::size_t>(i)];
    if (weight.between_batches) continue;
    result.weights.push_back(
        {std::string(weight.name.view()), {weight.shape.begin(), weight.shape.end()}, weight.trainable});
  }
  // Numbers that are added to the loss stand after the outputs.
  if (auto const outputs = static_cast<int>(found.parts.size()) - found.losses; outputs > 1)
    for (int i = 0; i < outputs; ++i) result.parts.push_back(found.parts[static_cast<std::size_t>(i)]);
  return result;
}

/// A layer whose options are read. These functions depend on the types of options only, and so are compiled once for
/// all layers.
class read_layer : public source_layer {
 protected:
  /// Reads an option into its field; `unwritten` is its value if it is not written.
  template <class Field>
  written_option read_one(json const& config, int rank, own_text of, Field& field, Field const& by_default,
                          Field const& unwritten, bool is_required) {
    auto const name = of.view();
    bool const is_einsum = word.view() == "einsum_dense";
    written_option result{of, default_literal(by_default), true};
    if (name == "dtype") return result;  // read for all layers alike in config_reader.cpp
    auto const& found = option_in(config, word, name, known_);
    if (name == "seed") return result;  // Keras draws other numbers from a seed
    // An initializer that is None differs from one that is not written.
    bool const is_none = std::same_as<Field, initializer> && config.contains(std::string(name));
    if (found.is_null() && !is_none) {
      if (is_required) throw unsupported("has no option '" + std::string(name) + "'");
      return result;
    }
    try {
      result.value = read_option(name == "noise_shape"                 ? without_samples(found)
                                 : name == "attention_axes"            ? without_heads(found)
                                 : is_einsum && name == "output_shape" ? with_input_lengths(found)
                                                                       : found,
                                 field);
      if (name == "noise_shape") result.value = {literal::kinds::fixed, "sc::shape{" + result.value.text + "}"};
      if (is_einsum && name == "output_shape") result.value = {literal::kinds::fixed, "{" + result.value.text + "}"};
    } catch (unsupported const& why) {
      throw unsupported("option '" + std::string(name) + "' " + why.what());
    }
    if constexpr (std::same_as<Field, float>)
      if (word.view() == "re_lu" && name == "max_value" && field < 0)  // negative: no limit here, and invalid in Keras
        throw unsupported("option 'max_value' is " + found.dump() + "; it must be at least 0");
    if (name == "axis") count_from_end(rank, field, result.value);
    if constexpr (std::same_as<Field, axis_list>)
      if (name == "attention_axes" && are_all_places(rank, field)) field = by_default;
    result.is_default = field == unwritten;
    return result;
  }

  std::set<std::string> known_;

 private:
  /// Keras's shapes of noise begin with the samples' axis; None at another axis is the input's length, which is unknown
  /// here.
  static json without_samples(json const& found) {
    if (!found.is_array() || found.size() < 2 || !found.front().is_null()) throw unsupported("is " + found.dump());
    return json(found.begin() + 1, found.end());
  }
  /// Keras's None among the lengths of an output is the input's length: -1.
  static json with_input_lengths(json lengths) {
    for (auto& length : lengths)
      if (length.is_null()) length = -1;
    return lengths;
  }
  /// Keras counts the axes of queries from the end, including the axis of heads before the features.
  static json without_heads(json axes) {
    for (auto& axis : axes) {
      if (!axis.is_number_integer() || axis.is_number_unsigned()) continue;
      auto const given = axis.get<long long>();  // comparing a json by size takes compilers half a second
      if (given >= 0) continue;
      if (given > -3) throw unsupported("is " + axes.dump());
      axis = given + 1;
    }
    return axes;
  }
  /// True for all axes but the batch and the features, which Keras writes for its None.
  static bool are_all_places(int rank, axis_list const& axes) {
    for (int i = 0; i < axes.count; ++i)
      if (axes.axes[i] != i + 1) return false;
    return axes.count == (rank > 0 ? rank - 2 : 1);
  }
  /// Reads an axis: Keras writes the last of four axes as 3 or -1.
  template <class Field>
  static void count_from_end([[maybe_unused]] int rank, Field& field, literal& written) {
    if constexpr (std::same_as<Field, int>) {
      if (rank > 0 && field == rank - 1) written = {literal::kinds::integer, number_text(field = -1)};
    } else if constexpr (std::same_as<Field, axis_list>) {
      if (rank > 0 && field.count == 1 && field.axes[0] == rank - 1)
        written = {literal::kinds::fixed, number_text(field.axes[0] = -1)};
    }
  }
};

/// A layer of the library as a source_layer.
template <class L>
class library_layer : public read_layer {
 public:
  library_layer(L const& prototype, argument_counts const& counts, layer_config const& config)
      : value_(prototype), counts_(counts) {
    word = word_of_type<L>;
    default_name = snake_case_of(std::string(stagecraft::detail::default_name_of<L>));
    json options_of_all = config.options;
    if (config.call_options.is_object()) options_of_all.update(config.call_options);
    read_arguments(options_of_all, prototype, config.rank, typename own_arguments<L>::type{});
    if constexpr (requires { value_.options; })
      for_each_option(value_.options, [&](own_text name, auto& field) {
        using type = std::remove_cvref_t<decltype(field)>;
        if constexpr (!std::same_as<type, fixed_name> || is_einsum)
          if (name.view() != "name")
            options.push_back(
                read(options_of_all, config.rank, name, field, *field_named<type>(prototype.options, name), false));
      });
    check_unknown_options(options_of_all, known_);
    // Trailing arguments that have their default values are left out.
    while (arguments.size() > static_cast<std::size_t>(counts_.required) && arguments.back().is_default)
      arguments.pop_back();
    for (auto& each : arguments) each.is_default = false;
  }

  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const& name) const override {
    return rules_from(value_, inputs, name);
  }

 protected:
  static constexpr bool is_einsum = std::same_as<L, layers::einsum_dense>;

  template <auto... Members>
  void read_arguments([[maybe_unused]] json const& config, [[maybe_unused]] L const& prototype,
                      [[maybe_unused]] int rank, argument_list<Members...>) {
    int index = 0;
    [[maybe_unused]] auto const read_next = [&](own_text name, auto& field, auto const& by_default) {
      bool const is_in_front = index < counts_.in_front;
      auto& to = is_in_front ? arguments : options;
      to.push_back(read(config, rank, name, field, by_default, is_in_front && index < counts_.required));
      ++index;
    };
    (read_next(word_of_member<Members>, value_.*Members, prototype.*Members), ...);
  }

  template <class Field>
  written_option read(json const& config, int rank, own_text name, Field& field, Field const& by_default,
                      bool is_required) {
    Field const* unwritten = &by_default;
    if constexpr (requires {
                    { value_.pool_size } -> std::same_as<Field&>;
                  })
      if (name.view() == "strides") unwritten = &value_.pool_size;
    if constexpr (requires {
                    { value_.key_dim } -> std::same_as<Field&>;
                  })
      if (name.view() == "value_dim") unwritten = &value_.key_dim;
    return read_one(config, rank, name, field, by_default, *unwritten, is_required);
  }

  L value_;
  argument_counts counts_;
};

}  // namespace stagecraft::tool
