# SPDX-License-Identifier: BSD-3-Clause
# Makes the Debian package in FOLDER from the build in BUILD, and looks at what is in it.
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CPACK} --config ${BUILD}/CPackConfig.cmake -G DEB -B ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB package ${FOLDER}/libstagecraft-dev_*_all.deb)
if(NOT package)
  message(FATAL_ERROR "no libstagecraft-dev_<version>_all.deb in ${FOLDER}")
endif()
execute_process(COMMAND dpkg-deb --info ${package} OUTPUT_VARIABLE info COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND dpkg-deb --contents ${package} OUTPUT_VARIABLE contents COMMAND_ERROR_IS_FATAL ANY)
foreach(expected IN ITEMS "Package: libstagecraft-dev" "Architecture: all" "Section: libdevel" "libxtensor-dev" "libxsimd-dev")
  if(NOT info MATCHES "${expected}")
    message(FATAL_ERROR "the package's description lacks '${expected}':\n${info}")
  endif()
endforeach()
foreach(expected IN ITEMS usr/include/stagecraft/stagecraft.hpp usr/include/stagecraft/pipeline.hpp
                          usr/include/stagecraft/graph/shape.hpp usr/include/stagecraft/datasets/gzip.hpp
                          usr/include/stagecraft/report/profile_json.hpp
                          usr/share/cmake/stagecraft/stagecraftConfig.cmake usr/share/pkgconfig/stagecraft.pc)
  if(NOT contents MATCHES "\\./${expected}\n")
    message(FATAL_ERROR "the package lacks ${expected}:\n${contents}")
  endif()
endforeach()
message(STATUS "${package} is whole")
