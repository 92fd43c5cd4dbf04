# An overlay port: `vcpkg install stagecraft --overlay-ports=<this repository>/packaging/vcpkg`. It installs the tree that it
# lies in; a port for the registry names a release's archive and its checksum instead.
set(VCPKG_BUILD_TYPE release)  # headers
set(VCPKG_POLICY_SKIP_PKGCONFIG_CHECK enabled)  # stagecraft.pc stands in share/, since the only library it names is the system's
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DSTAGECRAFT_BUILD_TESTS=OFF -DSTAGECRAFT_BUILD_EXAMPLES=OFF -DSTAGECRAFT_ARCH=off)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/stagecraft)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
