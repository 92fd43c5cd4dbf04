# SPDX-License-Identifier: BSD-3-Clause
# stagecraft_add_application(name SOURCES file... [WEIGHTS file] [ARCH x86-64-v3]): an application, which programs such as
# `stagecraft serve` load without a compiler and without knowing its model: <build>/<name>/application.so, and beside it, as
# weights.safetensors, a copy of the file with its weights. One of the sources defines stagecraft_get_application:
# docs/serving.md. ARCH is the processor that it is compiled for, -march; others refuse it.
function(stagecraft_add_application name)
  cmake_parse_arguments(PARSE_ARGV 1 application "" "WEIGHTS;ARCH" "SOURCES")
  if(NOT application_SOURCES OR application_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "stagecraft_add_application(${name} ...): expected SOURCES, and perhaps WEIGHTS and ARCH, found '${ARGN}'")
  endif()
  add_library(${name} MODULE ${application_SOURCES})
  target_link_libraries(${name} PRIVATE stagecraft::io)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME application SUFFIX .so LIBRARY_OUTPUT_DIRECTORY ${folder}
                                           CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
  # The program that loads it checks the processor first.
  target_compile_definitions(${name} PRIVATE STAGECRAFT_NO_PROCESSOR_CHECK)
  # Two applications in one program must not share what has one name in both.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
  if(application_ARCH)
    target_compile_options(${name} PRIVATE -march=${application_ARCH})
  endif()
  if(application_WEIGHTS)
    cmake_path(ABSOLUTE_PATH application_WEIGHTS)
    set_source_files_properties(${application_SOURCES} PROPERTIES OBJECT_DEPENDS ${application_WEIGHTS})
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy_if_different ${application_WEIGHTS}
                                                         ${folder}/weights.safetensors VERBATIM)
  endif()
endfunction()
