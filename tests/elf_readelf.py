#!/usr/bin/env python3
"""elf_readelf.py LJELFSYM [--stride=N] DIR... - compares what ljelfsym prints
with what readelf and nm say about each Nth ELF executable or library under the
folders: the same functions, address by address, and each of them known to nm.
"""
import os
import re
import subprocess
import sys

SYMBOL = re.compile(r"\s*\d+: ([0-9a-f]+)\s+(\w+)\s+(\S+)\s+(\S+)\s+\S+\s+"
                    r"(?:\[[^]]*\]\s+)?(\S+) ?(.*)$")
SECTION = re.compile(r"\s*\[ *(\d+)\] (.{0,17}?)\s+(\S+)\s+[0-9a-f]{8,16} "
                     r"[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ +([A-Za-z]*) +\d+")
MAPPING = re.compile(r"\$[adtx](\.|$)|\$xrv")


def run(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, check=True,
                          stderr=subprocess.DEVNULL).stdout.decode("latin-1")


def wanted(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as f:
        head = f.read(20)
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return False
    kind = head[16:18] if head[5] == 1 else head[17:15:-1]
    return kind in (b"\x02\x00", b"\x03\x00")


def from_readelf(path):
    """(address, size, name) by the rules of the resolver."""
    code = set()
    for line in run("readelf", "-SW", path).split("\n"):
        m = SECTION.match(line)
        if m and "X" in m.group(4):
            code.add(m.group(1))
    tables = {}
    name = None
    for line in run("readelf", "-sW", path).split("\n"):
        m = re.match(r"Symbol table '([^']*)'", line)
        if m:
            name = m.group(1)
            tables.setdefault(name, [])
            continue
        m = SYMBOL.match(line)
        if m and name:
            tables[name].append(m.groups())
    arm = b"\x28\x00"
    with open(path, "rb") as f:
        head = f.read(20)
    thumb = head[18:20] in (arm, arm[::-1]) and head[4] == 1
    for table in (".symtab", ".dynsym"):
        found = []
        for value, size, kind, _, ndx, sym in tables.get(table, []):
            func = kind in ("FUNC", "IFUNC")
            sym = sym.split("@")[0] if table == ".dynsym" else sym
            if not func and (kind != "NOTYPE" or ndx not in code):
                continue
            if ndx in ("UND", "COM") or not sym:
                continue
            if not func and MAPPING.match(sym):
                continue
            addr = int(value, 16)
            if func and thumb:
                addr &= ~1
            found.append((addr, int(size, 0), sym.split("@")[0]))
        if found:
            return table, sorted(found)
    return ".symtab", []


def from_nm(path, table):
    args = ["nm"] + (["-D"] if table == ".dynsym" else []) + [path]
    found = set()
    for line in run(*args).split("\n"):
        m = re.match(r"([0-9a-f]+) \S (.*)$", line)
        if m:
            found.add((int(m.group(1), 16), m.group(2).split("@")[0]))
    return found


def main():
    tool = sys.argv[1]
    stride = 1
    files = []
    for arg in sys.argv[2:]:
        if arg.startswith("--stride="):
            stride = int(arg.split("=")[1])
            continue
        for top, folders, names in os.walk(arg):
            folders.sort()
            files += [os.path.join(top, n) for n in sorted(names)]
    files = [f for f in files if wanted(f)][::stride]
    bad = functions = 0
    for path in files:
        ours = []
        for line in run(tool, path).split("\n"):
            if line:
                addr, size, name = line.split(" ", 2)
                ours.append((int(addr, 16), int(size), name.split("@")[0]))
        table, theirs = from_readelf(path)
        if sorted(ours) != theirs:
            bad += 1
            print(f"FAIL {path}: readelf:",
                  sorted(set(ours) ^ set(theirs))[:5])
        nm = from_nm(path, table)
        lost = [s for s in ours if (s[0], s[2]) not in nm
                and (s[0] | 1, s[2]) not in nm]
        if lost:
            bad += 1
            print(f"FAIL {path}: nm lacks", lost[:5])
        functions += len(ours)
    print(f"{len(files)} files, {functions} functions, {bad} differences")
    return bad != 0 or not files


if __name__ == "__main__":
    sys.exit(main())
