#!/usr/bin/env python3
"""alone.py HEADER - writes HEADER for gcc's -fanalyzer, each line where it was.

It follows every call, and long before all is seen has given up. Here a call
of a function of more than LINES lines goes to one that it knows nothing of:
that has the name, and its body another. Shorter ones and those of MEMORY are
looked into; these call malloc, realloc and free by name, not through the
host's pointers, so that it knows what they are.
"""
import re
import sys

LINES = 6
# Inline ones are looked into, but of this one not that it may say NULL, no Lua
# code runs: on a trace, where its callers do not ask, some does.
TRUSTED = "ljmi_vm_thread"
# Fewer are opened if the headers' style has changed: then mend FUNCTION.
LEAST = 200
MEMORY = re.compile(
    r"lj[mp]+i_(alloc_array|grow_array|grow|free_array|new_object|array_size"
    r"|mem_book|mem_init|memory_init|fail)$")
FUNCTION = re.compile(
    r"^(?:LJM_API|LJP_API|LJPI_NOINLINE"
    r"|static(?P<inline> inline)?(?: LJMI_NOINLINE)?(?: LJMI_UNUSED)?)\s"
    r"(?P<type>(?!inline)[^;={}#\"]*?)"
    r"(?P<name>\blj[mp]i?_\w+|\bljpi_\w+)(?P<args>\([^;={}#\"]*\))"
    r"(?:;|\n\{\n(?P<body>(?:[^}\n].*\n|\n)*)\})", re.M)
HOST = (
    (r"\bm->(?:fn|a)\.alloc\(m->(?:fn|a)\.user, ", "malloc("),
    (r"\bm->(?:fn|a)\.realloc\(m->(?:fn|a)\.user, (\*?p), [^;:,]*,",
     r"realloc(\1,"),
    (r"\bm->(?:fn|a)\.free\(m->(?:fn|a)\.user, p, [^;]*\);", "free(p);"),
)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    for call, plain in HOST:
        text, found = re.subn(call, plain, text)
        if not found:
            sys.exit(f"alone.py: no {call} in {sys.argv[1]}")
    opened = {m["name"] for m in FUNCTION.finditer(text)
              if m["name"] == TRUSTED or m["body"] and not m["inline"]
              and m["body"].count("\n") > LINES
              and not MEMORY.match(m["name"])}
    if len(opened) < LEAST:
        sys.exit(f"alone.py: opens {len(opened)} functions only")

    def write(m):
        if m["name"] not in opened:
            return m[0]
        known = " ".join(f"{m['type']}{m['name']}{m['args']};".split())
        if not m["body"]:
            return known + "\n" * m[0].count("\n")
        body = f"{m['type']}{m['name']}_alone{m['args']}"
        return f"{known} {' '.join(body.split())}; {body}\n{{\n{m['body']}}}"

    sys.stdout.write(FUNCTION.sub(write, text))


main()
