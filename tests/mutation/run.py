#!/usr/bin/env python3
"""run.py - breaks each comparison in the parts of both headers that meet
foreign bytes, one operator or constant at a time, and sees whether a test or
a replay notices.

All mutants are built into one copy of the tree (mutants.py), with clang's
address sanitizer; an environment variable picks one.
Which tests evaluate which mutants is noted first, so each mutant runs only
those. What known.txt explains is not tried, unless --known asks for it, and
counted apart; other survivors are a failure.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
HEADERS = {"ljmemprof.h": 0, "ljparse.h": 8192}
FLAGS = "-O0 -w -fsanitize=address,bounds,shift-exponent " \
    "-fno-sanitize-recover=all"
TESTS = "^test_(avl|elf|encoder3|format4|hostile|parse_[dlr]|report_stacks|" \
    "syscalls)|" \
    "^test_resolver(_libs)?$|" \
    "^fuzz_(stream|blocks|elf|dynamic|resolver|avl|symtab|lines)$"
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:hard_rss_limit_mb=2000:"
                    "allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=0",
}


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("--sample", type=int, metavar="N",
                   help="only N mutants, picked by --seed")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--only", metavar="TEXT",
                   help="only mutants of functions whose name holds TEXT")
    p.add_argument("--number", type=int, action="append",
                   help="only this mutant (may be given again)")
    p.add_argument("--tests", default=TESTS, metavar="REGEX",
                   help="tests that may notice; built and run if they match")
    p.add_argument("--build", default=os.path.join(TOP, "build-mutation"))
    p.add_argument("--streams",
                   default=os.path.join(TOP, "..", "shared", "streams"))
    p.add_argument("--least", type=float, default=100, metavar="PERCENT",
                   help="killed or explained, or it is a failure")
    p.add_argument("--known", action="store_true",
                   help="try what known.txt explains too; to be noticed is "
                        "a failure then")
    p.add_argument("--output", metavar="FILE",
                   help="write survivors there, in known.txt's form")
    return p.parse_args()


def listed_files():
    if os.path.exists(os.path.join(TOP, ".git")):
        out = subprocess.check_output(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=TOP,
            text=True)
        return out.split("\n")[:-1]
    out = []
    for dirpath, dirs, names in os.walk(TOP):
        dirs[:] = [d for d in dirs if not d.startswith(("build", ".git"))]
        out += [os.path.relpath(os.path.join(dirpath, n), TOP) for n in names]
    return out


def copy_tree(tree):
    """Copies what changed, so that a second build is short."""
    for name in listed_files():
        src, dst = os.path.join(TOP, name), os.path.join(tree, name)
        if name in HEADERS or not os.path.isfile(src):
            continue
        if os.path.exists(dst) and \
                os.path.getmtime(dst) >= os.path.getmtime(src):
            continue
        os.makedirs(os.path.dirname(dst), exist_ok=True)
        shutil.copy2(src, dst)


def logged(log, command):
    if subprocess.call(command, stdout=log, stderr=log):
        sys.exit(f"run.py: the mutated tree does not build: {log.name}")


def compiled(tree, header):
    """Numbers of the mutants that this machine's compiler gets to see."""
    name = "LJM" if header == "ljmemprof.h" else "LJP"
    text = subprocess.run(
        [os.environ.get("CC", "clang"), "-E", "-x", "c", "-I", HERE, "-"],
        cwd=tree, check=True, text=True, capture_output=True,
        input=f'#define {name}_IMPLEMENTATION\n#include "{header}"\n').stdout
    return {int(n) for n in re.findall(r"ljmut_is\((\d+)\)", text)}


def build(args):
    tree = os.path.join(args.build, "tree")
    os.makedirs(tree, exist_ok=True)
    copy_tree(tree)
    listing = os.path.join(args.build, "list")
    open(listing, "w", encoding="utf-8").close()
    for header, first in HEADERS.items():
        new = os.path.join(args.build, header)
        subprocess.check_call(
            [sys.executable, os.path.join(HERE, "mutants.py"),
             os.path.join(TOP, header), new, listing, str(first)])
        dst = os.path.join(tree, header)
        if not os.path.exists(dst) or open(new, "rb").read() != \
                open(dst, "rb").read():
            shutil.copy(new, dst)
    out = os.path.join(args.build, "build")
    with open(os.path.join(args.build, "log"), "w", encoding="utf-8") as log:
        logged(log, ["cmake", "-S", tree, "-B", out, "-DCMAKE_BUILD_TYPE=None",
                     "-DCMAKE_C_COMPILER=" + os.environ.get("CC", "clang"),
                     f"-DCMAKE_C_FLAGS={FLAGS} -I{tree}/tests/mutation",
                     "-DLJM_LUAJIT=", f"-DLJM_STREAMS={args.streams}"])
        # Each has the name of its program.
        names = [t["name"] for t in ctest_list(out)
                 if re.search(args.tests, t["name"])]
        # Makefiles build targets given by name one after the other. What they
        # share must be there before two of them want it.
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for group in ["impl_ljmemprof", "impl_ljparse"], names:
                list(pool.map(lambda name: logged(
                    log, ["cmake", "--build", out, "--target", name]), group))
    with open(listing, encoding="utf-8") as f:
        mutants = [line.rstrip("\n").split("\t") for line in f]
    seen = set().union(*(compiled(tree, header) for header in HEADERS))
    kept = [(int(m[0]), *m[1:]) for m in mutants if int(m[0]) in seen]
    print(f"{len(mutants) - len(kept)} mutants are of code for other machines")
    return out, kept


