#!/usr/bin/env python3
"""stack.py [COMPILER [FLAGS...]] - the deepest stack that a public function of
either header can need: frame sizes and call graph from gcc's
-fcallgraph-info. Fails on recursion, on frames whose size is not fixed, on
indirect calls that it does not know, and above the limits below.

Host functions (allocators, sinks, callbacks) and libc count nothing: what
they need comes on top.
"""
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = {
    # header: macro, bytes a frame, bytes in all, calls deep
    "ljmemprof.h": ("LJM_IMPLEMENTATION", 1024, 6144, 24),
    "ljparse.h": ("LJP_IMPLEMENTATION", 4096, 12288, 24),
}
# Functions of the headers' own that an indirect call can reach, by the last
# name in the called expression; every call also may reach the host's.
INDIRECT = {
    "alloc": r"lj[mp]i_(malloc|arena_alloc)",
    "realloc": r"lj[mp]i_(realloc|arena_realloc)",
    "free": r"lj[mp]i_(mfree|free|arena_free)",
    "write": r"ljmi_file_write",
    "close": r"ljmi_file_close",
    "read": r"ljmi_(bytes|file|pipe)_read",
    "clock": r"ljmi_clock\w*",
    "crc": r"ljmi_crc\w*",
    "on_events": r"ljpi_profile_events",
    "on_record": r"ljpi_profile_record",
    "whole_events": r"ljpi_whole_events_\w+",
    "cmp": r"ljpi_(cmp|by)_\w+",
}


def source_text(place):
    path, line, column = place.rsplit(":", 2)
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines()[int(line) - 1], int(column)


def called_name(place):
    """Last name of the expression that is called at file:line:column."""
    text, column = source_text(place)
    # The place is the name, the operator before it, the parenthesis, or the
    # statement that holds the call.
    names = list(re.finditer(r"([A-Za-z_]\w*)\)*\(", text))
    names = [m for m in names if not m.group(1).startswith("lj")]
    behind = [m for m in names if m.end(1) >= column]
    return (behind or names or [None])[0]


class Graph:
    def __init__(self, text):
        self.size, self.where, self.calls, self.bad = {}, {}, {}, []
        self.indirect = {}
        for m in re.finditer(r'node: \{ title: "([^"]*)" label: "([^"]*)"',
                             text):
            parts = m.group(2).split("\\n")
            name = m.group(1).split(":")[-1]
            found = re.search(r"(\d+) bytes \(([\w,]+)\)", m.group(2))
            if not found:
                continue
            self.size[name] = int(found.group(1))
            self.where[name] = parts[1]
            if found.group(2) != "static":
                self.bad.append(f"frame of {name} is {found.group(2)}")
        for m in re.finditer(r'edge: \{ sourcename: "([^"]*)" '
                             r'targetname: "([^"]*)"(?: label: "([^"]*)")?',
                             text):
            caller, callee = (x.split(":")[-1] for x in m.groups()[:2])
            if callee == "__indirect_call":
                self.indirect.setdefault(caller, set()).add(m.group(3))
            elif callee in self.size:
                self.calls.setdefault(caller, set()).add(callee)
        self.resolve()

    def resolve(self):
        for caller, places in self.indirect.items():
            for place in places:
                m = called_name(place)
                name = m.group(1) if m else "?"
                if name not in INDIRECT and name not in CALLBACKS:
                    self.bad.append(f"{place}: indirect call of {name}, which "
                                    "stack.py does not know")
                pattern = re.compile(INDIRECT.get(name, "$^"))
                for f in self.size:
                    if pattern.fullmatch(f.split(".")[0]):
                        self.calls.setdefault(caller, set()).add(f)

    def deepest(self, name, path=()):
        """(bytes, functions) of the deepest chain from `name` down."""
        if name in path:
            self.bad.append("recursion: " + " > ".join(path + (name,)))
            return 0, []
        if name not in self.memo:
            best = 0, []
            for callee in sorted(self.calls.get(name, ())):
                below = self.deepest(callee, path + (name,))
                best = max(best, below, key=lambda b: b[0])
            self.memo[name] = best[0] + self.size[name], [name] + best[1]
        return self.memo[name]

    def depth(self, name):
        if name not in self.levels:
            self.levels[name] = 1 + max(
                (self.depth(c) for c in self.calls.get(name, ())), default=0)
        return self.levels[name]


# Host functions only.
CALLBACKS = {"on_module", "fn"}


def graph_of(header, macro, compiler):
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "x.c"), "w", encoding="utf-8") as f:
            f.write(f'#define {macro}\n#include "{TOP}/{header}"\n')
        subprocess.check_call(
            [*compiler, "-std=c99", "-O2", "-w", "-fcallgraph-info=su,da",
             "-c", "x.c", "-o", "x.o"], cwd=tmp)
        with open(os.path.join(tmp, "x.ci"), encoding="utf-8") as f:
            return Graph(f.read())


def check(header, compiler):
    macro, frame, most, deep = HEADERS[header]
    g = graph_of(header, macro, compiler)
    g.memo, g.levels = {}, {}
    public = [f for f in g.size if re.fullmatch(r"lj[mp]_\w+", f)]
    if not public:
        return [f"{header}: no public function found"]
    totals = sorted((g.deepest(f)[0], f) for f in public)
    if g.bad:
        return g.bad
    total, name = totals[-1]
    chain = g.memo[name][1]
    levels = max(g.depth(f) for f in public)
    largest = max(g.size, key=g.size.get)
    print(f"{header}: {len(public)} public functions of {len(g.size)}; worst "
          f"total {total} bytes, deepest {levels} calls, largest frame "
          f"{g.size[largest]} ({largest})")
    print("  " + " > ".join(f"{f} {g.size[f]}" for f in chain))
    for total_of, f in totals[-2:-6:-1]:
        print(f"  {f}: {total_of}")
    bad = [f"{header}: frame of {f} has {n} bytes, over {frame}"
           for f, n in g.size.items() if n > frame]
    if total > most:
        bad.append(f"{header}: {name} needs {total} bytes, over {most}")
    if levels > deep:
        bad.append(f"{header}: {levels} calls deep, over {deep}")
    return bad


def main():
    compiler = sys.argv[1:] or ["gcc"]
    bad = [b for header in HEADERS for b in check(header, compiler)]
    for b in sorted(set(bad)):
        print("FAIL " + b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
