# SPDX-License-Identifier: BSD-3-Clause
"""Creates the Conan package and its test package, with Debian's libraries in place of ConanCenter's packages.

    conan.py <folder>

The folder becomes Conan's home: packages that only name what is installed (STAND_INS) are made in it, then the recipe of
packaging/conan is created with all its options, and its test package is built and run. Skipped (77) without Conan 2."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECIPE = ROOT / "packaging" / "conan"
FOLDER = pathlib.Path(sys.argv[1]).resolve()
# The names of targets that a package of ConanCenter has, and the libraries of Debian that they link to.
STAND_INS = {"xtensor": ("xtensor", []), "xsimd": ("xsimd", []), "nlohmann_json": ("nlohmann_json::nlohmann_json", []),
             "zlib": ("ZLIB::ZLIB", ["z"]), "libzip": ("libzip::zip", ["zip"]), "hdf5": ("hdf5::hdf5", ["hdf5_serial"]),
             "libpng": ("PNG::PNG", ["png16"]), "libjpeg": ("JPEG::JPEG", ["jpeg"])}
STAND_IN = """from conan import ConanFile


class StandIn(ConanFile):
    name, version = "{name}", "{version}"

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = self.cpp_info.includedirs = []
        self.cpp_info.set_property("cmake_target_name", "{target}")
        self.cpp_info.system_libs = {libraries}
"""


def conan(*arguments):
    print("conan", *arguments, flush=True)
    subprocess.run(["conan", *arguments], check=True, env=os.environ | {"CONAN_HOME": str(FOLDER / "home")}, stdout=sys.stderr)


def main():
    if shutil.which("conan") is None or not subprocess.run(["conan", "--version"], capture_output=True, text=True).stdout.startswith("Conan version 2"):
        print("skipped: no Conan 2")
        return 77
    shutil.rmtree(FOLDER, ignore_errors=True)
    conan("profile", "detect")
    wanted = dict(re.findall(r'requires\("(\w+)/([^"]+)"\)', (RECIPE / "conanfile.py").read_text(encoding="utf-8")))
    for name, version in wanted.items():
        exact = re.search(r"[\d.]+\d|\d\w*", version)[0]  # the least of a range
        target, libraries = STAND_INS[name]
        place = FOLDER / name
        place.mkdir(parents=True)
        (place / "conanfile.py").write_text(STAND_IN.format(name=name, version=exact + (".0" if "." not in exact and exact.isdigit() else ""),
                                                            target=target, libraries=libraries), encoding="utf-8")
        conan("create", place)
    options = [f"-o=&:{name}=True" for name in ("with_io", "with_hdf5", "with_images")]
    conan("create", RECIPE, "-s=compiler.cppstd=20", "-c=tools.build:cxxflags=['-O0']", f"-c=tools.cmake.cmake_layout:test_folder={FOLDER / 'test'}",
          *options)
    print("the test package ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
