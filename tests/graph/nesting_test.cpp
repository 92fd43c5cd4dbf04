// SPDX-License-Identifier: BSD-3-Clause
// Which weights are shared when models are called inside models: random nestings, three deep, against a plain account
// of what Keras's objects do. A model's layers and models are made when it is made.
#include <stagecraft/pipeline.hpp>
#include <doctest/doctest.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

constexpr int width = 3, steps = 4;

/// What a model's code does in one of its steps.
enum class action { layer_a, layer_b, new_layer, model_c, model_d, new_model };

constexpr unsigned mix(unsigned seed, unsigned number) {
  unsigned x = seed * 2654435761U + number * 40503U + 1;
  x = (x ^ (x >> 15)) * 2246822519U;
  x = (x ^ (x >> 13)) * 3266489917U;
  return x ^ (x >> 16);
}
constexpr unsigned seed_of_child(unsigned seed, int child) { return mix(seed, 100 + static_cast<unsigned>(child)); }
enum class kind { functional, sequential, subclass };
constexpr kind kind_of(unsigned seed) { return static_cast<kind>(mix(seed, 50) % 3); }
/// A subclass's layers are members: what it made in `call` would be new in each call.
constexpr action action_of(unsigned seed, int step) {
  auto const any = static_cast<action>(mix(seed, static_cast<unsigned>(step)) % 6);
  if (kind_of(seed) != kind::subclass) return any;
  return any == action::new_layer ? action::layer_b : any == action::new_model ? action::model_d : any;
}

template <unsigned Seed, int Depth>
struct random_function;
template <unsigned Seed, int Depth>
struct random_subclass;
using leaf = sc::sequential<dense{width}>;

template <unsigned Seed, int Depth>
constexpr auto random_model() {
  if constexpr (Depth == 0)
    return std::type_identity<leaf>{};
  else if constexpr (kind_of(Seed) == kind::functional)
    return std::type_identity<random_function<Seed, Depth>>{};
  else if constexpr (kind_of(Seed) == kind::subclass)
    return std::type_identity<random_subclass<Seed, Depth>>{};
  else
    return std::type_identity<
        sc::sequential<typename decltype(random_model<seed_of_child(Seed, 0), Depth - 1>())::type{}, dense{width},
                       typename decltype(random_model<seed_of_child(Seed, 1), Depth - 1>())::type{}>>{};
}
template <unsigned Seed, int Depth>
using random_model_t = typename decltype(random_model<Seed, Depth>())::type;
template <unsigned Seed, int Depth, int Child>
using child_t = random_model_t<seed_of_child(Seed, Child), Depth - 1>;

/// The same code for both kinds.
template <unsigned Seed, int Depth>
constexpr auto run_steps(auto x, auto& a, auto& b, auto& c, auto& d) {
  for (int step = 0; step < steps; ++step) switch (action_of(Seed, step)) {
      case action::layer_a: x = a(x); break;
      case action::layer_b: x = b(x); break;
      case action::new_layer: x = dense{width}(x); break;
      case action::model_c: x = c(x); break;
      case action::model_d: x = d(x); break;
      case action::new_model: x = child_t<Seed, Depth, 2>{}(x); break;
    }
  return x;
}

template <unsigned Seed, int Depth>
struct random_function : sc::functional<random_function<Seed, Depth>> {
  static constexpr auto build(auto& model) {
    dense a{width}, b{width};
    child_t<Seed, Depth, 0> c;
    child_t<Seed, Depth, 1> d;
    return run_steps<Seed, Depth>(model.input(width), a, b, c, d);
  }
};

template <unsigned Seed, int Depth>
struct random_subclass : sc::model<random_subclass<Seed, Depth>> {
  dense a{width}, b{width};
  child_t<Seed, Depth, 0> c;
  child_t<Seed, Depth, 1> d;
  constexpr auto call(auto&, auto x) { return run_steps<Seed, Depth>(x, a, b, c, d); }
};

/// Two objects, each called twice.
template <unsigned Seed>
struct outermost : sc::functional<outermost<Seed>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(width);
    random_model_t<Seed, 3> one, two;
    x = two(one(x));
    return two(one(x));
  }
};

