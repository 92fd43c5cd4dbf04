// SPDX-License-Identifier: BSD-3-Clause
// What a header that programs include reads first. Macros of the program that are words of this library are put aside,
// and -Wsign-conversion is switched off, until end_headers.hpp: indices are int, also of standard arrays. Read again
// each time.

#pragma push_macro("check")
#pragma push_macro("expect")
#pragma push_macro("far")
#pragma push_macro("input")
#pragma push_macro("max")
#pragma push_macro("min")
#pragma push_macro("near")
#pragma push_macro("output")
#pragma push_macro("require")
#pragma push_macro("small")
#pragma push_macro("verify")
#undef check
#undef expect
#undef far
#undef input
#undef max
#undef min
#undef near
#undef output
#undef require
#undef small
#undef verify

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
