# SPDX-License-Identifier: BSD-3-Clause
# The interface targets, each with its headers:
#   stagecraft::pipeline    models, stages and their checks, what an IPU is and what operations cost on it; depends on
#                           nothing
#   stagecraft::stagecraft  all of the library; needs xtensor, xsimd and threads
#   stagecraft::report      what is known of models, timetables, profiles and runs as text, pages and pictures (report/)
#   stagecraft::zlib        gzipped data files (datasets/gzip.hpp); needs zlib
#   stagecraft::json        profiles as JSON (report/profile_json.hpp); needs nlohmann's JSON library
#   stagecraft::io          files of weights and models (io/), applications and their export (serving/); needs nlohmann's
#                           JSON library, zlib and libzip
#   stagecraft::hdf5        models and weights in Keras's own files (io/keras_files.hpp); needs what stagecraft::io needs, and
#                           HDF5
#   stagecraft::images      images in files and folders (data/load_img.hpp, data/image_dataset_from_directory.hpp); needs what
#                           stagecraft::io needs, libpng and libjpeg
#   stagecraft::mpi         training on the ranks of MPI (mpi.hpp, mpi/); needs what stagecraft::stagecraft needs, and MPI
#   stagecraft::precompiled stagecraft::stagecraft, with a precompiled header in each target that links to it

set(stagecraft_pipeline_rooms
    diagnostics graph operations layers activations constraints initializers regularizers losses metrics optimizers models
    pipeline machines ipu/cycles ipu/convolution ipu/steps ipu/vertices ipu/tasks)
list(JOIN stagecraft_pipeline_rooms "|" stagecraft_pipeline_rooms)
set(stagecraft_zlib_headers datasets/gzip.hpp)
set(stagecraft_images_headers data/detail/pixels.hpp data/image_dataset_from_directory.hpp data/load_img.hpp)
set(stagecraft_io_headers data/detail/file_rows.hpp data/idx.hpp data/npy.hpp data/npz.hpp serving/application.hpp serving/export.hpp
    serving/detail/export_folder.hpp)
set(stagecraft_json_headers report/profile_json.hpp)

