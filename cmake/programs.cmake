# SPDX-License-Identifier: BSD-3-Clause
# How stagecraft's own programs (tests, examples, benchmarks) are compiled.

if(NOT TARGET stagecraft::stagecraft)
  message(FATAL_ERROR "stagecraft: tests, examples and benchmarks need xtensor and xsimd, Debian's libxtensor-dev and "
                      "libxsimd-dev; tools/setup.sh installs them")
endif()

# Finds what stagecraft's own programs need, or says which of Debian's packages has it.
macro(stagecraft_find_package name debian)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "stagecraft: ${name} was not found: Debian's package is ${debian} (tools/setup.sh installs it)")
  endif()
endmacro()

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(STAGECRAFT_CCACHE ccache)
mark_as_advanced(STAGECRAFT_CCACHE)

option(STAGECRAFT_WARNINGS_AS_ERRORS "Treat warnings as errors" ON)
set(stagecraft_program_options -Wall -Wextra -Wpedantic -Wshadow)
if(STAGECRAFT_WARNINGS_AS_ERRORS)
  list(APPEND stagecraft_program_options -Werror)
endif()
# GCC 12 sees an overlap in every "text" + std::string (GCC's bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND stagecraft_program_options -Wno-restrict)
endif()
# GCC 13 and 14 see a copy beyond an array of one number in xtensor's sums and means, where there is none.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  list(APPEND stagecraft_program_options -Wno-array-bounds)
endif()
# GCC collects its garbage once it has 2 GB, not at every doubling: a tenth of the time of what has many templates.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND stagecraft_program_options "SHELL:--param ggc-min-expand=300" "SHELL:--param ggc-min-heapsize=2000000")
endif()
# Clang allocates much, above all where it evaluates constants: with tcmalloc it takes a tenth less time. GCC has its own memory.
find_library(STAGECRAFT_TCMALLOC NAMES libtcmalloc_minimal.so.4)
mark_as_advanced(STAGECRAFT_TCMALLOC)
# ccache passes by whatever uses a precompiled header, which is nearly all of the tests, unless it may be sloppy about macros (no
# source here has __TIME__) and Clang does not compare the times of the headers, which a header from the cache has of another day.
if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  if(STAGECRAFT_TCMALLOC AND EXISTS "${STAGECRAFT_TCMALLOC}" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang"
     AND NOT CMAKE_CROSSCOMPILING AND NOT DEFINED ENV{LD_PRELOAD})
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER LD_PRELOAD=${STAGECRAFT_TCMALLOC})
  endif()
  if(STAGECRAFT_CCACHE)
    list(APPEND CMAKE_CXX_COMPILER_LAUNCHER CCACHE_SLOPPINESS=pch_defines,time_macros ${STAGECRAFT_CCACHE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      list(APPEND stagecraft_program_options "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env)
  endif()
endif()
if(STAGECRAFT_ARCH)
  include(CheckCXXCompilerFlag)
  string(MAKE_C_IDENTIFIER stagecraft_takes_march_${STAGECRAFT_ARCH} stagecraft_takes_march)
  check_cxx_compiler_flag(-march=${STAGECRAFT_ARCH} ${stagecraft_takes_march})
  if(NOT ${stagecraft_takes_march})
    message(FATAL_ERROR "stagecraft: the compiler does not take -march=${STAGECRAFT_ARCH}; set STAGECRAFT_ARCH to what "
                        "it takes, such as native or x86-64-v3, or to off (cmake -D STAGECRAFT_ARCH=off)")
  endif()
  list(APPEND stagecraft_program_options -march=${STAGECRAFT_ARCH})
  # Clang 19 warns about its own list of features on some processors.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
    list(APPEND stagecraft_program_options -Wno-invalid-feature-combination)
  endif()
endif()

# stagecraft_optimized_headers(): the target of that name, which has all headers, compiled at -O1, once for the examples and
# tests that are.
function(stagecraft_optimized_headers)
  if(NOT TARGET stagecraft_optimized_headers)
    add_library(stagecraft_optimized_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/cmake/nothing.cpp)
    target_compile_options(stagecraft_optimized_headers PRIVATE ${stagecraft_program_options} -O1
                                                                ${stagecraft_precompiled_header_options})
    target_link_libraries(stagecraft_optimized_headers PRIVATE stagecraft::stagecraft)
    target_precompile_headers(stagecraft_optimized_headers PRIVATE <stagecraft/ipu.hpp>)
    set_target_properties(stagecraft_optimized_headers PROPERTIES CXX_EXTENSIONS OFF)
  endif()
endfunction()

# stagecraft_program(name source...): one of stagecraft's own programs, with warnings as errors.
function(stagecraft_program name)
  add_executable(${name} ${ARGN})
  target_compile_options(${name} PRIVATE ${stagecraft_program_options})
  target_link_libraries(${name} PRIVATE stagecraft::stagecraft)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
