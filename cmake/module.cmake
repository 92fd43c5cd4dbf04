# SPDX-License-Identifier: BSD-3-Clause
# stagecraft_add_module(name): a library of yours with the module stagecraft, for targets that link to it and `import
# stagecraft;`. It is compiled with the flags of the folder that calls this, which must be those of these targets, -march and
# -O included: target_compile_options(name PUBLIC -march=native) sets them for both. Needs CMake 3.28, Ninja, Clang 19
# and its clang-scan-deps: docs/building.md.
function(stagecraft_add_module name)
  if(CMAKE_VERSION VERSION_LESS 3.28)
    message(FATAL_ERROR "stagecraft_add_module(${name}): modules need CMake 3.28, and this is ${CMAKE_VERSION}")
  endif()
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
    message(FATAL_ERROR "stagecraft_add_module(${name}): the module was tried with Clang 19 and 23, and fails with GCC 16 "
                        "(docs/platforms.md says why); this is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  endif()
  add_library(${name} STATIC)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  target_sources(${name} PUBLIC FILE_SET CXX_MODULES BASE_DIRS ${folder} FILES ${folder}/stagecraft.cppm)
  target_link_libraries(${name} PUBLIC stagecraft::stagecraft)
  target_compile_features(${name} PUBLIC cxx_std_20)
  # The library's headers are read behind `export module`, on purpose.
  target_compile_options(${name} PRIVATE -Wno-include-angled-in-module-purview)
  set_target_properties(${name} PROPERTIES CXX_SCAN_FOR_MODULES ON CXX_EXTENSIONS OFF)
endfunction()