set(stagecraft_include ${CMAKE_CURRENT_SOURCE_DIR}/include)
file(GLOB_RECURSE stagecraft_headers RELATIVE ${stagecraft_include}/stagecraft CONFIGURE_DEPENDS
     ${stagecraft_include}/stagecraft/*.hpp ${stagecraft_include}/stagecraft/*.h)
set(stagecraft_headers_pipeline)
set(stagecraft_headers_stagecraft)
set(stagecraft_headers_report)
set(stagecraft_headers_zlib)
set(stagecraft_headers_json)
set(stagecraft_headers_io)
set(stagecraft_headers_hdf5)
set(stagecraft_headers_images)
set(stagecraft_headers_mpi)
foreach(header IN LISTS stagecraft_headers)
  if(header IN_LIST stagecraft_zlib_headers)
    list(APPEND stagecraft_headers_zlib ${stagecraft_include}/stagecraft/${header})
  elseif(header IN_LIST stagecraft_images_headers)
    list(APPEND stagecraft_headers_images ${stagecraft_include}/stagecraft/${header})
  elseif(header IN_LIST stagecraft_json_headers)
    list(APPEND stagecraft_headers_json ${stagecraft_include}/stagecraft/${header})
  elseif(header MATCHES "^io/keras_files\\.hpp$|^io/keras/(hdf5_[a-z]+|keras_h5|read_keras_weights|(read|write)_keras_training)\\.hpp$")
    list(APPEND stagecraft_headers_hdf5 ${stagecraft_include}/stagecraft/${header})
  elseif(header MATCHES "^io/" OR header IN_LIST stagecraft_io_headers)
    list(APPEND stagecraft_headers_io ${stagecraft_include}/stagecraft/${header})
  elseif(header MATCHES "^mpi(/.*|\\.hpp)$")
    list(APPEND stagecraft_headers_mpi ${stagecraft_include}/stagecraft/${header})
  elseif(header MATCHES "^report/")
    list(APPEND stagecraft_headers_report ${stagecraft_include}/stagecraft/${header})
  elseif(header MATCHES "^(${stagecraft_pipeline_rooms})/" OR header MATCHES "^(pipeline|version)\\.hpp$")
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

# GCC forgets of a precompiled header which warnings were switched off in it: those of its own headers for AVX-512.
set(stagecraft_precompiled_header_options "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-uninitialized>"
                                          "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>")

# Whoever links to a target of stagecraft's that is not there, for lack of a library, is told which one and what Debian
# calls it, rather than that a target was not found.
set_property(GLOBAL PROPERTY stagecraft_missing)
function(stagecraft_lacks target library package)
  set_property(GLOBAL APPEND PROPERTY stagecraft_missing ${target})
  set_property(GLOBAL PROPERTY stagecraft_missing_${target} "${library}, which was not found: Debian's package is ${package}")
endfunction()

function(stagecraft_explain_missing folder)
  get_property(missing GLOBAL PROPERTY stagecraft_missing)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    foreach(property IN ITEMS LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(libraries ${target} ${property})
      foreach(library IN LISTS libraries)
        string(REGEX REPLACE "^stagecraft::" "" library "${library}")
        if(library IN_LIST missing)
          get_property(why GLOBAL PROPERTY stagecraft_missing_${library})
          message(FATAL_ERROR "stagecraft: target '${target}' links to stagecraft::${library}, which needs ${why}")
        endif()
      endforeach()
    endforeach()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(each IN LISTS folders)
    stagecraft_explain_missing(${each})
  endforeach()
endfunction()

find_package(Threads REQUIRED)
find_package(xtensor QUIET)
find_package(xsimd QUIET)
if(xtensor_FOUND AND xsimd_FOUND)
  stagecraft_interface_target(stagecraft stagecraft "${stagecraft_headers_stagecraft}")
  target_link_libraries(stagecraft INTERFACE stagecraft_pipeline xtensor xsimd Threads::Threads)

  # Made by each target that links to it, with that target's own flags, which must be those of its sources.
  add_library(stagecraft_precompiled INTERFACE)
  add_library(stagecraft::precompiled ALIAS stagecraft_precompiled)
  set_target_properties(stagecraft_precompiled PROPERTIES EXPORT_NAME precompiled)
  target_link_libraries(stagecraft_precompiled INTERFACE stagecraft)
  target_precompile_headers(stagecraft_precompiled INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:<stagecraft/stagecraft.hpp$<ANGLE-R>>")
  target_compile_options(stagecraft_precompiled INTERFACE ${stagecraft_precompiled_header_options})

  stagecraft_interface_target(stagecraft_report report "${stagecraft_headers_report}")
  target_link_libraries(stagecraft_report INTERFACE stagecraft)

  find_package(ZLIB QUIET)
  if(ZLIB_FOUND)
    stagecraft_interface_target(stagecraft_zlib zlib "${stagecraft_headers_zlib}")
    target_link_libraries(stagecraft_zlib INTERFACE stagecraft ZLIB::ZLIB)
  else()
    stagecraft_lacks(zlib "zlib" "zlib1g-dev")
  endif()
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    stagecraft_interface_target(stagecraft_mpi mpi "${stagecraft_headers_mpi}")
    target_link_libraries(stagecraft_mpi INTERFACE stagecraft MPI::MPI_CXX)
  else()
    stagecraft_lacks(mpi "MPI" "libopenmpi-dev")
  endif()
  find_package(nlohmann_json QUIET)
  if(nlohmann_json_FOUND)
    stagecraft_interface_target(stagecraft_json json "${stagecraft_headers_json}")
    target_link_libraries(stagecraft_json INTERFACE stagecraft_report nlohmann_json::nlohmann_json)
  else()
    stagecraft_lacks(json "nlohmann's JSON library" "nlohmann-json3-dev")
  endif()
  # Debian's CMake files for libzip need its programs, too.
  find_library(STAGECRAFT_LIBZIP zip)
  find_path(STAGECRAFT_LIBZIP_INCLUDE zip.h)
  mark_as_advanced(STAGECRAFT_LIBZIP STAGECRAFT_LIBZIP_INCLUDE)
  if(NOT nlohmann_json_FOUND)
    stagecraft_lacks(io "nlohmann's JSON library" "nlohmann-json3-dev")
  elseif(NOT ZLIB_FOUND)
    stagecraft_lacks(io "zlib" "zlib1g-dev")
  elseif(NOT STAGECRAFT_LIBZIP OR NOT STAGECRAFT_LIBZIP_INCLUDE)
    stagecraft_lacks(io "libzip" "libzip-dev")
  else()
    stagecraft_interface_target(stagecraft_io io "${stagecraft_headers_io}")
    target_link_libraries(stagecraft_io INTERFACE stagecraft nlohmann_json::nlohmann_json ZLIB::ZLIB -lzip)
    # CMake's own module for HDF5 needs the language C.
    find_library(STAGECRAFT_HDF5 NAMES hdf5_serial hdf5)
    find_path(STAGECRAFT_HDF5_INCLUDE hdf5.h PATH_SUFFIXES hdf5/serial)
    mark_as_advanced(STAGECRAFT_HDF5 STAGECRAFT_HDF5_INCLUDE)
    if(STAGECRAFT_HDF5 AND STAGECRAFT_HDF5_INCLUDE)
      stagecraft_interface_target(stagecraft_hdf5 hdf5 "${stagecraft_headers_hdf5}")
      target_include_directories(stagecraft_hdf5 SYSTEM INTERFACE $<BUILD_INTERFACE:${STAGECRAFT_HDF5_INCLUDE}>)
      target_link_libraries(stagecraft_hdf5 INTERFACE stagecraft_io $<BUILD_INTERFACE:${STAGECRAFT_HDF5}>)
    else()
      stagecraft_lacks(hdf5 "HDF5" "libhdf5-dev")
    endif()
    find_package(PNG QUIET)
    find_package(JPEG QUIET)
    if(NOT PNG_FOUND)
      stagecraft_lacks(images "libpng" "libpng-dev")
    elseif(NOT JPEG_FOUND)
      stagecraft_lacks(images "libjpeg" "libjpeg-dev")
    else()
      stagecraft_interface_target(stagecraft_images images "${stagecraft_headers_images}")
      target_link_libraries(stagecraft_images INTERFACE stagecraft_io PNG::PNG JPEG::JPEG)
    endif()
  endif()
else()
  set(library xtensor)
  if(xtensor_FOUND)
    set(library xsimd)
  endif()
  foreach(target IN ITEMS stagecraft precompiled report zlib json io hdf5 images mpi)
    stagecraft_lacks(${target} ${library} lib${library}-dev)
  endforeach()
  message(STATUS "stagecraft: ${library} was not found (Debian's package is lib${library}-dev), so that only "
                 "stagecraft::pipeline is available")
endif()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL stagecraft_explain_missing ${CMAKE_SOURCE_DIR})
