# SPDX-License-Identifier: BSD-3-Clause
# The module stagecraft_grpc.so, where gRPC's and protobuf's C++ libraries and their compilers are there.
# STAGECRAFT_GRPC: ON, they must be there; OFF, no module; AUTO, what is there decides.

set(STAGECRAFT_GRPC AUTO CACHE STRING "Whether the program stagecraft gets a module for gRPC: ON, OFF or AUTO")
set_property(CACHE STAGECRAFT_GRPC PROPERTY STRINGS AUTO ON OFF)
if(NOT STAGECRAFT_GRPC)
  return()
endif()

find_program(STAGECRAFT_PROTOC protoc)
find_program(STAGECRAFT_GRPC_PLUGIN grpc_cpp_plugin)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(stagecraft_grpc_libraries QUIET IMPORTED_TARGET grpc++ protobuf)
endif()
mark_as_advanced(STAGECRAFT_PROTOC STAGECRAFT_GRPC_PLUGIN)
if(NOT STAGECRAFT_PROTOC OR NOT STAGECRAFT_GRPC_PLUGIN OR NOT TARGET PkgConfig::stagecraft_grpc_libraries)
  if(STAGECRAFT_GRPC STREQUAL "AUTO")
    message(STATUS "stagecraft: no gRPC: `stagecraft serve` is built without --grpc_port (Debian: libgrpc++-dev, libprotobuf-dev, "
                   "protobuf-compiler, protobuf-compiler-grpc)")
    return()
  endif()
  message(FATAL_ERROR "stagecraft: STAGECRAFT_GRPC is ON, but gRPC was not found: Debian's packages are libgrpc++-dev, "
                      "libprotobuf-dev, protobuf-compiler, protobuf-compiler-grpc (tools/setup.sh installs them)")
endif()

# Generated code, compiled once for the module and for clients in tests.
set(protocol ${CMAKE_CURRENT_SOURCE_DIR}/serve/grpc/protocol)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/grpc_protocol)
file(MAKE_DIRECTORY ${generated})
set(generated_sources)
foreach(name IN ITEMS tensorflow tensorflow_serving kserve health)
  set(sources ${generated}/${name}.pb.cc ${generated}/${name}.pb.h)
  set(services)
  if(NOT name STREQUAL "tensorflow")
    set(services --grpc_out=${generated} --plugin=protoc-gen-grpc=${STAGECRAFT_GRPC_PLUGIN})
    list(APPEND sources ${generated}/${name}.grpc.pb.cc ${generated}/${name}.grpc.pb.h)
  endif()
  add_custom_command(
    OUTPUT ${sources}
    COMMAND ${STAGECRAFT_PROTOC} -I ${protocol} --cpp_out=${generated} ${services} ${protocol}/${name}.proto
    DEPENDS ${protocol}/${name}.proto ${protocol}/tensorflow.proto
    VERBATIM)
  list(APPEND generated_sources ${sources})
endforeach()
add_library(stagecraft_grpc_protocol STATIC ${generated_sources})
set_target_properties(stagecraft_grpc_protocol PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_compile_features(stagecraft_grpc_protocol PUBLIC cxx_std_20)
target_compile_options(stagecraft_grpc_protocol PRIVATE -O1 -w)
target_include_directories(stagecraft_grpc_protocol SYSTEM PUBLIC ${generated})
target_link_libraries(stagecraft_grpc_protocol PUBLIC PkgConfig::stagecraft_grpc_libraries)

file(GLOB stagecraft_grpc_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/serve/grpc/*.cpp)
add_library(stagecraft_grpc MODULE ${stagecraft_grpc_sources} serve/examples/example_inputs.cpp serve/input_tensors.cpp
            serve/shared_memory.cpp)
set_target_properties(stagecraft_grpc PROPERTIES PREFIX "" CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                                                 LIBRARY_OUTPUT_DIRECTORY $<TARGET_FILE_DIR:stagecraft_tool>)
target_compile_options(stagecraft_grpc PRIVATE ${options} -O1)
target_include_directories(stagecraft_grpc PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(stagecraft_grpc SYSTEM PRIVATE ${stagecraft_protozero_folder})
target_link_libraries(stagecraft_grpc PRIVATE stagecraft_grpc_protocol stagecraft::io)
target_precompile_headers(stagecraft_grpc PRIVATE serve/grpc/rpc_call.hpp)
add_dependencies(stagecraft_tool stagecraft_grpc)
if(STAGECRAFT_BUILD_TOOLS)
  install(TARGETS stagecraft_grpc LIBRARY DESTINATION ${stagecraft_module_folder} COMPONENT tools)
endif()