def ctest_list(out):
    text = subprocess.check_output(
        ["ctest", "--show-only=json-v1", "-LE", "^(full|plain)$"], cwd=out,
        text=True)
    return json.loads(text)["tests"]


def tests_of(out, args):
    """Commands of ctest that run programs built here."""
    for t in ctest_list(out):
        if not re.search(args.tests, t["name"]):
            continue
        if "command" not in t or not t["command"][0].startswith(out):
            continue
        command = t["command"]
        if t["name"].startswith("fuzz_"):
            command = command[:1] + ["--mutate=30"] + command[1:]
        else:
            command = command + ["--stride=41"]  # The last counts.
        props = {p["name"]: p["value"] for p in t.get("properties", [])}
        yield {"name": t["name"], "command": command,
               "cwd": props.get("WORKING_DIRECTORY", out),
               "env": props.get("ENVIRONMENT", [])}


def execute(test, env, cpu):
    """Runs it: 0 if it passed (or skipped itself), else what happened; and
    the processor seconds it took."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))

    with tempfile.TemporaryDirectory(prefix="ljmut") as tmp:
        full = dict(os.environ, **OPTIONS, TMPDIR=tmp, **env)
        for e in test["env"]:
            full.__setitem__(*e.split("=", 1))
        child = subprocess.Popen(
            test["command"], cwd=test["cwd"], env=full,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=limit)
        waits = threading.Timer(600, os.kill, (child.pid, signal.SIGKILL))
        waits.start()
        _, status, used = os.wait4(child.pid, 0)
        waits.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
    return 0 if child.returncode == 77 else child.returncode, \
        used.ru_utime + used.ru_stime


def reach(test):
    """Times it, notes what it reaches."""
    with tempfile.NamedTemporaryFile(mode="r") as reached:
        test["failed"], test["took"] = \
            execute(test, {"LJMUT_REACHED": reached.name}, 600)
        test["reached"] = {int(x) for x in reached.read().split()}


def baseline(tests, args):
    """Those that reach a mutant, the quickest first."""
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(reach, tests))
    for t in tests:
        if t["failed"]:
            sys.exit(f"run.py: {t['name']} fails unmutated ({t['failed']})")
    return sorted((t for t in tests if t["reached"]), key=lambda t: t["took"])


def try_mutant(number, tests):
    """Name of the test that notices, or None; and whether any reaches it."""
    reached = False
    for t in tests:
        if number not in t["reached"]:
            continue
        reached = True
        if execute(t, {"LJMUT": str(number)}, int(t["took"] * 8) + 3)[0]:
            return t["name"], True
    return None, reached


def explained():
    """Survivors with a reason: header, function, was, becomes."""
    known = {}
    path = os.path.join(HERE, "known.txt")
    if not os.path.exists(path):
        return known
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                fields = line.rstrip("\n").split(" | ")
                if len(fields) != 5:
                    sys.exit(f"known.txt: five fields, not: {line}")
                known[tuple(fields[:4])] = fields[4]
    return known


def key_of(mutant):
    _, place, function, was, to = mutant
    return place.split(":")[0], function, was, to


def chosen(mutants, args):
    if args.number:
        return [m for m in mutants if m[0] in args.number]
    if args.only:
        mutants = [m for m in mutants if args.only in m[2]]
    if args.sample and args.sample < len(mutants):
        mutants = random.Random(args.seed).sample(mutants, args.sample)
    return sorted(mutants)


def main():
    args = arguments()
    start = time.time()
    out, mutants = build(args)
    tests = baseline(list(tests_of(out, args)), args)
    if not tests:
        sys.exit("run.py: no test reaches a mutant")
    print(f"{len(mutants)} mutants, {len(tests)} tests "
          f"({sum(t['took'] for t in tests):.1f} s), "
          f"built in {time.time() - start:.0f} s", flush=True)
    todo, known = chosen(mutants, args), explained()
    tried = [m for m in todo if args.known or key_of(m) not in known]
    killed, excused, alive, by = 0, len(todo) - len(tried), [], {}
    stale = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for m, (test, reached) in zip(tried, pool.map(
                lambda m: try_mutant(m[0], tests), tried)):
            if test and key_of(m) in known:
                stale += 1
                print(f"KNOWN, BUT NOTICED by {test}: {m[0]} {m[1]} {m[2]}: "
                      f"{m[3]}  ->  {m[4]}", flush=True)
            elif test:
                killed += 1
                by[test] = by.get(test, 0) + 1
            elif key_of(m) in known:
                excused += 1
            else:
                alive.append((m, reached))
                print(f"SURVIVES{'' if reached else ', never reached'}: "
                      f"{m[0]} {m[1]} {m[2]}: {m[3]}  ->  {m[4]}", flush=True)
    for test in sorted(by, key=by.get, reverse=True):
        print(f"  {by[test]:5d} noticed by {test}")
    if args.output:
        with open(args.output, "w", encoding="utf-8") as f:
            for m, reached in alive:
                f.write(" | ".join((*key_of(m), "reached" if reached
                                    else "never reached")) + "\n")
    print(f"mutants found {len(mutants)}, tried {len(todo)}, killed {killed}, "
          f"surviving {excused + len(alive)}, of them explained {excused} "
          f"({time.time() - start:.0f} s)")
    share = 100 * (1 - len(alive) / max(1, len(todo)))
    print(f"{share:.1f} % killed or explained, {args.least:g} % wanted")
    return 1 if share < args.least or stale else 0


if __name__ == "__main__":
    sys.exit(main())
