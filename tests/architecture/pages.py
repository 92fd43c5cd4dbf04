# SPDX-License-Identifier: BSD-3-Clause
"""What README and the pages of docs/ promise a reader who opens them.

    pages.py

README has at most 180 lines, its first program is examples/00_first.cpp, its first command stands within the first 60
lines; and each link of a page to a file, or to a heading of one, leads somewhere. Prints what does not hold.
"""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
MOST_LINES = 180
LAST_LINE_OF_FIRST_COMMAND = 60
LINK = re.compile(r"\]\(([^()\s]+)\)")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))


@functools.cache
def anchors(path):
    """The fragments of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S), re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def problems_of_links(path):
    for link in LINK.findall(without_code(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, fragment = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if not file.exists():
            yield f"{path.relative_to(ROOT)}: the link {link} leads nowhere"
        elif fragment and file.suffix == ".md" and fragment not in anchors(file):
            yield f"{path.relative_to(ROOT)}: the link {link} names no heading of {file.relative_to(ROOT)}"


def problems_of_readme():
    text = README.read_text(encoding="utf-8")
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        yield f"README.md has {len(lines)} lines, more than {MOST_LINES}"
    if "```sh" not in lines[:LAST_LINE_OF_FIRST_COMMAND]:
        yield f"README.md has no command within its first {LAST_LINE_OF_FIRST_COMMAND} lines"
    example = (ROOT / "examples" / "00_first.cpp").read_text(encoding="utf-8")
    program = re.sub(r"\A(//[^\n]*\n)+", "", example)
    if blocks(text, "cpp")[:1] != [program]:
        yield "README.md: its first program is not examples/00_first.cpp"


def pages():
    # errors.in.md becomes pages in another folder, where its links are looked at.
    found = [path for folder in ("", "docs", "docs/errors", "examples") for path in sorted((ROOT / folder).glob("*.md"))]
    return [path for path in found if path.name != "errors.in.md"]


def main():
    found = [*problems_of_readme(), *(text for path in pages() for text in problems_of_links(path))]
    print("\n".join(found) if found else "the pages hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
