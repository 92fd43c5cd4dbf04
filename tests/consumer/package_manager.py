# SPDX-License-Identifier: BSD-3-Clause
"""Installs the package of Spack or vcpkg with all its components, and builds and runs a program with what is installed.

    package_manager.py spack|vcpkg <folder>

Debian's libraries stand for what the recipe depends on, so that nothing is loaded from other hosts: external packages of
Spack, empty ports of vcpkg. Skipped (77) where the package manager is not on the path (or VCPKG_ROOT is not set)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the recipe depends on -> Debian's package, whose version Spack is told.
EXTERNAL = {"cmake": "cmake", "gmake": "make", "xtensor": "libxtensor-dev", "xsimd": "libxsimd-dev",
            "nlohmann-json": "nlohmann-json3-dev", "zlib": "zlib1g-dev", "libzip": "libzip-dev", "hdf5": "libhdf5-dev",
            "libpng": "libpng-dev", "libjpeg-turbo": "libjpeg62-turbo-dev", "openmpi": "libopenmpi-dev"}
COMPONENTS = ["io", "hdf5", "images", "mpi"]


def run(*command, **options):
    print(*command, flush=True)
    return subprocess.run([str(part) for part in command], check=True, **options)


def debian_version(package):
    text = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=True).stdout
    return text.rpartition(":")[2].partition("-")[0].partition("+")[0]


def spack(folder):
    settings, repository = folder / "settings", folder / "repository"
    settings.mkdir()
    shutil.copytree(ROOT / "packaging" / "spack", repository / "packages" / "stagecraft")
    (repository / "repo.yaml").write_text("repo:\n  namespace: stagecraft_test\n", encoding="utf-8")
    externals = {name: {"buildable": False, "externals": [{"spec": f"{name}@{debian_version(package)}", "prefix": "/usr"}]}
                 for name, package in EXTERNAL.items()}
    externals |= {virtual: {"require": name} for virtual, name in {"zlib-api": "zlib", "jpeg": "libjpeg-turbo", "mpi": "openmpi"}.items()}
    places = {"install_tree": {"root": str(folder / "installed")}, "build_stage": [str(folder / "stage")],
              "source_cache": str(folder / "sources"), "misc_cache": str(folder / "cache")}
    builtin = "$spack/var/spack/repos/builtin"  # before Spack 1.0; newer ones have the name in their own settings
    old = (pathlib.Path(shutil.which("spack")).resolve().parents[1] / builtin.removeprefix("$spack/")).is_dir()
    for name, value in {"packages": externals, "config": places, "repos": [str(repository)] + [builtin] * old,
                        "bootstrap": {"enable": False}}.items():
        (settings / f"{name}.yaml").write_text(json.dumps({name: value}), encoding="utf-8")  # JSON is YAML
    environment = os.environ | {"SPACK_DISABLE_LOCAL_CONFIG": "1"}
    command = ["spack", "-C", settings]
    run(*command, "compiler", "find", env=environment)
    wanted = "stagecraft@main" + "".join(f"+{name}" for name in COMPONENTS)
    run(*command, "dev-build", "-d", source_copy(folder), wanted, env=environment)
    return run(*command, "location", "-i", "stagecraft", env=environment, stdout=subprocess.PIPE, text=True).stdout.strip()


def vcpkg(folder):
    manifest = json.loads((ROOT / "packaging" / "vcpkg" / "vcpkg.json").read_text(encoding="utf-8"))
    dependencies = [*manifest["dependencies"], *(entry for feature in manifest["features"].values() for entry in feature["dependencies"])]
    names = {entry if isinstance(entry, str) else entry["name"] for entry in dependencies} - {"stagecraft", "vcpkg-cmake", "vcpkg-cmake-config"}
    for name in names:
        port = folder / "ports" / name
        port.mkdir(parents=True)
        (port / "vcpkg.json").write_text(json.dumps({"name": name, "version": "1"}), encoding="utf-8")
        (port / "portfile.cmake").write_text("set(VCPKG_POLICY_EMPTY_PACKAGE enabled)\n", encoding="utf-8")
    run("vcpkg", "install", f"stagecraft[{','.join(COMPONENTS)}]", f"--overlay-ports={source_copy(folder) / 'packaging' / 'vcpkg'}",
        f"--overlay-ports={folder / 'ports'}", f"--x-install-root={folder / 'installed'}", f"--x-buildtrees-root={folder / 'stage'}",
        f"--x-packages-root={folder / 'packages'}", f"--downloads-root={folder / 'downloads'}", "--no-binarycaching",
        env=os.environ | {"VCPKG_FORCE_SYSTEM_BINARIES": "1", "VCPKG_DISABLE_METRICS": "1"})
    installed = [path for path in (folder / "installed").iterdir() if path.name != "vcpkg"]
    assert len(installed) == 1, installed
    return installed[0]


def source_copy(folder):
    """The files that git knows, without build folders."""
    source = folder / "source"
    for name in subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    return source


def main():
    name, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if shutil.which(name) is None or (name == "vcpkg" and "VCPKG_ROOT" not in os.environ):
        print(f"skipped: no {name}")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    prefix = {"spack": spack, "vcpkg": vcpkg}[name](folder)
    build = folder / "program"
    run("cmake", "-S", ROOT / "packaging" / "conan" / "test_package", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-O0")
    found = next(line for line in (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines() if line.startswith("stagecraft_DIR:"))
    assert str(prefix) in found, found
    run("cmake", "--build", build)
    run(build / "program")
    print(f"the program that was built with {name}'s package ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
