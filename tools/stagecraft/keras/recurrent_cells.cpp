// SPDX-License-Identifier: BSD-3-Clause
// Keras's RNN, a loop over time of a cell, or of several cells of which each reads the output of the one before it.
#include "keras/library_layer.hpp"

#include <algorithm>
#include <map>

namespace stagecraft::tool {

namespace {

/// A cell of the library: what it is called with, and the rules of a loop over it alone.
class recurrent_cell {
 public:
  virtual ~recurrent_cell() = default;
  /// The rules of a loop over the cell, for inputs of a shape (steps, features).
  [[nodiscard]] virtual layer_rules rules(shape const& input, std::string const& name) const = 0;

  source_text text;  ///< `lstm_cell{8}`
  own_text word = "";
  int states = 1;
  int units = 0;
};

template <class Cell>
class library_cell : public recurrent_cell {
 public:
  explicit library_cell(layer_config const& config) {
    reader const of(config);
    value_ = of.value;
    word = word_of_type<Cell>;
    text = text_of(of);
    states = Cell::states;
    units = value_.units;
  }
  [[nodiscard]] layer_rules rules(shape const& input, std::string const& name) const override {
    layers::rnn<Cell> const loop(value_, {.return_sequences = true, .return_state = true});
    return rules_from(loop, std::span(&input, 1), name);
  }

 private:
  struct reader : read_layer {
    explicit reader(layer_config const& config) {
      word = word_of_type<Cell>;
      Cell const prototype(1);
      arguments.push_back(read_one(config.options, 0, "units", value.units, prototype.units, prototype.units, true));
      for_each_option(value.options, [&](own_text name, auto& field) {
        using type = std::remove_cvref_t<decltype(field)>;
        auto const& by_default = *field_named<type>(prototype.options, name);
        options.push_back(read_one(config.options, 0, name, field, by_default, by_default, false));
      });
      check_unknown_options(config.options, known_);
      arguments.back().is_default = false;
    }
    [[nodiscard]] layer_rules rules(std::span<shape const>, std::string const&) const override { return {}; }

    Cell value{1};
  };

  Cell value_{1};
};

std::unique_ptr<recurrent_cell> make_cell(layer_config const& config) {
  try {
    if (config.class_name == "LSTMCell") return std::make_unique<library_cell<layers::lstm_cell>>(config);
    if (config.class_name == "GRUCell") return std::make_unique<library_cell<layers::gru_cell>>(config);
    if (config.class_name == "SimpleRNNCell") return std::make_unique<library_cell<layers::simple_rnn_cell>>(config);
  } catch (unsupported const& why) {
    throw unsupported("has a cell " + config.class_name + " that " + why.what());
  }
  throw unsupported("has a cell " + config.class_name + ", which is not here");
}

class rnn_layer : public source_layer {
 public:
  explicit rnn_layer(layer_config const& config) {
    auto const inner = wrapped_config(config, "cell");
    is_stacked_ = inner.class_name == "StackedRNNCells";
    if (is_stacked_) {
      auto const found = inner.options.find("cells");
      if (found == inner.options.end() || !found->is_array() || found->empty() || found->size() > most_cells)
        throw unsupported("has no list of cells, or one of more than 16");
      for (auto const& each : *found) {
        json const one{{"cell", each}};
        cells_.push_back(make_cell(wrapped_config({"", one}, "cell")));
      }
      check_unknown_options(inner.options, {"cells"});
    } else {
      cells_.push_back(make_cell(inner));
    }
    source_text text;
    for (auto const& each : cells_) text += (text.empty() ? ""_cpp : ", "_cpp) + each->text;
    word = "rnn";
    default_name = "rnn";
    if (is_stacked_) text = "stacked_rnn_cells{"_cpp + text + "}";
    arguments.push_back({"cell", {literal::kinds::fixed, text}, false});
    std::set<std::string> known{"cell"};
    add_flag(config.options, "return_sequences", returns_sequences_, known);
    add_flag(config.options, "return_state", returns_state_, known);
    bool other = false;
    add_flag(config.options, "go_backwards", other, known);
    add_flag(config.options, "stateful", other, known);
    auto left = config.options;
    if (config.call_options.is_object()) left.update(config.call_options);
    check_unknown_options(left, known);
  }

  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const& name) const override {
    int states = 0;
    for (auto const& each : cells_) states += each->states;
    if (inputs.empty() || inputs[0].rank() != 2) throw unsupported("is called on something else than a sequence");
    if (inputs.size() != 1 && static_cast<int>(inputs.size()) != 1 + states)
      throw unsupported("has " + std::to_string(states) + " states, and is called with " +
                        std::to_string(inputs.size() - 1) + " of them");
    layer_rules result;
    std::vector<shape> of_states;
    std::map<std::string_view, int> same;
    shape at = inputs[0];
    for (auto const& each : cells_) {
      auto own = each->rules(at, name);
      int const number = same[each->word.view()]++;
      auto const scope = std::string(each->word.view()) + (number > 0 ? "_" + std::to_string(number) : "") + "/";
      for (auto& weight : own.weights) {
        if (is_stacked_) weight.name = scope + weight.name;
        result.weights.push_back(std::move(weight));
      }
      at = own.parts.at(0);
      of_states.insert(of_states.end(), own.parts.begin() + 1, own.parts.end());
    }
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (!(inputs[i] == of_states[i - 1])) throw unsupported("is called with first states that do not fit");
    result.output = returns_sequences_ ? at : shape(at[1]);
    if (!returns_state_) return result;
    result.parts.push_back(result.output);
    result.parts.insert(result.parts.end(), of_states.begin(), of_states.end());
    return result;
  }