/// Keras's objects: a model has layers and models, and writes down which layer it calls.
class account {
 public:
  std::vector<int> called;  // a layer's number for each call

  constexpr account(unsigned seed) {
    int const one = make(seed, 3), two = make(seed, 3);
    for (int const model : {one, two, one, two}) call(model);
  }

 private:
  struct object {
    unsigned seed;
    int depth;
    std::vector<int> parts;      // layers and models that are variables, by action
    std::vector<int> temporary;  // what each step makes
  };
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  constexpr int make(unsigned seed, int depth) {
    object made{seed, depth, {}, {}};
    if (depth == 0 || kind_of(seed) == kind::sequential) {
      made.parts = {layers_++};
      if (depth > 0)
        for (int child = 0; child < 2; ++child) made.parts.push_back(make(seed_of_child(seed, child), depth - 1));
    } else {
      made.parts = {layers_++, layers_++, -1};
      for (int child = 0; child < 2; ++child) made.parts.push_back(make(seed_of_child(seed, child), depth - 1));
      for (int step = 0; step < steps; ++step) made.temporary.push_back(make_temporary(made, step));
    }
    objects_.push_back(made);
    return static_cast<int>(objects_.size()) - 1;
  }
  constexpr int make_temporary(object const& of, int step) {
    auto const what = action_of(of.seed, step);
    return what == action::new_layer   ? layers_++
           : what == action::new_model ? make(seed_of_child(of.seed, 2), of.depth - 1)
                                       : -1;
  }

  constexpr void call(int model) {
    auto const self = objects_[at(model)];
    if (self.depth == 0) {
      called.push_back(self.parts[0]);
    } else if (kind_of(self.seed) == kind::sequential) {
      call(self.parts[1]);
      called.push_back(self.parts[0]);
      call(self.parts[2]);
    } else {
      for (int step = 0; step < steps; ++step) {
        auto const what = action_of(self.seed, step);
        if (what == action::new_layer)
          called.push_back(self.temporary[at(step)]);
        else if (what == action::new_model)
          call(self.temporary[at(step)]);
        else if (what == action::layer_a || what == action::layer_b)
          called.push_back(self.parts[at(static_cast<int>(what))]);
        else
          call(self.parts[at(static_cast<int>(what))]);
      }
    }
  }

  std::vector<object> objects_;
  int layers_ = 0;
};

/// The same, whatever the layers' numbers are.
constexpr std::vector<int> in_order_of_appearance(std::vector<int> const& numbers) {
  std::vector<int> result, known;
  for (int const number : numbers) {
    std::size_t k = 0;
    while (k < known.size() && known[k] != number) ++k;
    if (k == known.size()) known.push_back(number);
    result.push_back(static_cast<int>(k));
  }
  return result;
}

template <unsigned Seed>
void check_sharing() {
  CAPTURE(Seed);
  auto const graph = sc::detail::trace_model<outermost<Seed>>();
  CHECK_FALSE(graph.problem.failed());
  std::vector<int> called;
  for (auto const& call : graph.calls)
    if (!call.is_input) called.push_back(call.layer);
  auto const expected = in_order_of_appearance(account(Seed).called);
  CHECK(in_order_of_appearance(called) == expected);
  int distinct = 0;
  for (int const number : expected) distinct = number >= distinct ? number + 1 : distinct;
  int weights = 0;
  for (auto const& weight : graph.parameters) weights += weight.size();
  CHECK(weights == distinct * (width * width + width));
}

using tail = sc::sequential<input{6}, dense{6}>;
struct block : sc::functional<block> {
  static constexpr auto build(auto& model) { return tail{}(dense{6}(model.input(6))); }
};
struct three_times : sc::functional<three_times> {
  static constexpr auto build(auto& model) {
    block b;
    return dense{6}(b(b(b(model.input(6)))));
  }
};
static_assert(sc::count_parameters<three_times>() == 126);

// Layers of two models may be called alike; those of one model may not, and neither may its models.
template <int Which>
struct tower : sc::functional<tower<Which>> {
  static constexpr auto build(auto& model) { return dense{Which, {.name = "project"}}(model.input(4)); }
};
template <class Second>
struct towers : sc::functional<towers<Second>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    auto first = tower<1>{}.named("left")(x);
    return concatenate{}(first, Second{}.named("right")(x), tower<3>{}.named("last")(x));
  }
};
static_assert(sc::count_parameters<towers<tower<2>>>() == 5 + 10 + 15);

