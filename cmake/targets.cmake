# SPDX-License-Identifier: BSD-3-Clause
# The interface targets, each with its headers:
#   stagecraft::pipeline    models, stages and their checks (levels 0 to 3 of the house); depends on nothing
#   stagecraft::stagecraft  all of the library; needs xtensor, xsimd and threads
#   stagecraft::zlib        gzipped data files (datasets/gzip.hpp); needs zlib
#   stagecraft::json        profiles as JSON (report/profile_json.hpp); needs nlohmann's JSON library

set(stagecraft_pipeline_rooms diagnostics graph layers activations initializers regularizers losses metrics optimizers
                              models pipeline ipu)
set(stagecraft_zlib_headers datasets/gzip.hpp)
set(stagecraft_json_headers report/profile_json.hpp report/detail/profile_json_fields.hpp)

set(stagecraft_include ${CMAKE_CURRENT_SOURCE_DIR}/include)
file(GLOB_RECURSE stagecraft_headers RELATIVE ${stagecraft_include}/stagecraft CONFIGURE_DEPENDS
     ${stagecraft_include}/stagecraft/*.hpp)
set(stagecraft_headers_pipeline)
set(stagecraft_headers_stagecraft)
set(stagecraft_headers_zlib)
set(stagecraft_headers_json)
foreach(header IN LISTS stagecraft_headers)
  string(REGEX MATCH "^[^/]+" room ${header})
  if(header IN_LIST stagecraft_zlib_headers)
    list(APPEND stagecraft_headers_zlib ${stagecraft_include}/stagecraft/${header})
  elseif(header IN_LIST stagecraft_json_headers)
    list(APPEND stagecraft_headers_json ${stagecraft_include}/stagecraft/${header})
  elseif(room IN_LIST stagecraft_pipeline_rooms OR room STREQUAL "pipeline.hpp" OR room STREQUAL "version.hpp")
    list(APPEND stagecraft_headers_pipeline ${stagecraft_include}/stagecraft/${header})
  else()
    list(APPEND stagecraft_headers_stagecraft ${stagecraft_include}/stagecraft/${header})
  endif()
endforeach()

# Defines stagecraft::<name>, exported under that name, with `headers` as its header set.
function(stagecraft_interface_target target name headers)
  add_library(${target} INTERFACE)
  add_library(stagecraft::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS ${stagecraft_include} FILES ${headers})
endfunction()

stagecraft_interface_target(stagecraft_pipeline pipeline "${stagecraft_headers_pipeline}")

find_package(Threads REQUIRED)
find_package(xtensor QUIET)
find_package(xsimd QUIET)
if(xtensor_FOUND AND xsimd_FOUND)
  stagecraft_interface_target(stagecraft stagecraft "${stagecraft_headers_stagecraft}")
  target_link_libraries(stagecraft INTERFACE stagecraft_pipeline xtensor xsimd Threads::Threads)

  find_package(ZLIB QUIET)
  if(ZLIB_FOUND)
    stagecraft_interface_target(stagecraft_zlib zlib "${stagecraft_headers_zlib}")
    target_link_libraries(stagecraft_zlib INTERFACE stagecraft ZLIB::ZLIB)
  endif()
  find_package(nlohmann_json QUIET)
  if(nlohmann_json_FOUND)
    stagecraft_interface_target(stagecraft_json json "${stagecraft_headers_json}")
    target_link_libraries(stagecraft_json INTERFACE stagecraft nlohmann_json::nlohmann_json)
  endif()
else()
  message(STATUS "stagecraft: xtensor or xsimd not found, so that only stagecraft::pipeline is available")
endif()
