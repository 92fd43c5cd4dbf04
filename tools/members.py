# SPDX-License-Identifier: BSD-3-Clause
"""The parts of docs that list members of types, made from the headers: docs/types.md, and the words of `ops` in
docs/own_layers.md.

    python3 tools/members.py            writes them
    python3 tools/members.py --check    fails if they are stale, or if a member has no docstring

A part begins with `<!-- made by tools/members.py from <header>: <type> -->` and ends with `<!-- until here -->`; after the type
may stand ` without a, b`, members that are none of a user's. Members are what is public in the type's body, but for constructors, friends and operators other than () and [].
A docstring is the one above a member, or behind it; overloads without one have the first one's. What every container has needs none."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include" / "stagecraft"
DOCUMENTS = [ROOT / "docs" / name for name in ("types.md", "own_layers.md")]
PART = re.compile(r"<!-- made by tools/members.py from (\S+): (\w+)(?: without ([\w, ]+?))? -->\n.*?<!-- until here -->", re.S)
CONTAINER = {"size": "How many there are.", "empty": "Whether there are none.", "clear": "Leaves none.", "begin": "For loops over all.",
             "end": "For loops over all."}
QUALIFIERS = re.compile(r"\b(?:constexpr|inline|noexcept|override|final|virtual|explicit(?:\([^)]*\))?)\b ?")


def body_of(text, name):
    """What stands in the braces of a type, and whether it begins as private."""
    begin = re.search(rf"\b(struct|class) {name}\b[^;{{(]*\{{", text)
    if not begin:
        sys.exit(f"tools/members.py: no type {name}")
    depth, at = 1, begin.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[begin.end():at - 1], begin[1] == "class"


def statements(body):
    """(comment above, declaration, comment behind) of each member, and labels such as "public:"."""
    at, comment = 0, []
    while at < len(body):
        if blank := re.compile(r"[ \t]*\n(?:[ \t]*\n)*|[ \t]+").match(body, at):
            if body.count("\n", at, blank.end()) > 1:
                comment = []
            at = blank.end()
        elif line := re.compile(r"///<?(.*)\n").match(body, at):
            comment.append(line[1][1:] if line[1].startswith(" ") else line[1])
            at = line.end()
        elif line := re.compile(r"//.*\n|#.*\n").match(body, at):
            comment = []
            at = line.end()
        elif label := re.compile(r"(public|private|protected):").match(body, at):
            yield [], label[0], []
            at, comment = label.end(), []
        else:
            end, depth, round_ = at, 0, 0
            while True:
                letter = body[end]
                round_ += {"(": 1, ")": -1}.get(letter, 0)
                if letter == "{" and round_ == 0 and depth == 0:
                    before = body[at:end].rstrip()
                    is_function = re.search(r"\)[\w\s&:<>,().*=-]*$", before) and not re.search(r"[=(,]$", before)
                depth += {"{": 1, "}": -1}.get(letter, 0)
                end += 1
                if depth == 0 and round_ == 0 and (letter == ";" or letter == "}" and is_function):
                    break
                if depth == 0 and letter == "}" and re.match(r"\s*;", body[end:]) is None and re.match(r"(struct|class|enum)\b", body[at:]):
                    break
            behind = []
            while more := re.compile(r"[ \t]*///<(.*)\n" if not behind else r"[ \t]*(?:///<|//(?=  ))(.*)\n").match(body, end):
                behind.append(more[1].strip())
                end = more.end()
            yield comment, body[at:end], behind
            at, comment = end, []


def sentence(lines):
    """A docstring as one line of a table: to its first example, or its errors' list."""
    kept = []
    for line in lines:
        if line.startswith("    ") or line.startswith("\\param"):
            break
        kept.append(line.strip())
    text = " ".join(kept).strip().rstrip(":")
    text = re.sub(r"\s*Definition: .*?(?=\s(?:Errors|Throws)\b|$)", "", text)
    parts = text.replace("|", "\\|").split("`")
    return "`".join(part if i % 2 else part.replace("<", "\\<") for i, part in enumerate(parts))


