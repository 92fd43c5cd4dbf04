# SPDX-License-Identifier: BSD-3-Clause
"""What README and the pages of docs/ promise a reader who opens them.

    pages.py

README has at most 180 lines, its first program is examples/00_first.cpp, its first command stands within the first 60
lines; each model and each option of include/stagecraft/applications/ stands in the section "Applications" of
docs/keras.md, with the layers and parameters that its header says; each link of a page to a file, or to a heading
of one, leads somewhere; and a page has at most 256 kB, which hosts of repositories still render. Prints what does not hold.
"""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
MOST_LINES = 180
LAST_LINE_OF_FIRST_COMMAND = 60
MOST_BYTES = 256_000
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


def problems_of_size(path):
    size = path.stat().st_size
    if size > MOST_BYTES:
        yield f"{path.relative_to(ROOT)} has {size} bytes, more than {MOST_BYTES}, beyond which hosts do not render it"


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


def section(text, heading):
    """The text between a heading of the second level and the next one."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found.group(1) if found else ""


def problems_of_applications(headers, page):
    """What a table of applications lacks; `headers` maps names of files to their texts."""
    rows = [line for line in page.splitlines() if line.startswith("|")]
    for name, text in headers.items():
        for model in re.findall(r"^struct (\w+) : functional<", text, re.M):
            words = [f"`sc::applications::{model}`", f"`<stagecraft/applications/{name}>`",
                     *re.findall(r"[\d,]+(?= layers, the input included)|[\d,]+(?=\s+(?:///\s+)?parameters)", text)]
            if not any(all(f"| {word} |" in row for word in words) for row in rows):
                yield f"docs/keras.md: its section Applications has no row with {', '.join(words)}"
        options = re.search(r"^struct application_options \{(.*?)^\};", text, re.M | re.S)
        for field in re.findall(r"(\w+) = ", options.group(1)) if options else []:
            if not any(f"`{field}`" in row for row in rows):
                yield f"docs/keras.md: its section Applications has no row for the option {field}"


def applications():
    headers = {path.name: path.read_text(encoding="utf-8")
               for path in sorted((ROOT / "include" / "stagecraft" / "applications").glob("*.hpp"))}
    return headers, section((ROOT / "docs" / "keras.md").read_text(encoding="utf-8"), "Applications")


def pages():
    # errors.in.md becomes pages in another folder, where its links are looked at.
    found = [path for folder in ("", "docs", "docs/errors", "examples") for path in sorted((ROOT / folder).glob("*.md"))]
    return [path for path in found if path.name != "errors.in.md"]


def main():
    found = [*problems_of_readme(), *problems_of_applications(*applications()), *(text for path in pages() for check in (problems_of_links, problems_of_size) for text in check(path))]
    print("\n".join(found) if found else "the pages hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
