// SPDX-License-Identifier: BSD-3-Clause
// What calls of layers that are alike have been found to give, while a model is traced: a large model has many, and
// compilers need not find it again.
#pragma once

#include <stagecraft/graph/layer_inputs.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/type_tag.hpp>

namespace stagecraft::tracing {

/// What a layer without weights says in `rules_key()`: layers of its type with the same key compute the same.
struct rules_key {
  unsigned words[4]{};
  bool is_known = true;

  friend constexpr bool operator==(rules_key const&, rules_key const&) = default;
};

struct known_rule {
  static constexpr int most_inputs = 2;

  type_tag const* type = nullptr;
  rules_key key;
  shape inputs[most_inputs]{};
  int input_count = 0;
  shape output;
  long long flops = 0;
  bool moves_only = false;
};

/// The rules of the calls so far, as many as there is room for.
class known_rules {
 public:
  [[nodiscard]] constexpr known_rule const* find(type_tag const* type, rules_key const& key,
                                                 layer_inputs const& in) const {
    if (!key.is_known) return nullptr;
    for (int i = 0; i < count_; ++i) {
      known_rule const& rule = rules_[i];
      if (rule.input_count == in.size() && rule.inputs[0] == in[0] && (in.size() == 1 || rule.inputs[1] == in[1]) &&
          rule.key == key && same_type(rule.type, type))
        return &rule;
    }
    return nullptr;
  }
  constexpr void add(known_rule rule, layer_inputs const& in) {
    if (count_ == capacity || in.size() > known_rule::most_inputs || !rule.key.is_known) return;
    rule.input_count = in.size();
    for (int i = 0; i < in.size(); ++i) rule.inputs[i] = in[i];
    rules_[count_++] = rule;
  }

 private:
  static constexpr int capacity = 32;
  known_rule rules_[capacity]{};
  int count_ = 0;
};

}  // namespace stagecraft::tracing
