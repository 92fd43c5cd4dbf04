# SPDX-License-Identifier: BSD-3-Clause
# A Spack package: copy this folder to packages/stagecraft of a repository of packages. Then, in a checkout of stagecraft,
# `spack dev-build stagecraft@main` installs that checkout.
from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # before Spack 1.0, spack.package has it
    pass


class Stagecraft(CMakePackage):
    """Keras models, pipeline stages and training as compile-time objects, which the C++ compiler checks and plans: a
    header-only C++20 library."""

    license("BSD-3-Clause")

    # `spack install` needs where it comes from: `git = ...` here, or a version with a release's archive and its checksum.
    version("main", branch="main")

    variant("io", default=True, description="Files of weights and models, applications")
    variant("hdf5", default=False, description="Keras's own files")
    variant("images", default=False, description="Images in files and folders")
    variant("mpi", default=False, description="Replicas on several processes")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("xtensor@0.24:0.25")
    depends_on("xsimd@8.1:")
    with when("+io"):
        depends_on("nlohmann-json")
        depends_on("zlib-api")
        depends_on("libzip")
    depends_on("hdf5", when="+hdf5")
    with when("+images"):
        depends_on("libpng")
        depends_on("jpeg")
    depends_on("mpi", when="+mpi")
    requires("+io", when="+hdf5")
    requires("+io", when="+images")
    requires("%gcc@12:", "%clang@19:", policy="one_of", msg="stagecraft needs GCC 12 or Clang 19")

    def cmake_args(self):
        return [self.define("STAGECRAFT_BUILD_TESTS", False), self.define("STAGECRAFT_BUILD_EXAMPLES", False)]
