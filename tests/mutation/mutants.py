#!/usr/bin/env python3
"""mutants.py IN OUT LIST FIRST - puts all mutants of a header into one copy.

Each comparison in the parts that meet foreign bytes is replaced by a choice:
    (ljmut_is(17) ? a <= b : ljmut_is(18) ? a < (b) + 1 : a < b)
so that one build holds all mutants and the environment picks one. LIST gets a
line for each: number, file:line, function, what it was, what it becomes.
"""
import re
import sys

# Parts (rule lines) that are mutated.
PARTS = {
    "Allocator and limits", "Checked arithmetic and cursor", "Decoder",
    "AVL tree and symbols", "ELF images and symbols",
}

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|\d+)[uUlL]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=
        |[-+*/%&|^~!<>=?:;,.(){}\[\]])
  | (?P<space>\s+)
""", re.X | re.M | re.S)

COMPARE = {"<", "<=", ">", ">=", "==", "!="}
SHIFTED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
# Operators that bind weaker than a comparison, and what ends an expression.
STOP = {"&&", "||", "?", ":", ",", ";", "=", "{", "}", "^", "|",
        "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
OPEN, CLOSE = {"(", "["}, {")", "]"}


class Token:
    def __init__(self, kind, text, off):
        self.kind, self.text, self.off = kind, text, off

    @property
    def end(self):
        return self.off + len(self.text)


def tokens(source):
    out, pos = [], 0
    while pos < len(source):
        m = TOKEN.match(source, pos)
        if not m:
            sys.exit(f"mutants.py: no token at {source[pos:pos + 40]!r}")
        if m.lastgroup not in ("comment", "space", "directive"):
            out.append(Token(m.lastgroup, m.group(), pos))
        pos = m.end()
    return out


def binary(toks, i):
    """Is the operator at i binary (not unary & or *)?"""
    before = toks[i - 1]
    if before.text == ")" and toks[i - 2].text == "*":
        return False  # behind a cast to a pointer
    return before.kind in ("name", "number", "string") and \
        before.text not in ("return", "case", "sizeof") or \
        before.text in (")", "]")


def stops(toks, i):
    t = toks[i]
    if t.kind == "name":
        return t.text in ("return", "case", "else", "do", "goto")
    if t.kind != "op":
        return False
    return t.text in STOP or t.text == "&" and binary(toks, i)


def left_of(toks, i, weak):
    """First token of the operand that ends before i."""
    depth = 0
    while True:
        t = toks[i - 1]
        if t.text in CLOSE:
            depth += 1
        elif t.text in OPEN:
            if depth == 0:
                return i
            depth -= 1
        elif depth == 0 and (stops(toks, i - 1) or t.text in weak):
            return i
        i -= 1


def right_of(toks, i, weak):
    """Behind the last token of the operand that starts at i."""
    depth = 0
    while True:
        t = toks[i]
        if t.text in OPEN:
            depth += 1
        elif t.text in CLOSE:
            if depth == 0:
                return i
            depth -= 1
        elif depth == 0 and (stops(toks, i) or t.text in weak):
            return i
        i += 1


def constant(toks, a, b):
    """Is the operand a number or the name of one (not 0, not NULL)?"""
    if b - a != 1:
        return False
    t = toks[a]
    return t.kind == "number" and int(re.sub("[uUlL]", "", t.text), 0) != 0 \
        or bool(re.fullmatch(r"LJ[MP]I?_(?!OK$|END$|MORE$|E_)[A-Z0-9_]+",
                             t.text))


def functions(source, toks):
    """Yields (name, part, first token, last token) of each body to mutate."""
    rules = [(m.start(), m.group(1)) for m in
             re.finditer(r"^/\* -- (.*?[^ -]) -+ \*/$", source, re.M)]
    depth, name, start = 0, None, None
    for i, t in enumerate(toks):
        if t.text == "{":
            column = t.off - (source.rfind("\n", 0, t.off) + 1)
            if depth == 0 and column == 0 and toks[i - 1].text == ")":
                start = i
                back, nest = i - 1, 0
                while True:
                    nest += (toks[back].text == ")") - (toks[back].text == "(")
                    if nest == 0:
                        break
                    back -= 1
                name = toks[back - 1].text
            depth += 1
        elif t.text == "}":
            depth -= 1
            if depth == 0 and start is not None:
                part = [r for off, r in rules if off < toks[start].off]
                if PARTS & set(part) and last_known(part) in PARTS:
                    yield name, start, i
                start = None


KNOWN = PARTS | {"Versions", "Status codes", "Allocator and sink", "Encoder",
                 "LuaJIT binding", "Includes", "Errors", "Sink and encoder",
                 "Entry points", "Symbols", "Aggregate", "Reports",
                 "Allocator, limits and errors", "AVL tree"}


def last_known(parts):
    """The part that the last rule line opens; unknown ones are within it."""
    return next((p for p in reversed(parts) if p in KNOWN), None)


def comparisons(toks, first, last):
    """Yields (operator, left begin, right end) token indices."""
    for i in range(first, last):
        t = toks[i]
        if t.text not in COMPARE:
            continue
        # == and != bind weaker than the others.
        weak = {"==", "!="} if t.text not in ("==", "!=") else set()
        yield i, left_of(toks, i, weak), right_of(toks, i + 1, weak)


class Mutator:
    def __init__(self, path, number):
        with open(path, encoding="utf-8") as f:
            self.source = f.read()
        self.path, self.number = path, number
        self.toks = tokens(self.source)
        self.before, self.behind = {}, {}
        self.list = []

    def text(self, a, b):
        return self.source[self.toks[a].off:self.toks[b - 1].end]

    def choices(self, op, a, b):
        """What the comparison becomes, one change each."""
        t = self.toks[op].text
        left, right = self.text(a, op), self.text(op + 1, b)
        yield f"{left} {SHIFTED[t]} {right}"
        if constant(self.toks, op + 1, b):
            yield f"{left} {t} ({right}) + 1"
            # One less and the shifted operator are the same for > and <=.
            if t in ("<", ">="):
                yield f"{left} {t} ({right}) - 1"

    def run(self):
        for name, first, last in functions(self.source, self.toks):
            for op, a, b in comparisons(self.toks, first, last):
                self.comparison(name, op, a, b)

    def comparison(self, name, op, a, b):
        line = self.source.count("\n", 0, self.toks[op].off) + 1
        was = " ".join(self.text(a, b).split())
        head = "("
        for to in self.choices(op, a, b):
            head += f"ljmut_is({self.number}) ? ({to}) : "
            self.list.append((self.number, line, name, was,
                              " ".join(to.split())))
            self.number += 1
        off, end = self.toks[a].off, self.toks[b - 1].end
        # Outer comparisons come first at one place, so that they nest.
        self.before.setdefault(off, []).append((-end, head + "("))
        self.behind.setdefault(end, []).append("))")

    def result(self):
        out, pos = [], 0
        places = sorted(set(self.before) | set(self.behind))
        for p in places:
            out.append(self.source[pos:p])
            out.extend(self.behind.get(p, []))
            out.extend(h for _, h in sorted(self.before.get(p, [])))
            pos = p
        out.append(self.source[pos:])
        return "".join(out)


CHOICE = """#ifndef LJMUT_H
#define LJMUT_H
#include "ljmut.h"
#endif
"""


def main():
    path, out, listing, first = sys.argv[1:]
    m = Mutator(path, int(first))
    m.run()
    with open(out, "w", encoding="utf-8") as f:
        f.write(CHOICE + m.result())
    name = path.rsplit("/", 1)[-1]
    with open(listing, "a", encoding="utf-8") as f:
        for number, line, function, was, to in m.list:
            f.write(f"{number}\t{name}:{line}\t{function}\t{was}\t{to}\n")


if __name__ == "__main__":
    main()
