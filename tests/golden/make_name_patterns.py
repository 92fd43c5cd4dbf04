# SPDX-License-Identifier: BSD-3-Clause
"""name_patterns.txt: what Python's re.match says of regular expressions and names. Needs nothing but Python.

Run: python make_name_patterns.py
"""

import random
import re
import warnings

warnings.simplefilter("ignore")
random.seed(5)

CHOSEN = [
    ("^conv[1-3]_", "conv2_block1_1_conv"), ("^conv[1-3]_", "conv4_block1_1_conv"), ("conv", "my_conv"),
    (".*conv", "my_conv"), (".*_(conv|bn)$", "conv2_block1_1_bn"), (".*_(conv|bn)$", "conv2_block1_1_bn_"),
    ("dense_\\d+", "dense_12"), ("dense_\\d+", "dense_"), ("dense(_[0-9]{1,2})?$", "dense"), ("", ""), ("", "dense"),
    ("^$", ""), ("^$", "a"), ("a|", "b"), ("(a*)*b", "aaaac"), ("(a|aa)+$", "aaaab"), ("[^_]+_[^_]+$", "a_b"), ("[^_]+_[^_]+$", "a_b_c"),
    ("[]a]+$", "]a]"), ("[a-]+$", "a-a"), ("[\\w.-]+$", "block_1.0-a"), ("x{2}$", "xx"), ("x{2}$", "xxx"),
    ("x{2,}$", "xxxxx"), ("x{,2}$", "xxx"), ("x{a}", "x{a}"), ("{", "{"), ("a{,}", "a"), ("\\bconv\\b", "conv-1"),
    ("conv\\b", "conv_1"), ("conv\\B", "conv_1"), ("a+?b??c*?$", "aac"), ("(?:ab)+$", "abab"), ("(", ""), (")", ""),
    ("a)", "a"), ("[a", "a"), ("[z-a]", "a"), ("*", ""), ("a**", "a"), ("a{3,2}", "a"), ("\\", "a"), ("\\q", "q"),
    ("(?i)a", "A"), ("(a)\\1", "aa"), ("a(?=b)", "ab"), ("^*", ""), ("$+", ""), ("a\\Z", "a"), ("\\Aa", "a"),
]
UNSUPPORTED = re.compile(r"[*+?}]\+|\\[0-9]|\(\?[^:]")  # x*+ came with Python 3.11


def atom(depth):
    kind = random.random()
    if kind < .45:
        return random.choice("abc_12")
    if kind < .52:
        return "."
    if kind < .6:
        return "\\" + random.choice("dwsDWS._-")
    if kind < .72:
        entries = ["a", "b-c", "1-2", "\\d", "_", "-", "]a", "a-", "\\w", "^"]
        return "[" + random.choice(["", "^"]) + "".join(random.choices(entries, k=random.randint(1, 3))) + "]"
    if kind < .78:
        return random.choice(["^", "$", "\\b", "\\B", "\\A", "\\Z"])
    return random.choice(["(", "(?:"]) + alternatives(depth - 1) + ")" if depth > 0 else "a"


def repeated(depth):
    signs = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{0}", "{,}", "{", "{a", "{2,1}", "{}", "{0,3}", "{2,4}"]
    sign = random.choice(signs) + random.choice(["", "", "", "?"]) if random.random() < .4 else ""
    return atom(depth) + sign


def alternatives(depth):
    count = random.choice([1, 1, 1, 2, 3])
    return "|".join("".join(repeated(depth) for _ in range(random.randint(0, 4))) for _ in range(count))


def junk():
    return "".join(random.choices("ab1_()[]{}*+?|^$\\.-,2dwZ", k=random.randint(0, 9)))


def result(pattern, name):
    try:
        return "1" if re.match(pattern, name, re.ASCII) else "0"
    except re.error:
        return "error"


cases = [(pattern, name, "error" if UNSUPPORTED.search(pattern) else result(pattern, name)) for pattern, name in CHOSEN]
while len(cases) < 2000:
    pattern = alternatives(2) if random.random() < .7 else junk()
    name = "".join(random.choices("aabbcc_12.-]{ ", k=random.randint(0, 8)))
    if len(pattern) < 40 and not UNSUPPORTED.search(pattern):
        cases.append((pattern, name, result(pattern, name)))

with open("name_patterns.txt", "w", encoding="utf-8", newline="\n") as file:
    print("# What Python's re.match (re.ASCII) says of patterns: pattern, name and 1, 0 or error, between tabs.", file=file)
    print("# Made by make_name_patterns.py; do not edit.", file=file)
    for case in cases:
        print(*case, sep="\t", file=file)
