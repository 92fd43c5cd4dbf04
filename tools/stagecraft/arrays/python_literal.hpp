// SPDX-License-Identifier: BSD-3-Clause
// Reads Python's literals, and the functions of NumPy with which arrays are written on a command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::tool {

class numpy_random;

/// The value of an expression: an array (a number is one without axes), a text, a dictionary, or a list of those.
struct python_value {
  struct entry;
  enum class kind { array, text, list, dictionary, type, none };

  kind what = kind::array;
  std::vector<std::int64_t> shape;  ///< the array's shape
  std::vector<double> numbers;      ///< the array's elements, row by row
  std::string text;                 ///< the text, or the name of a type such as "float32"
  std::vector<python_value> items;  ///< items of a list that is no array
  std::vector<entry> dictionary;    ///< entries in their order
  bool is_sequence = false;         ///< the array is a Python list or tuple, for which + and * are no arithmetic
};

struct python_value::entry {
  std::string key;
  python_value value;
  std::string source;  ///< the value as it is written
};

/// Python's words for a value's type, such as "<class 'list'>"; `source`: the value as it is written.
[[nodiscard]] std::string python_type(python_value const& value, std::string const& source);

/// Reads numbers, True, False, None, texts, lists, tuples and dictionaries; `+ - * / // % **`, parentheses; the
/// functions of call_numpy and the methods of call_method, `.T`, and `[np.newaxis, ...]`. At most 2^28 numbers.
/// Functions of np.random draw from `random`. Throws file_error E5095 with the words of saved_model_cli for anything
/// else.
[[nodiscard]] python_value read_python(std::string const& text, numpy_random& random);

}  // namespace stagecraft::tool
