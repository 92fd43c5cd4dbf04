// SPDX-License-Identifier: BSD-3-Clause
// Python's literals, and the few functions of NumPy with which arrays are written on a command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// What an expression is: an array (a number is one without axes), a text, a dictionary, or a list of those.
struct python_value {
  struct entry;
  enum class kind { array, text, list, dictionary };

  kind what = kind::array;
  std::vector<std::int64_t> shape;  ///< of an array
  std::vector<double> numbers;      ///< of an array, row by row
  std::string text;
  std::vector<python_value> items;  ///< of a list that is no array
  std::vector<entry> dictionary;    ///< in its order
  bool is_sequence = false;         ///< of an array: a list or tuple of Python's, for which + and * are no arithmetic
};

struct python_value::entry {
  std::string key;
  python_value value;
  std::string source;  ///< the value as it is written
};

/// Python's words for a value's type, such as "<class 'list'>"; `source`: the value as it is written.
[[nodiscard]] std::string python_type(python_value const& value, std::string const& source);

/// Reads numbers, True, False, texts, lists, tuples and dictionaries; `+ - * /`, parentheses; np.array, ones, zeros,
/// full, arange, linspace and random.rand; `.reshape(...)`, `.astype(...)`. At most 2^28 numbers. Throws file_error
/// E5095 with the words of saved_model_cli if it is anything else.
[[nodiscard]] python_value read_python(std::string const& text);

}  // namespace stagecraft::tool
