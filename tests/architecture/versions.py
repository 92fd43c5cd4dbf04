# SPDX-License-Identifier: BSD-3-Clause
"""The version is written in include/stagecraft/version.hpp; files of packages that cannot read it there name it again.

    versions.py

Prints each file that names another one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Where a file names the version.
PLACES = {"packaging/debian/changelog": r"^stagecraft \(([\d.]+)\)", "packaging/vcpkg/vcpkg.json": r'"version-semver": "([\d.]+)"',
          "CITATION.cff": r"^version: ([\d.]+)$", ".github/ISSUE_TEMPLATE/bug.yml": r'placeholder: "([\d.]+),'}
# Where a file names it without its last number, each time.
MINOR_PLACES = {"README.md": r"find_package\(stagecraft ([\d.]+)", "docs/building.md": r"find_package\(stagecraft ([\d.]+)",
                "docs/stability.md": r"^This is version ([\d.]+)\.", "tests/consumer/find_package/CMakeLists.txt": r"find_package\(stagecraft ([\d.]+)"}


def main():
    header = (ROOT / "include" / "stagecraft" / "version.hpp").read_text(encoding="utf-8")
    version = ".".join(re.findall(r"int version_\w+ = (\d+);", header))
    wrong = []
    for name, pattern in PLACES.items():
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
        if not found or found[1] != version:
            wrong.append(f"{name} names version {found[1] if found else 'none'}; include/stagecraft/version.hpp has {version}")
    for name, pattern in MINOR_PLACES.items():
        found = set(re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M))
        if found != {version.rpartition(".")[0]}:
            wrong.append(f"{name} names version {', '.join(sorted(found)) or 'none'}; include/stagecraft/version.hpp has {version}")
    released = re.findall(r"^## (\d[\d.]*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    if released[:1] != [version]:
        wrong.append(f"CHANGELOG.md: the newest release is {', '.join(released[:1]) or 'none'}; include/stagecraft/version.hpp has {version}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
