# SPDX-License-Identifier: BSD-3-Clause
# Installation, find_package(stagecraft), pkg-config, and the Debian package libstagecraft-dev. Nothing that is installed
# depends on the machine or on where it is installed.

include(CMakePackageConfigHelpers)
set(stagecraft_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/stagecraft)

# One export per component, so that stagecraft::pipeline is found without xtensor and xsimd. stagecraft::precompiled comes
# with stagecraft::stagecraft.
foreach(component IN ITEMS pipeline stagecraft report zlib json io hdf5 images mpi)
  if(TARGET stagecraft::${component})
    get_target_property(target stagecraft::${component} ALIASED_TARGET)
    install(TARGETS ${target} EXPORT ${target}_targets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(EXPORT ${target}_targets NAMESPACE stagecraft:: DESTINATION ${stagecraft_package_dir}
            FILE stagecraft_${component}_targets.cmake)
  endif()
endforeach()

if(TARGET stagecraft_precompiled)
  install(TARGETS stagecraft_precompiled EXPORT stagecraft_targets)
endif()

write_basic_package_version_file(stagecraftConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_package_config_file(cmake/stagecraftConfig.cmake.in stagecraftConfig.cmake
                              INSTALL_DESTINATION ${stagecraft_package_dir} NO_SET_AND_CHECK_MACRO)
install(FILES ${PROJECT_BINARY_DIR}/stagecraftConfig.cmake ${PROJECT_BINARY_DIR}/stagecraftConfigVersion.cmake
              cmake/application.cmake cmake/module.cmake cmake/stagecraft.cppm
        DESTINATION ${stagecraft_package_dir})

# A file of pkg-config's for each component that was found; needs are modules of pkg-config's.
function(stagecraft_pkg_config component description requires flags libraries)
  if(TARGET stagecraft::${component})
    set(module stagecraft-${component})
    if(component STREQUAL "stagecraft")
      set(module stagecraft)
    endif()
    configure_file(cmake/component.pc.in ${module}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${module}.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
  endif()
endfunction()

stagecraft_pkg_config(pipeline "The part of stagecraft that checks models and pipeline stages; it has no dependencies" "" "" "")
stagecraft_pkg_config(stagecraft "${PROJECT_DESCRIPTION}" "xtensor xsimd" -pthread -pthread)
stagecraft_pkg_config(report "Reports and pictures of stagecraft's models, timetables and profiles" stagecraft "" "")
stagecraft_pkg_config(zlib "Gzipped data files for stagecraft" "stagecraft zlib" "" "")
stagecraft_pkg_config(json "stagecraft's profiles as JSON" "stagecraft-report nlohmann_json" "" "")
stagecraft_pkg_config(io "Files of weights and models, and applications, for stagecraft" "stagecraft nlohmann_json zlib libzip" "" "")
stagecraft_pkg_config(hdf5 "Keras's own files for stagecraft" "stagecraft-io hdf5" "" "")
stagecraft_pkg_config(images "Images for stagecraft" "stagecraft-io libpng libjpeg" "" "")

install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME libstagecraft-dev)
set(CPACK_PACKAGE_VENDOR "The stagecraft authors")
set(CPACK_PACKAGE_CONTACT "The stagecraft authors <stagecraft@example.org>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libxtensor-dev (>= 0.24), libxsimd-dev (>= 8.1)")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "zlib1g-dev, nlohmann-json3-dev, libzip-dev, libhdf5-dev, libpng-dev, libjpeg-dev, libopenmpi-dev")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Keras models, pipeline stages and training, checked by the C++ compiler
 stagecraft is a header-only C++20 library: models, their pipeline stages and their
 training are compile-time objects, which the compiler checks and plans.")
include(CPack)