 private:
  static constexpr std::size_t most_cells = 16;

  void add_flag(json const& config, own_text name, bool& value, std::set<std::string>& known) {
    auto const& found = option_in(config, word, name, known);
    if (found.is_null()) return;
    if (!found.is_boolean()) throw unsupported("option '" + std::string(name.view()) + "' is " + found.dump());
    value = found.get<bool>();
    options.push_back({name, {literal::kinds::fixed, value ? "true"_cpp : "false"_cpp}, !value});
  }

  std::vector<std::unique_ptr<recurrent_cell>> cells_;
  bool is_stacked_ = false, returns_sequences_ = false, returns_state_ = false;
};

/// A layer that is given its masks, as a layer of the model's own: those of the library find masks themselves.
class layer_with_masks : public source_layer {
 public:
  layer_with_masks(std::unique_ptr<source_layer> inner, std::size_t masks) : inner_(std::move(inner)), masks_(masks) {
    own_name = "masked_"_cpp + inner_->word;
    default_name = own_name.str();
  }

  [[nodiscard]] layer_rules rules(std::span<shape const> inputs, std::string const& name) const override {
    if (inputs.size() <= masks_) throw unsupported("is called with masks alone");
    auto const own = inputs.first(inputs.size() - masks_);
    for (std::size_t i = 0; i < masks_; ++i) {
      auto const &mask = inputs[own.size() + i], &of = own[std::min(i, own.size() - 1)];
      if (mask.rank() != 1 || of.rank() < 2 || mask[0] != of[0])
        throw unsupported("is called with a mask that has no number for each step");
    }
    return inner_->rules(own, name);
  }

  void learn(layer_rules const& rules) override {
    auto const outputs = rules.parts.size();
    source_text counts;
    for (std::size_t i = 0; i < masks_; ++i)
      counts += (i == 0 ? ""_cpp : ", "_cpp) + "in[in.size() - "_cpp + number_text(masks_ - i) + "]";
    if (outputs > 1)
      own_call += "  static constexpr int most_outputs = "_cpp + number_text(outputs) +
                  ";\n  constexpr int output_count() const { return " + number_text(outputs) + "; }\n";
    own_call += "  constexpr auto call(auto& ops, sc::tensor_list in) const {\n"_cpp;
    own_call += wrap("    return "_cpp + text_of(*inner_) + ".call_masked(ops, in.first(in.size() - " +
                     number_text(masks_) + "), {" + counts + "});");
    own_call += "  }\n"_cpp;
  }

 private:
  std::unique_ptr<source_layer> inner_;
  std::size_t masks_;
};

}  // namespace

std::unique_ptr<source_layer> masked_layer(std::unique_ptr<source_layer> layer, std::string const& class_name,
                                           json const& masks, bool go_on) {
  static std::map<std::string, std::size_t> const all{{"LSTM", 1},          {"GRU", 1},
                                                      {"SimpleRNN", 1},     {"RNN", 1},
                                                      {"Bidirectional", 1}, {"GlobalAveragePooling1D", 1},
                                                      {"Attention", 2},     {"AdditiveAttention", 2}};
  auto const found = all.find(class_name);
  if (found == all.end() || !masks.is_number_integer() || masks.get<std::size_t>() != found->second)
    throw unsupported("is called with a mask, which is not here");
  // In Keras 2 the mask that a call is given goes on to the layers after it, which nothing in the file says.
  bool const ends = class_name == "GlobalAveragePooling1D" ||
                    (class_name != "Bidirectional" && found->second == 1 &&
                     std::none_of(layer->options.begin(), layer->options.end(), [](written_option const& each) {
                       return each.name.view() == "return_sequences" && !each.is_default;
                     }));
  if (go_on && !ends)
    throw unsupported("is called with a mask, and gives it to the layers after it, which is not here");
  return std::make_unique<layer_with_masks>(std::move(layer), found->second);
}

std::unique_ptr<source_layer> make_rnn(layer_config const& config) { return std::make_unique<rnn_layer>(config); }

}  // namespace stagecraft::tool
