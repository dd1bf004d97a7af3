#!/usr/bin/env python3
"""coverage.py JSON [LINES,BRANCHES] - sums up what `llvm-cov export` wrote.

Each program has its own instance of the headers' static functions, and
llvm-cov's summary takes the best instance of each function. Here a line or
branch is covered if any instance covers it. Lists what no instance does, with
the reason where unreached.txt has one; all of it counts as not covered. Fails
below the given percentages.
"""
import collections
import json
import os
import sys


def lines_of(segments):
    """Maps each line with code to its highest count."""
    count = {}
    now = None
    last_line = 0
    for line, _, n, has_count, _, gap in (s[:6] for s in segments):
        if now is not None:
            # A line inside a region belongs to it; one on which another
            # begins takes the higher.
            for i in range(last_line + 1, line + 1):
                count[i] = max(count.get(i, 0), now)
        if has_count and not gap:
            count[line] = max(count.get(line, 0), n)
            now = n
        else:
            now = None
        last_line = line
    return count


def source_lines(path):
    """Lines that hold more than blanks, comments and braces."""
    keep = set()
    comment = False
    with open(path, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            text = text.strip()
            if comment:
                comment = "*/" not in text
                continue
            if text.startswith("/*"):
                comment = "*/" not in text
                continue
            if text.strip("{}; ") and not text.startswith("#"):
                keep.add(number)
    return keep


def spans(numbers):
    """Sorted numbers as `a-b` pieces."""
    out = []
    for n in numbers:
        if out and n == out[-1][1] + 1:
            out[-1][1] = n
        else:
            out.append([n, n])
    return [f"{a}" if a == b else f"{a}-{b}" for a, b in out]


def reasons():
    """Of branches that nothing here can reach: by header and text."""
    why = {}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                        "unreached.txt")
    with open(path, encoding="utf-8") as f:
        for row in f:
            if row.strip() and not row.startswith("#"):
                header, text, reason = row.strip().split(" | ")
                why[header, text] = reason
    return why


def report(entries, why):
    """Of copies of one file; the binding is compiled from LuaJIT's tree."""
    path = entries[0]["filename"]
    real = source_lines(path)
    lines = collections.defaultdict(int)
    branches = collections.defaultdict(lambda: [0, 0])
    for entry in entries:
        for n, count in lines_of(entry["segments"]).items():
            if n in real:
                lines[n] = max(lines[n], count)
        for b in entry["branches"]:
            place = branches[tuple(b[:4])]
            place[0] += b[4]
            place[1] += b[5]
    bare = sorted(n for n, c in lines.items() if c == 0)
    sides = [(k, side) for k, v in branches.items() for side in (0, 1)
             if v[side] == 0]
    line_rate = 100 * (1 - len(bare) / max(1, len(lines)))
    branch_rate = 100 * (1 - len(sides) / max(1, 2 * len(branches)))
    name = os.path.basename(path)
    print(f"{name}: {line_rate:.2f} % of {len(lines)} lines, "
          f"{branch_rate:.2f} % of {2 * len(branches)} branches")
    if bare:
        print(f"  lines never run: {' '.join(spans(bare))}")
    dark = set(bare)
    explained = 0
    with open(path, encoding="utf-8") as f:
        text = f.read().splitlines()
    for (line, col, end_line, end_col), side in sorted(sides):
        if line in dark:
            continue
        what = text[line - 1][col - 1:end_col - 1 if end_line == line
                              else None]
        reason = why.get((name, what), "")
        explained += reason != ""
        print(f"  {name}:{line}:{col}: never {'false' if side else 'true'}: "
              f"{what}{reason and ' (' + reason + ')'}")
    print(f"  {explained} of {len(sides)} branches never taken are explained")
    return line_rate, branch_rate


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        data = json.load(f)["data"][0]
    least = [float(x) for x in (sys.argv[2:] or ["0,0"])[0].split(",")]
    bad = not data["files"]
    why = reasons()
    files = collections.defaultdict(list)
    for entry in data["files"]:
        files[os.path.basename(entry["filename"])].append(entry)
    for name in sorted(files):
        rates = report(files[name], why)
        if rates[0] < least[0] or rates[1] < least[1]:
            bad = True
    if bad:
        sys.exit("coverage: below the least asked for, or nothing covered")


if __name__ == "__main__":
    main()
