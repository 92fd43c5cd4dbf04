// SPDX-License-Identifier: BSD-3-Clause
// The library's only include of xtensor: containers, adaptors, views and noalias, for xtensor 0.24 to 0.27 (0.26 moved
// its headers to folders), with a workaround that Clang 19 needs for xtensor before 0.26. Include it (or any header of
// the library that does) before xtensor's own headers. Reductions, random numbers and printing are left to the programs
// that want them: they would double the compile time.
#pragma once

#include <cstddef>

#if __has_include(<xtensor/containers/xtensor.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/core/xnoalias.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xtensor_config.hpp>
// Clang 19 finds two partial specialisations of rebind_container equally good for xtensor's small vector; this third
// one is more specialised than both, and says what xtensor's own specialisation for svector says.
#if defined(__clang_major__) && __clang_major__ >= 19
#include <xtensor/xstorage.hpp>
namespace xt {
template <class X, class T, std::size_t N>
struct rebind_container<X, svector<T, N, std::allocator<T>, true>> {
  using type = svector<X, N, std::allocator<X>, true>;
};
}  // namespace xt
#endif
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif
