# SPDX-License-Identifier: BSD-3-Clause
"""Namespace stagecraft has users' words only: what no user names is in the namespace of its room.

    python3 users_words.py [folder of the project] [--list]

A word is a user's if README, docs/ or an example names it, or if users_words.txt has it, with a reason. Prints each other name
that a header declares in stagecraft:: itself, as file:line: name, and each word of users_words.txt that nothing declares or
that is documented by now. --list prints all names in stagecraft::."""
import pathlib
import re
import sys

TYPE = re.compile(r"(?:struct|class|union|enum class|enum|concept|using)\s+(?:\[\[.*?\]\]\s*)?(\w+)\s*(<?)")
SKIPPED = re.compile(r"#|//|\}|\{|public:|private:|static_assert|template struct|extern template|:|using namespace|friend")
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.S)


def without_template(head):
    """What stands after `template <...>` and a requires-clause of its own line; None if more lines are needed."""
    while head.startswith("template"):
        depth = 0
        for i, letter in enumerate(head):
            depth += letter == "<"
            depth -= letter == ">" and head[i - 1] != "-"
            if letter == ">" and depth == 0:
                head = head[i + 1:].strip()
                break
        else:
            return None
    return head


def names_of(path):
    """Pairs of line and name. Headers are laid out by clang-format, so that what stands in a namespace begins at the first
    column, and what belongs to it does not."""
    stack, head = [], ""
    opened_at = 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line if line.startswith("}") else re.sub(r"\s*//.*", "", line)
        opened = re.match(r"(?:inline )?namespace ([\w:]+) \{", line)
        if opened:
            if "}" not in line:
                stack.append(opened.group(1))
                opened_at = number
        elif stack and (line.startswith("}  // namespace") or line == "}" and number - opened_at < 4):
            stack.pop()
        elif stack == ["stagecraft"]:
            if head and line[:1] == " ":
                head += " " + line.strip()
            elif line and line[:1] not in " ":
                head = head + " " + line if head and not SKIPPED.match(line) else "" if SKIPPED.match(line) else line
            else:
                continue
            code = without_template(head.strip())
            if code is None or not code or re.match(r"requires\b", code) and not re.search(r"\b(?:constexpr|struct|class|using|concept) ", code):
                continue
            code = re.sub(r"^requires\b.*?(?=\b(?:inline|constexpr|struct|class|using|\[\[)\b)", "", code)
            code = re.sub(r"\[\[\w+(?:\(.*?\))?\]\]\s*", "", code)
            found = re.match(r"using (?:\w+::)+(\w+);()", code) or TYPE.match(code)
            if found:
                if found.group(2) != "<":
                    yield number, found.group(1)
                head = ""
                continue
            before = re.split(r"[({=;]", code, maxsplit=1)
            if len(before) == 1 and not code.endswith(";"):
                continue
            word = re.search(r"([\w:~]+)\s*(?:<[^<>]*>)?\s*$", re.sub(r"^.*operator", "operator", before[0]))
            if word and "::" not in word.group(1) and "operator" not in before[0] and not before[0].rstrip().endswith(">") and " " in before[0]:
                yield number, word.group(1)
            head = ""


def documented(root):
    """What users read names: stagecraft's words anywhere in it, and words in code of the documents."""
    files = [root / "README.md", *(p for p in (root / "docs").glob("*.md") if p.name not in ("errors.md", "errors.in.md")),
             *(root / "examples").rglob("*.?pp"), *(root / "tests" / "consumer").rglob("*.?pp")]
    words = set()
    for path in files:
        text = path.read_text(encoding="utf-8")
        words.update(re.findall(r"\b(?:sc|stagecraft)::(\w+)", text))
        if path.suffix == ".md":
            for code in CODE.findall(text):
                words.update(re.findall(r"\w+", code))
    return words


def listed(path):
    """The words of users_words.txt: lines of words below a comment with their reason."""
    return {word for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#") for word in line.split()}


def main(root, show):
    include = root / "include" / "stagecraft"
    declared = {}
    for path in sorted(include.rglob("*.hpp")):
        for number, name in names_of(path):
            declared.setdefault(name, f"{path.relative_to(root)}:{number}: {name}")
    words, reasons = documented(root), listed(root / "tests" / "architecture" / "users_words.txt")
    if show:
        print(*sorted(declared))
        return 0
    problems = [f"{place} is no user's word: it belongs in the namespace of its room"
                for name, place in declared.items() if name not in words and name not in reasons]
    problems += [f"tests/architecture/users_words.txt: nothing in stagecraft:: is named {name}" for name in sorted(reasons - declared.keys())]
    problems += [f"tests/architecture/users_words.txt: {name} is documented, and needs no line" for name in sorted(reasons & words)]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--list"]
    sys.exit(main(pathlib.Path(arguments[0] if arguments else __file__).resolve().parents[0 if arguments else 2]
                  if not arguments else pathlib.Path(arguments[0]).resolve(), "--list" in sys.argv))
