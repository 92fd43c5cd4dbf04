// SPDX-License-Identifier: BSD-3-Clause
// np.random's functions.
#include "arrays/bound_arguments.hpp"
#include "arrays/numpy_functions.hpp"
#include "arrays/numpy_random.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace stagecraft::tool {

namespace {

[[noreturn]] void fail(std::string text) { throw expression_problem{std::move(text)}; }

/// A value whose numbers are drawn one after the other.
template <class Make>
python_value made(array_shape const& shape, Make const& make) {
  auto result = filled(shape, 0);
  for (double& each : result.numbers) each = make();
  return result;
}

/// The shape of `size=`; one number without axes if there is none.
array_shape size_given(bound_arguments const& given, std::size_t i) {
  return given.has(i) ? shape_of(given[i]) : array_shape{};
}
python_value random_integers(bound_arguments const& given, numpy_random& random) {
  double const low = given.has(1) ? given.number(0, 0) : 0, high = given.number(given.has(1) ? 1 : 0, 0);
  if (low != std::floor(low) || high != std::floor(high) || low >= high || std::abs(low) > 0x1p53 ||
      std::abs(high) > 0x1p53)
    fail("np.random.randint draws from whole numbers, the first of which is below the last.");
  auto const type = given.type(3, "int");
  for (double const end : {low, high - 1}) (void)converted(number_value(end), type);
  double const last = high - low - 1;
  if (last >= 0x1p32) fail("np.random.randint draws from at most 2**32 numbers here.");
  int const bits = type == "bool" || type == "bool_"     ? 1
                   : type == "uint8" || type == "int8"   ? 8
                   : type == "uint16" || type == "int16" ? 16
                                                         : 32;
  numpy_random::integers draws(random, static_cast<std::uint64_t>(last), bits);
  return made(size_given(given, 2), [&] { return low + static_cast<double>(draws.next()); });
}

}  // namespace

python_value call_numpy_random(std::string const& name, call_arguments given, numpy_random& random) {
  if (name == "rand") return made(lengths_of(given), [&] { return random.uniform(); });
  if (name == "randn") return made(lengths_of(given), [&] { return random.normal(); });
  if (name == "random" || name == "random_sample" || name == "ranf" || name == "sample")
    return made(size_given({std::move(given), "size", 0}, 0), [&] { return random.uniform(); });
  if (name == "standard_normal")
    return made(size_given({std::move(given), "size", 0}, 0), [&] { return random.normal(); });
  if (name == "randint") return random_integers({std::move(given), "low high size dtype", 1}, random);
  if (name == "uniform" || name == "normal") {
    bool const is_normal = name == "normal";
    bound_arguments const own(std::move(given), is_normal ? "loc scale size" : "low high size", 0);
    double const first = own.number(0, 0), second = own.number(1, 1);
    return made(size_given(own, 2), [&] {
      return is_normal ? first + second * random.normal() : first + (second - first) * random.uniform();
    });
  }
  fail("np.random." + name +
       " is none of the functions that are carried out: rand, randn, random, uniform, normal, standard_normal and "
       "randint, also of np.random.RandomState(seed).");
}

}  // namespace stagecraft::tool
