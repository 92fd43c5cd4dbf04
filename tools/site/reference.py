# SPDX-License-Identifier: BSD-3-Clause
"""The reference: a page for each header that declares words of users, made from the docstrings by doxygen's XML.

    python3 tools/site/reference.py <folder>      writes the pages into the folder
    python3 tools/site/reference.py --check       fails if a word of users has no docstring

Words of users are those of tests/architecture/users_words.py in stagecraft:: itself, and in the namespaces of families
(FAMILIES) what README, docs/ or an example names. The options that a word takes stand with it."""
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from collections import defaultdict

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "architecture"))
import users_words  # noqa: E402

FAMILIES = ["layers", "losses", "metrics", "optimizers", "optimizers::schedules", "initializers", "regularizers", "constraints",
            "callbacks", "data", "datasets", "applications", "serving"]
# Folders of include/stagecraft/ as chapters, in the order in which a reader meets them; what is none of them is the last.
CHAPTERS = {"models": "Models", "layers": "Layers", "activations": "Activations", "initializers": "Initializers", "regularizers": "Regularizers",
            "constraints": "Constraints", "description": "Training descriptions", "losses": "Losses", "metrics": "Metrics", "optimizers": "Optimizers",
            "training": "Training", "callbacks": "Callbacks", "data": "Data", "datasets": "Datasets", "host": "Machines", "machines": "Machines", "pipeline": "Pipelines",
            "ipu": "Emulated IPUs", "report": "Reports and pictures", "io": "Files", "serving": "Serving", "applications": "Applications",
            "graph": "Layers of your own", "operations": "Layers of your own", "diagnostics": "Errors", "": "The rest"}


class Entity:
    """A word of users: a struct, function, alias, variable, enumeration or concept, as doxygen has it."""

    def __init__(self, element, name):
        self.element, self.name = element, name
        self.kind = element.get("kind")
        place = element.find("location")
        self.header = pathlib.PurePosixPath(place.get("file"))
        self.line = int(place.get("line"))

    def docs(self):
        return described(self.element)


def inline(element):
    """The text of a paragraph as Markdown."""
    parts = [escaped(element.text)]
    for child in element:
        body = inline(child)
        if child.tag == "computeroutput":
            body = f"`{''.join(child.itertext())}`"
        elif child.tag == "emphasis":
            body = f"*{body}*"
        elif child.tag == "bold":
            body = f"**{body}**"
        elif child.tag == "ulink":
            body = f"[{body}]({child.get('url')})"
        elif child.tag in ("programlisting", "verbatim", "itemizedlist", "orderedlist", "parameterlist", "simplesect", "table"):
            body = "\n\n" + block(child) + "\n\n"
        parts += [body, escaped(child.tail)]
    return "".join(parts)


def escaped(text):
    return re.sub(r"([*_<>\[\]|])", r"\\\1", text or "")


def block(element):
    """A part of a docstring as Markdown."""
    if element.tag == "programlisting":
        return "```cpp\n" + "\n".join(listing_line(line) for line in element.iter("codeline")) + "\n```"
    if element.tag == "verbatim":
        return "```cpp\n" + (element.text or "").strip("\n") + "\n```"
    if element.tag in ("itemizedlist", "orderedlist"):
        return "\n".join("- " + " ".join(inline(part).strip() for part in item) for item in element.findall("listitem"))
    if element.tag == "parameterlist":
        return "\n".join(f"- `{''.join(item.find('parameternamelist').itertext()).strip()}`: "
                         f"{' '.join(inline(part).strip() for part in item.find('parameterdescription'))}" for item in element.findall("parameteritem"))
    if element.tag == "simplesect":
        return f"{element.get('kind').capitalize()}: " + " ".join(inline(part).strip() for part in element)
    return inline(element).strip()


def listing_line(line):
    """A line of code; doxygen writes spaces as elements."""
    text = ""
    for part in line.iter():
        text += (" " if part.tag == "sp" else part.text or "") if part is not line else ""
        text += part.tail or "" if part is not line else ""
    return text.rstrip()


