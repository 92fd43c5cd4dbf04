# SPDX-License-Identifier: BSD-3-Clause
# A Conan 2 recipe: `conan create packaging/conan`. Options choose the components that need libraries.
import pathlib

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

NEEDS = {"io": ["nlohmann_json::nlohmann_json", "zlib::zlib", "libzip::libzip"], "hdf5": ["hdf5::hdf5"], "images": ["libpng::libpng", "libjpeg::libjpeg"]}


class Stagecraft(ConanFile):
    name = "stagecraft"
    license = "BSD-3-Clause"
    description = "Keras models, pipeline stages and training, checked and planned by the C++ compiler"
    topics = ("machine-learning", "keras", "pipelining", "ipu", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_io": [True, False], "with_hdf5": [True, False], "with_images": [True, False]}
    default_options = {"with_io": True, "with_hdf5": False, "with_images": False}
    no_copy_source = True

    def set_version(self):
        header = load(self, pathlib.Path(self.recipe_folder, "..", "..", "include", "stagecraft", "version.hpp"))
        numbers = [line.split("=")[1].strip(" ;") for line in header.splitlines() if line.startswith("inline constexpr int version_")]
        self.version = ".".join(numbers)

    def export_sources(self):
        root = pathlib.Path(self.recipe_folder, "..", "..")
        for pattern in ("include/*", "cmake/*", "CMakeLists.txt", "LICENSE", "README.md"):
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("xtensor/0.24.7")
        self.requires("xsimd/9.0.1")
        if self.options.with_io:
            self.requires("nlohmann_json/3.11.3")
            self.requires("zlib/[>=1.2.11 <2]")
            self.requires("libzip/1.10.1")
        if self.options.with_hdf5:
            self.requires("hdf5/1.14.3")
        if self.options.with_images:
            self.requires("libpng/[>=1.6 <2]")
            self.requires("libjpeg/9e")

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for variable in ("STAGECRAFT_BUILD_TESTS", "STAGECRAFT_BUILD_EXAMPLES"):
            toolchain.cache_variables[variable] = False
        toolchain.generate()

    def package(self):
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder, "licenses"))
        copy(self, "*", pathlib.Path(self.source_folder, "include"), pathlib.Path(self.package_folder, "include"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.component("pipeline", [])
        self.component("stagecraft", ["pipeline", "xtensor::xtensor", "xsimd::xsimd"], system_libs=["pthread"])
        self.component("report", ["stagecraft"])
        if self.options.with_io:
            self.component("zlib", ["stagecraft", "zlib::zlib"])
            self.component("json", ["report", "nlohmann_json::nlohmann_json"])
            self.component("io", ["stagecraft", *NEEDS["io"]])
        for option, name in ((self.options.with_hdf5, "hdf5"), (self.options.with_images, "images")):
            if option:
                self.component(name, ["io", *NEEDS[name]])

    def component(self, name, requires, system_libs=()):
        part = self.cpp_info.components[name]
        part.set_property("cmake_target_name", f"stagecraft::{name}")
        part.set_property("pkg_config_name", "stagecraft" if name == "stagecraft" else f"stagecraft-{name}")
        part.requires, part.system_libs, part.bindirs, part.libdirs = requires, list(system_libs), [], []