def without_verdict(text):
    """A declaration whose result_or_verdict<problem, result> is the result, `void` without one."""
    begin = re.search(r"(?:detail::)?result_or_verdict<", text)
    if not begin:
        return text
    at, depth, comma = begin.end(), 1, None
    while depth:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(text[at], 0)
        if depth == 1 and text[at] == ",":
            comma = at
        at += 1
    return text[:begin.start()] + (text[comma + 1:at - 1].strip() if comma else "void") + text[at:]


def declared(text):
    """A declaration without body and qualifiers, and the name that it declares."""
    text = re.sub(r"///?<?.*", "", text)
    text = re.sub(r"\[\[.*?\]\]\s*", "", text, flags=re.S)
    text = re.sub(r"\s+", " ", text).replace("( ", "(").strip()
    text = QUALIFIERS.sub("", text)
    head = re.match(r"((?:template ?<[^>]*(?:<[^>]*>)?[^>]*> ?)?(?:requires ?(?:\([^()]*(?:\([^()]*\))*[^()]*\)|requires \{.*?\}) )?)(.*)", text)
    template, rest = head[1], head[2]
    rest = re.split(r"\) (?:const ?)?&? ?\{", rest + " ", maxsplit=1)
    is_function = len(rest) > 1 or re.match(r"[^=({]*\(", rest[0]) is not None
    rest = rest[0] + (")" if len(rest) > 1 else "")
    rest = rest.strip().rstrip(";").strip()
    rest = re.sub(r"\) (?:const)?(?: ?= ?(?:0|default|delete))?$", ")", rest)
    rest = re.sub(r"\) const$", ")", rest)
    if not is_function:
        rest = re.sub(r" ?= ?(?:\{[^}]*\}|[^,{]+(?:\{[^}]*\})?)|\{[^}]*\}", "", rest)
    called = re.search(r"operator(?:\(\)|\[\])", rest)
    if called:
        return template, rest, called[0]
    name = re.search(r"(\w+) ?\(", rest) if is_function else re.search(r"(\w+)(?:\[.*\])?$", rest)
    return template, rest, name[1] if name else ""


def members_of(text, type_name, without):
    body, is_private = body_of(text, type_name)
    rows, known, lacking = [], dict(CONTAINER), []
    for above, declaration, behind in statements(body):
        if declaration.endswith(":"):
            is_private = declaration != "public:"
            continue
        if is_private or re.match(r"(friend|using|static_assert|typedef|struct|class|enum)\b|~", declaration.lstrip("[")) or re.search(r"operator(?!\(\)|\[\])", declaration):
            continue
        template, what, name = declared(without_verdict(declaration))
        if not name or name in (type_name, "requires") or name in without or "any_argument" in what or "= delete" in declaration:
            continue
        explanation = sentence(behind or above) or known.get(name, "")
        known.setdefault(name, explanation)
        if not explanation:
            lacking.append(name)
        given = [argument for argument in re.findall(r"(\w+) Name\b", template) if argument == "fixed_name"]
        if given:
            what = re.sub(rf"\b{name}\(", f'{name}<"...">(', what)
        what = re.sub(r"^static ", "", what)
        rows.append((what, explanation))
    return rows, lacking


def part(match):
    header, type_name, without = match[1], match[2], (match[3] or "").replace(" ", "").split(",")
    text = (INCLUDE / header).read_text(encoding="utf-8")
    rows, lacking = members_of(text, type_name, without)
    if lacking:
        sys.exit(f"include/stagecraft/{header}: {type_name} has members without a docstring: {', '.join(lacking)}")
    begin = match[0].split("\n", 1)[0]
    table = "\n".join(f"| `{what}` | {explanation} |" for what, explanation in rows)
    return f"{begin}\n| member | |\n|---|---|\n{table}\n<!-- until here -->"


def main():
    stale = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        made = PART.sub(part, text)
        if made == text:
            continue
        stale.append(document.name)
        if "--check" not in sys.argv:
            document.write_text(made, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"docs/{', docs/'.join(stale)}: members are not as headers have them: run tools/members.py")
    print("written: " + ", ".join(stale) if stale else "members are as headers have them")


if __name__ == "__main__":
    main()
