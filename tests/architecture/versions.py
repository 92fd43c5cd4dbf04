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
          "CITATION.cff": r"^version: ([\d.]+)$"}


def main():
    header = (ROOT / "include" / "stagecraft" / "version.hpp").read_text(encoding="utf-8")
    version = ".".join(re.findall(r"int version_\w+ = (\d+);", header))
    wrong = []
    for name, pattern in PLACES.items():
        found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.M)
        if not found or found[1] != version:
            wrong.append(f"{name} names version {found[1] if found else 'none'}; include/stagecraft/version.hpp has {version}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