def described(element):
    """The docstring of a declaration as Markdown."""
    parts = []
    for tag in ("briefdescription", "detaileddescription"):
        for child in element.find(tag) if element.find(tag) is not None else ():
            parts.append(block(child))
    text = "\n\n".join(part for part in parts if part)
    return re.sub(r"\bE([1-5])(\d{3})\b", r"[E\1\2](../errors/E\1xxx.md#e\1\2)", text)


def text_of(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip() if element is not None else ""


def cell(text):
    """A text in a table: one line; what needs more becomes a sentence of it."""
    text = re.sub(r"```cpp\n(.*?)\n```", lambda code: "`" + " ".join(code[1].split()) + "`", text, flags=re.S)
    return re.sub(r"\s*\n\s*", " ", text).replace("|", "\\|").replace("\\\\|", "\\|")


def code_cell(text):
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def members(element, kind):
    """Public members of a type, in the order of their lines."""
    found = [each for each in element.iter("memberdef") if each.get("kind") == kind and each.get("prot") == "public" and each.get("static") == "no"]
    return sorted(found, key=lambda each: int(each.find("location").get("line")))


class Reference:
    def __init__(self, folder):
        self.types, self.others = {}, defaultdict(list)
        for path in sorted(pathlib.Path(folder).glob("*.xml")):
            if path.name == "index.xml":
                continue
            for compound in xml.parse(path).getroot():
                name = compound.findtext("compoundname", "").replace(" ", "")
                if compound.get("kind") in ("struct", "class", "concept", "union"):
                    self.types[name] = compound
                elif compound.get("kind") == "namespace":
                    for member in compound.iter("memberdef"):
                        self.others[name + "::" + member.findtext("name")].append(member)

    def find(self, qualified):
        """What a name stands for: its type, or all its overloads."""
        if qualified in self.types:
            return [Entity(self.types[qualified], qualified)]
        return [Entity(member, qualified) for member in self.others.get(qualified, [])]

    def words(self):
        """The words of users, by their headers."""
        pages, known = defaultdict(dict), set()
        documented = users_words.documented(ROOT)
        names = []
        for path in sorted((ROOT / "include" / "stagecraft").rglob("*.hpp")):
            text = path.read_text(encoding="utf-8").splitlines()
            for number, name in users_words.names_of(path):
                used = re.match(r"using (\w[\w:]*);", text[number - 1])
                names.append("stagecraft::" + (used[1] if used else name))
        spaces = {f"stagecraft::{family}" for family in FAMILIES}
        names += [name for name in [*self.types, *self.others]
                  if name.rpartition("::")[0] in spaces and name.rpartition("::")[2] in documented]
        for name in names:
            if name in known:
                continue
            known.add(name)
            if found := self.find(name):
                pages[found[0].header][name] = found
        return pages

    # -- pages ----------------------------------------------------------------------------------------------------------------

    def type_table(self, title, element, names=None):
        rows = []
        for member in members(element, "variable"):
            name, value = member.findtext("name"), text_of(member.find("initializer")).lstrip("= ")
            if (names is not None and name not in names) or name == "options":
                continue
            rows.append(f"| `{name}` | {code_cell(text_of(member.find('type')))} | {code_cell(value)} | {cell(described(member))} |")
        return [f"**{title}**", "", "| name | type | default | |", "|---|---|---|---|", *rows, ""] if rows else []

    def type_section(self, entity):
        element, out = entity.element, []
        usage = next((text_of(each.find("initializer")) for each in element.iter("memberdef") if each.findtext("name") == "usage"), "")
        if quoted := re.findall(r'"((?:[^"\\]|\\.)*)"', usage):
            out += ["```cpp", *[line.strip() for line in re.split(r", (?=\w+\{)| or (?=\w+\{)", "".join(quoted))], "```", ""]
        out += [entity.docs(), ""]
        arguments = next((text_of(each.find("type")) for each in element.iter("memberdef") if each.findtext("name") == "arguments"), "")
        listed = re.findall(r"::(\w+)", arguments.partition("<")[2]) if arguments else None
        out += self.type_table("Arguments" if listed else "Members", element, listed)
        option = next((each for each in members(element, "variable") if each.findtext("name") == "options"), None)
        if option is not None and (options := self.option_type(entity, text_of(option.find("type")))) is not None:
            out += self.type_table("Options, in braces and in this order", options)
        functions = [each for each in members(element, "function")
                     if described(each) and each.findtext("name") != entity.name.rpartition("::")[2] and "operator" not in each.findtext("name")]
        if functions:
            out += ["| function | |", "|---|---|"]
            out += [f"| {code_cell(signature(each))} | {cell(described(each))} |" for each in functions] + [""]
        return out

    def option_type(self, entity, name):
        name = name.partition("<")[0].strip()
        space = entity.name
        while space:
            space = space.rpartition("::")[0]
            if (full := f"{space}::{name}" if space else name) in self.types:
                return self.types[full]
        return None

    def section(self, name, found):
        first = found[0]
        words = name.removeprefix("stagecraft::")
        out = [f"## {words.replace('_', chr(92) + '_')}", ""]
        if first.kind in ("struct", "class", "union"):
            out += self.type_section(first)
        elif first.kind == "enum":
            out += [first.docs(), "", "| value | |", "|---|---|"]
            out += [f"| `{value.findtext('name')}` | {cell(described(value))} |" for value in first.element.findall("enumvalue")] + [""]
        elif first.kind == "concept":
            out += [first.docs(), ""]
        else:
            for each in found:
                out += ["```cpp", declaration(each.element), "```", "", each.docs(), ""]
        return out + [f"<small>`include/{first.header}`, line {first.line}</small>", ""]

    def write(self, folder):
        """The pages, and (chapter, title, page) of each for the navigation."""
        entries = []
        for header, words in sorted(self.words().items()):
            text = (ROOT / "include" / header).read_text(encoding="utf-8").splitlines()
            about = re.match(r"// (.*)", text[1])[1] if len(text) > 1 and text[1].startswith("// ") else ""
            title = ", ".join(sorted({name.rpartition("::")[2] for name in words}, key=lambda name: [n.rpartition("::")[2] for n in words].index(name)))
            if len(words) > 3:
                title = header.stem.replace("_", " ")
            lines = [f"# {title.replace('_', chr(92) + '_')}", "", about, "", "```cpp", f"#include <{header}>", "```", ""]
            for name, found in sorted(words.items(), key=lambda each: each[1][0].line):
                lines += self.section(name, found)
            page = "-".join(header.with_suffix("").parts[1:]) + ".md"
            (folder / page).write_text("\n".join(lines) + "\n", encoding="utf-8")
            room = header.parts[1] if len(header.parts) > 2 else ""
            chapter = CHAPTERS["callbacks" if "callbacks" in header.parts else room if room in CHAPTERS else ""]
            entries.append((chapter, title, page))
        return entries


def signature(member):
    text = text_of(member.find("type")) + " " + member.findtext("name") + text_of(member.find("argsstring"))
    text = re.sub(r"\b(?:constexpr|inline|static|explicit\(false\))\s+", "", text)
    return re.sub(r"\s*(?:const)?\s*(?:noexcept)?\s*(?:override|final)?(?: ?=0)?$", "", text).strip()


def declaration(member):
    parameters = member.find("templateparamlist")
    template = ""
    if parameters is not None:
        listed = [text_of(each.find("type")) + (" " + each.findtext("declname") if each.findtext("declname") else "")
                  + (" = " + text_of(each.find("defval")) if each.find("defval") is not None else "") for each in parameters.findall("param")]
        template = f"template <{', '.join(listed)}>\n"
    if member.get("kind") == "typedef":
        return template + f"using {member.findtext('name')} = {text_of(member.find('type'))};"
    text = signature(member)
    value = text_of(member.find("initializer"))
    return template + text + (f" {value}" if member.get("kind") == "variable" and len(value) < 60 else "") + ";"


def read_headers():
    with tempfile.TemporaryDirectory() as folder:
        settings = (ROOT / "tools" / "site" / "Doxyfile").read_text(encoding="utf-8") + f"\nOUTPUT_DIRECTORY = {folder}\n"
        subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        return Reference(pathlib.Path(folder) / "xml")


def check(reference):
    lacking = [f"{found[0].header}:{found[0].line}: {name} has no docstring" for words in reference.words().values()
               for name, found in words.items() if not any(each.docs() for each in found)]
    print("\n".join(sorted(lacking)))
    return 1 if lacking else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(check(read_headers()))
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(len(read_headers().write(pathlib.Path(sys.argv[1]))), "pages")
