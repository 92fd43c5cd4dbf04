// SPDX-License-Identifier: BSD-3-Clause
#include "source/identifier.hpp"

#include "keras/option_values.hpp"
#include "source/source_layer.hpp"

#include <algorithm>
#include <array>

namespace stagecraft::tool {

namespace {

constexpr std::size_t longest = 80;

/// C++20's keywords, with the alternative spellings of operators and the words that have a meaning in some places.
constexpr std::array words_of_cpp{"alignas",
                                  "alignof",
                                  "and",
                                  "and_eq",
                                  "asm",
                                  "atomic_cancel",
                                  "atomic_commit",
                                  "atomic_noexcept",
                                  "auto",
                                  "bitand",
                                  "bitor",
                                  "bool",
                                  "break",
                                  "case",
                                  "catch",
                                  "char",
                                  "char16_t",
                                  "char32_t",
                                  "char8_t",
                                  "class",
                                  "co_await",
                                  "co_return",
                                  "co_yield",
                                  "compl",
                                  "concept",
                                  "const",
                                  "const_cast",
                                  "consteval",
                                  "constexpr",
                                  "constinit",
                                  "continue",
                                  "decltype",
                                  "default",
                                  "delete",
                                  "do",
                                  "double",
                                  "dynamic_cast",
                                  "else",
                                  "enum",
                                  "explicit",
                                  "export",
                                  "extern",
                                  "false",
                                  "final",
                                  "float",
                                  "for",
                                  "friend",
                                  "goto",
                                  "if",
                                  "import",
                                  "inline",
                                  "int",
                                  "long",
                                  "module",
                                  "mutable",
                                  "namespace",
                                  "new",
                                  "noexcept",
                                  "not",
                                  "not_eq",
                                  "nullptr",
                                  "operator",
                                  "or",
                                  "or_eq",
                                  "override",
                                  "private",
                                  "protected",
                                  "public",
                                  "reflexpr",
                                  "register",
                                  "reinterpret_cast",
                                  "requires",
                                  "restrict",
                                  "return",
                                  "short",
                                  "signed",
                                  "sizeof",
                                  "static",
                                  "static_assert",
                                  "static_cast",
                                  "struct",
                                  "switch",
                                  "synchronized",
                                  "template",
                                  "this",
                                  "thread_local",
                                  "throw",
                                  "true",
                                  "try",
                                  "typedef",
                                  "typeid",
                                  "typename",
                                  "typeof",
                                  "union",
                                  "unsigned",
                                  "using",
                                  "virtual",
                                  "void",
                                  "volatile",
                                  "wchar_t",
                                  "while",
                                  "xor",
                                  "xor_eq"};

/// Names that an imported header uses without their namespace, and members of the bases of its models.
constexpr std::array words_of_headers{"sc",
                                      "std",
                                      "stagecraft",
                                      "models",
                                      "model",
                                      "name",
                                      "rest",
                                      "main",
                                      "build",
                                      "functional",
                                      "callable_model",
                                      "model_base",
                                      "named",
                                      "model_name",
                                      "call_scope",
                                      "call_nested",
                                      "check_definition",
                                      "kind",
                                      "trace",
                                      "fit",
                                      "compile",
                                      "input",
                                      "lambda",
                                      "rnn",
                                      "bidirectional",
                                      "time_distributed",
                                      "merge_mode",
                                      "interpolation",
                                      "output_mode",
                                      "fill_mode",
                                      "flip_mode",
                                      "serialization_dimension"};

/// Macros of C, POSIX and compilers in lower case.
constexpr std::array small_macros{"alloca",
                                  "assert",
                                  "assert_perror",
                                  "errno",
                                  "i386",
                                  "issubnormal",
                                  "linux",
                                  "major",
                                  "makedev",
                                  "math_errhandling",
                                  "minor",
                                  "offsetof",
                                  "sched_priority",
                                  "sigev_notify_attributes",
                                  "sigev_notify_function",
                                  "sigmask",
                                  "stderr",
                                  "stdin",
                                  "stdout",
                                  "strdupa",
                                  "strndupa",
                                  "unix"};
constexpr std::array large_macros{
    "ACCESSPERMS", "ALLPERMS", "BUFSIZ",   "CSIGNAL",  "DEFFILEMODE", "FAPPEND",     "FASYNC",  "FFSYNC", "FNDELAY",
    "FNONBLOCK",   "I",        "INFINITY", "MAXFLOAT", "NAN",         "MINSIGSTKSZ", "NFDBITS", "NGREG",  "NOEXCEPT",
    "NSIG",        "NULL",     "NZERO",    "TRUE",     "FALSE",       "DEBUG",       "NDEBUG",  "ERROR",  "SNAN"};
constexpr std::array beginnings_of_macros{
    "SYS_", "L_",   "M_",   "P_",   "PRI",  "SCN",  "SNAN",  "si_",   "sa_", "st_",
    "be16", "be32", "be64", "le16", "le32", "le64", "htobe", "htole", "va_", "pthread_cleanup_"};

bool is_macro(std::string const& name) {
  auto const is_in = [&](auto const& list) { return std::find(list.begin(), list.end(), name) != list.end(); };
  if (is_in(small_macros) || is_in(large_macros)) return true;
  for (std::string_view const each : beginnings_of_macros)
    if (name.starts_with(each)) return true;
  bool const is_large = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  // Names in capitals are taken for macros, as INT_MAX, EINVAL, SIGINT and WEXITED are.
  return is_large &&
         (name.find('_') != std::string::npos || name.front() == 'E' || name.front() == 'W' || name.starts_with("SIG"));
}

bool is_taken(std::string const& name) {
  static std::set<std::string> const words = [] {
    std::set<std::string> all(words_of_cpp.begin(), words_of_cpp.end());
    all.insert(words_of_headers.begin(), words_of_headers.end());
    for (auto const& word : known_words()) all.insert(word);
    return all;
  }();
  return words.contains(name) || is_macro(name);
}

}  // namespace

identifier::identifier(std::string_view text) {
  bool const begins_with_digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  for (char const c : text) {
    // ASCII letters, independent of the locale.
    bool const is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_word)
      name_ += c;
    else if (!name_.empty() && name_.back() != '_')
      name_ += '_';
    if (name_.size() == longest) break;
  }
  while (name_.ends_with('_')) name_.pop_back();
  if (name_.empty() || begins_with_digit || (name_.front() >= '0' && name_.front() <= '9')) name_ = "model_" + name_;
  if (is_taken(name_)) name_ += '_';
}

identifier identifier::unused_in(std::set<identifier>& used) const {
  auto result = *this;
  bool const is_ended = name_.ends_with('_');
  if (!is_ended && used.contains(result)) result.name_ += '_';
  for (int i = 2; !used.insert(result).second; ++i) result.name_ = name_ + (is_ended ? "" : "_") + std::to_string(i);
  return result;
}

identifier type_name_of(std::string_view text) {
  identifier const name(text);
  return name.str().ends_with('_') ? identifier(name.str() + "model") : name;
}

}  // namespace stagecraft::tool