static_assert(sc::find_call<towers<tower<2>>>("project") == 1);

template <int Case>
struct alike : sc::functional<alike<Case>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    if constexpr (Case == 0)
      return concatenate{}(tower<1>{}.named("a")(x), tower<2>{}.named("a")(x));
    else
      return concatenate{}(tower<1>{}.named("a")(x), dense{2, {.name = "a"}}(x));
  }
};
template <class M>
constexpr int code_of = sc::detail::frozen_graph<M>.problem.code;
static_assert(code_of<alike<0>> == 1005 && code_of<alike<1>> == 1005);

// A member of a subclass that only a later call uses is a layer of its own.
struct alternating : sc::model<alternating> {
  dense even{4}, odd{4};
  int calls = 0;
  constexpr auto call(auto&, auto x) { return calls++ % 2 == 0 ? even(x) : odd(x); }
};
struct calls_alternating : sc::functional<calls_alternating> {
  static constexpr auto build(auto& model) {
    alternating a;
    return a(a(a(model.input(4))));
  }
};
static_assert(sc::count_parameters<calls_alternating>() == 2 * 20);

// A layer of the model around it, which a subclass refers to, is one layer, in each call of both.
struct refers : sc::model<refers> {
  dense& shared;
  dense own{4};
  constexpr explicit refers(dense& layer) : shared(layer) {}
  constexpr auto call(auto&, auto x) { return own(shared(x)); }
};
struct lends : sc::functional<lends> {
  static constexpr auto build(auto& model) {
    dense layer{4};
    refers inner(layer);
    return layer(inner(inner(model.input(4))));
  }
};
struct lends_twice : sc::functional<lends_twice> {
  static constexpr auto build(auto& model) {
    lends inner;
    return inner(inner(model.input(4)));
  }
};
static_assert(sc::count_parameters<lends>() == 2 * 20 && sc::graph_of<lends>.layers[1].call_count == 3);
static_assert(sc::count_parameters<lends_twice>() == 2 * 20 && sc::graph_of<lends_twice>.layers[1].call_count == 6);

// A nested model counts as a whole, whoever needs its outputs.
struct two_heads : sc::functional<two_heads> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    auto y = dense{3, {.name = "trunk"}}(x);
    return sc::outputs(dense{1, {.name = "left"}}(y), dense{2, {.name = "right"}}(x));
  }
};
struct one_head : sc::functional<one_head> {
  static constexpr auto build(auto& model) {
    auto heads = two_heads{}(model.input(4));
    return dense{1}(heads[1]);
  }
};
static_assert(sc::count_parameters<one_head>() == 15 + 4 + 10 + 3);
static_assert(sc::graph_of<one_head>.outputs_of(1).size() == 2);
static_assert(sc::models::summary_rows<one_head>[2].connected_to[0].tensor_index == 1);
struct no_head : sc::functional<no_head> {
  static constexpr auto build(auto& model) {
    auto x = model.input(4);
    two_heads{}(x);
    return dense{1}(x);
  }
};
static_assert(sc::count_parameters<no_head>() == 5);

// Code that makes other layers in a further call.
struct by_shape : sc::model<by_shape> {
  dense four{4};
  flatten other;
  constexpr auto call(auto&, auto x) { return x.shape().rank() == 1 ? four(x) : other(x); }
};
struct other_layers : sc::functional<other_layers> {
  static constexpr auto build(auto& model) {
    sc::sequential<by_shape{}> inner;
    auto x = inner(model.input(4));
    return concatenate{}(x, inner(model.input(2, 2)));
  }
};
static_assert(code_of<other_layers> == 1063);

}  // namespace

TEST_CASE("calls of models inside models share what Keras's objects share") {
  [&]<unsigned... Seed>(std::integer_sequence<unsigned, Seed...>) {
    (check_sharing<Seed>(), ...);
  }(std::make_integer_sequence<unsigned, 16>{});
}
