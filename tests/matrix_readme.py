#!/usr/bin/env python3
"""matrix_readme.py [--check] - the README's table of LuaJIT trees, as
tests/MATRIX.md has the results. Writes it, or with --check fails if that would
change something. What stands behind a tree's name in it is kept.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(os.path.dirname(HERE), "README.md")
HEAD = "| tree | x86-64 |"
OTHERS = {"i686": "i386", "arm64": "arm64", "arm64-norecords": "arm64"}


def results():
    """{tree: {option: passed}}"""
    found = {}
    with open(os.path.join(HERE, "MATRIX.md"), encoding="utf-8") as f:
        for line in f:
            m = re.match(r"\| ([\w-]+) \| ([\w-]+) \| \w+ \| (passed|failed)",
                         line)
            if m:
                found.setdefault(m[1], {})[m[2]] = m[3] == "passed"
    return found


def options():
    """Those that matrix.sh has of each tree, for this machine."""
    rows = subprocess.check_output(
        ["bash", os.path.join(HERE, "matrix.sh"), "--list"], text=True).split()
    trees = {row.split(":")[0] for row in rows}
    of = [row.split(":")[1] for row in rows]
    return [o for o in dict.fromkeys(of)
            if of.count(o) == len(trees) and o not in OTHERS]


def names(passed, failed):
    """What passed, by name, and what did not."""
    text = ", ".join(passed) or "not run"
    return text + ("; failed: " + ", ".join(failed) if failed else "")


def native(have, every):
    """The cell of this machine's own kind."""
    passed = [o for o in every if have.get(o)]
    missing = [o for o in every if o not in have]
    more = sorted(o for o in have
                  if have[o] and o not in every and o not in OTHERS)
    failed = sorted(o for o in have if not have[o] and o not in OTHERS)
    if len(missing) <= 4:
        text = "all" + (" but " if missing or failed else "") + \
            ", ".join(missing + [o for o in failed if o in every])
    else:
        text = ", ".join(passed)
    text += "; " + ", ".join(more) if more else ""
    return text + ("; failed: " + ", ".join(failed) if failed else "")


def other(have, arch):
    """The cell of another architecture."""
    said = {"i686": "default", "arm64": "default",
            "arm64-norecords": "without frame records"}
    of = [o for o in OTHERS if OTHERS[o] == arch and o in have]
    return names([said[o] for o in of if have[o]],
                 [said[o] for o in of if not have[o]])


def main():
    have, every = results(), options()
    with open(README, encoding="utf-8") as f:
        lines = f.read().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(HEAD)) + 2
    out = list(lines)
    for i in range(at, lines.index("", at)):
        tree = lines[i].split("|")[1].strip()
        of = have.pop(tree.split("`")[1], {})
        out[i] = "| %s | %s | %s | %s |" % (
            tree, native(of, every), other(of, "i386"), other(of, "arm64"))
    if have:
        sys.exit("README.md: no row for " + ", ".join(have))
    if out == lines:
        return
    if "--check" in sys.argv:
        sys.exit("README.md: the table of LuaJIT trees is not that of "
                 "tests/MATRIX.md; tests/matrix_readme.py writes it")
    with open(README, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


main()
