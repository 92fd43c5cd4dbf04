# SPDX-License-Identifier: BSD-3-Clause
"""A compiler that cannot read the library says one sentence, whichever header a program begins with.

    old_compilers.py g++ clang++-19 ...

Each header that README, docs and examples include, and the single header, are compiled as C++17, and by Clang 14 as
C++20 where it is installed: the first error says what is needed, and the second ends the compilation. Clang reads on
after that, in silence, so that it only preprocesses here."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r"#include <(stagecraft/[^>]+)>")
NEEDS = "stagecraft needs "
OLD = "clang++-14"


def entry_headers():
    files = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("examples/*.cpp"))]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    # What compilers print holds names of the library's own headers, but no line that includes one.
    return sorted(set(INCLUDE.findall(text)))


def problem(compiler, standard, folder, header):
    """What is wrong with the output for a program that includes a header; None if nothing is."""
    how = ["-E", "-o", "/dev/null"] if "clang" in compiler else ["-fsyntax-only"]
    command = [compiler, f"-std={standard}", *how, f"-I{folder}", "-x", "c++", "-"]
    program = f"#include <{header}>\nnamespace sc = stagecraft;\nsc::shape x;\n"
    run = subprocess.run(command, input=program, capture_output=True, text=True, check=False)
    errors = [line for line in run.stderr.splitlines() if re.search(r"\berror:", line)]
    if run.returncode == 0 or not errors or NEEDS not in errors[0] or len(errors) > 2:
        return f"{compiler} -std={standard}, <{header}>:\n" + "\n".join(errors[:5])
    return None


def main(compilers):
    tried = [(compiler, "c++17") for compiler in compilers] + [(OLD, "c++20")] * bool(shutil.which(OLD))
    headers = entry_headers()
    with tempfile.TemporaryDirectory() as single:
        made = pathlib.Path(single) / "stagecraft" / "stagecraft.hpp"
        subprocess.run([sys.executable, ROOT / "tools" / "amalgamate.py", "--output", made], check=True)
        found = [problem(*way, ROOT / "include", header) for way in tried for header in headers]
        found += [problem(*way, single, "stagecraft/stagecraft.hpp") for way in tried]
    for text in filter(None, found):
        print(text)
    print(f"{len(headers)} headers and the single one, {len(tried)} compilers")
    return 1 if any(found) or len(headers) < 5 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
