#!/usr/bin/env python3
"""goals.py - sets what run.sh measured beside what is to be reached.

usage: goals.py LOG

LOG is what run.sh printed. One row of a table for each figure; it fails if one
is missing, never for a goal that was not reached.
"""
import re
import sys

NUMBER = r"(\d+(?:\.\d+)?)"


def row(name):
    """Cells of a row of record.py's table: [ratio] or [null, file]."""
    def find(log):
        found = re.search(r"^%s +\S+s (.*)$" % re.escape(name), log, re.M)
        if not found:
            return None
        return [[float(n) for n in cell.split("; ")] for cell in
                re.findall(r"[\d.]+(?:; [\d.]+)?", found.group(1))]
    return find


def cell(name, column, out):
    def find(log):
        cells = row(name)(log)
        return cells and cells[column][out]
    return find


def number(pattern):
    def find(log):
        found = re.findall(pattern, log, re.M)
        return float(found[-1]) if found else None
    return find


def highest(*finders):
    def find(log):
        values = [f(log) for f in finders]
        return None if None in values else max(values)
    return find


OFF, F3, LINES, STACKS, SAMPLES = range(5)
NULL, FILE = 0, 1


def both(name, column, out):
    """Of the runs without and with the JIT the dearer one."""
    return highest(cell(name + " -joff", column, out),
                   cell(name + " -jon", column, out))


def loop(column, out):
    return [("loop, JIT off", cell("tables -joff", column, out)),
            ("loop, JIT on", cell("tables -jon", column, out))]


# what, how it is found in the log, its limit: at most (<) or at least (>)
GOALS = (
    [("own format, to a file: " + w, f, "<", 1.35) for w, f in
     loop(LINES, FILE)] +
    [("own format, /dev/null: " + w, f, "<", 1.25) for w, f in
     loop(LINES, NULL)] +
    [("format 3, to a file: " + w, f, "<", 1.6) for w, f in loop(F3, FILE)] +
    [("format 3, /dev/null: " + w, f, "<", 1.4) for w, f in loop(F3, NULL)] +
    [("call stacks, /dev/null: " + w, f, "<", 1.6) for w, f in
     loop(STACKS, NULL)] +
    [("luacheck, exact", both("luacheck", LINES, NULL), "<", 1.05),
     ("luacheck, call stacks", both("luacheck", STACKS, NULL), "<", 1.25),
     ("luacheck, samples", both("luacheck", SAMPLES, NULL), "<", 1.02),
     ("loop, samples", both("tables", SAMPLES, NULL), "<", 1.1),
     ("loop, cycles of the collector, % off",
      highest(*[number(r"^tables -%s +\d+;.* differ by %s %%" % (j, NUMBER))
                for j in ("joff", "jon")]), "<", 1),
     ("instructions, not recording",
      highest(*[number(r"^%s -%s +%s$" % (p, j, NUMBER))
                for p in ("tables", "strings", "closures")
                for j in ("joff", "jon")]), "<", 1.003),
     ("1000 allocations of a C function, bytes",
      number(r"^1000 of one C function +lines +%s bytes" % NUMBER), "<",
      65535),
     ("200 JSON documents, bytes",
      number(r"^200 JSON documents +lines +%s bytes" % NUMBER), "<", 999999),
     ("JSON documents, exact", both("cjson", LINES, NULL), "<", 1.5),
     ("start with a heap of 10 MB, ms",
      number(r"^heap of +10 MB: start %s ms" % NUMBER), "<", 1),
     ("start with 40 libraries, ms",
      number(r"^40 libraries: start %s ms" % NUMBER), "<", 1),
     ("index of 50,000 symbols, ms",
      number(r"^first name, 50000 functions: %s ms" % NUMBER), "<", 20),
     ("bytes a symbol, beside the names",
      number(r"^first name, .*; %s bytes a symbol" % NUMBER), "<", 16),
     ("bytes an event, sites",
      number(r"^luacheck, lines +%s bytes" % NUMBER), "<", 6),
     ("bytes an event, call stacks",
      number(r"^luacheck, stacks +%s bytes" % NUMBER), "<", 7),
     ("parse and aggregate, recorded stream, M events/s",
      number(r"^l\.bin .*true +%s M/s" % NUMBER), ">", 30),
     ("the same, 1 M blocks freed at random, M events/s",
      number(r"^generated, 1 M random .*true +%s M/s" % NUMBER), ">", 15),
     ("decode only, format 3, MB/s",
      number(r"^l\.bin .*decode +%s MB/s" % NUMBER), ">", 1000),
     ("bytes of the parser for a live block",
      number(r"^generated, 1 M random .*; %s bytes a block" % NUMBER), "<",
      32)])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as f:
        log = f.read()
    missing = 0
    line = "| %-50s | %10s | %10s |"
    print(line % ("figure", "goal", "measured"))
    print(line % ("---", "---", "---"))
    for what, find, way, limit in GOALS:
        value = find(log)
        if value is None:
            missing += 1
            print(line % (what, limit, "missing"))
            continue
        reached = value <= limit if way == "<" else value >= limit
        bound = ("<= " if way == "<" else ">= ") + str(limit)
        measured = "%g" % value
        print(line % (what, bound, measured if reached else
                      "**%s**" % measured))
    print("\nWhat misses its goal is in bold.")
    sys.exit(missing > 0)


main()
