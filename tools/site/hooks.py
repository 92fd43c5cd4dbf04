# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the site that do not lie in docs/: README, the changelog and their like, the examples, and the reference; and
links of the repository, as they must be between these pages."""
import pathlib
import posixpath
import re
import sys
import tempfile

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reference  # noqa: E402

# Files of the repository, and their pages.
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changes.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md",
         "CODE_OF_CONDUCT.md": "code_of_conduct.md", "packaging/README.md": "packages.md", "examples/README.md": "examples/index.md"}
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.cpp"))
PAGES |= {f"examples/{name}": f"examples/{name.removesuffix('.cpp')}.md" for name in EXAMPLES}
FOLDERS = {"examples": "examples/README.md", "examples/": "examples/README.md"}
# Lines of 100 letters of code, and names of options in one piece.
STYLE = """.md-grid { max-width: 78rem }
.md-typeset table:not([class]) td:first-child code { white-space: nowrap }
"""
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.M | re.S)


def page_of(path):
    """The page of a file of the repository; None if it has none."""
    path = FOLDERS.get(path, path)
    return PAGES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else None)


def with_links_between_pages(text, source):
    """Markdown whose links lead from page to page; what has no page is left as text."""
    page = page_of(source)

    def changed(link):
        image, label, target = link.groups()
        path, hash_, fragment = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return link[0]
        other = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if other is None:
            return label
        return f"{image}[{label}]({posixpath.relpath(other, posixpath.dirname(page) or '.')}{hash_}{fragment})"

    return "".join(part if i % 2 else LINK.sub(changed, part) for i, part in enumerate(CODE.split(text)))


def page_of_example(name):
    """An example's first comment as text, its pictures, its program."""
    lines = (ROOT / "examples" / name).read_text(encoding="utf-8").splitlines()[1:]
    count = next((i for i, line in enumerate(lines) if not line.startswith("//")), 0)
    about = " ".join(line.lstrip("/ ") for line in lines[:count])
    program = "\n".join(lines[count:]).strip()
    return f"# {name.removesuffix('.cpp')}\n\n{reference.escaped(about)}\n\n```cpp\n{program}\n```\n"


def on_files(files, config):
    files.append(File.generated(config, "site.css", content=STYLE))
    for name in ("digits.wasm", "first.wasm"):
        module = ROOT / "build/web" / name  # tools/site/web.py
        if module.exists():
            files.append(File.generated(config, name, abs_src_path=str(module)))
    for source, page in PAGES.items():
        text = page_of_example(source.removeprefix("examples/")) if source.endswith(".cpp") else (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    with tempfile.TemporaryDirectory() as folder:
        entries = reference.read_headers().write(pathlib.Path(folder))
        for _, _, page in entries:
            files.append(File.generated(config, f"reference/{page}", content=(pathlib.Path(folder) / page).read_text(encoding="utf-8")))
    chapters = {}
    for chapter, title, page in entries:
        chapters.setdefault(chapter, []).append({title: f"reference/{page}"})
    order = list(dict.fromkeys(reference.CHAPTERS.values()))
    config.nav.insert(2, {"Examples": ["examples/index.md", *({name.removesuffix(".cpp"): PAGES[f"examples/{name}"]} for name in EXAMPLES)]})
    config.nav.insert(3, {"Reference": [{chapter: chapters[chapter]} for chapter in order if chapter in chapters]})
    return files


def on_page_markdown(markdown, page, config, files):
    source = next((source for source, made in PAGES.items() if made == page.file.src_uri), None)
    if source is None and page.file.src_uri.startswith("reference/"):
        return markdown
    return with_links_between_pages(markdown, source or f"docs/{page.file.src_uri}")
