#!/usr/bin/env python3
"""record.py - what recording costs: DESIGN's ratios, each within one run.

usage: record.py [--rounds=N] [--quick] PLAIN PATCHED [SECTION...]

PLAIN and PATCHED are luajit binaries of one tree without and with the
series (luajit-patch/build.sh --plain, and without it). Sections:
  times   processor time against PLAIN, median of the rounds' ratios; the
          programs of one round run one after the other
  off     instructions (callgrind) of PATCHED, not recording, against PLAIN:
          slope between two lengths, so that start-up does not count
  cycles  how often the collector comes round, in the loop of tables:
          recording against the same program with the series' module in its
          heap of 0.1 MB, which alone makes it a few percent less often
  bytes   bytes an event, and what 200 JSON documents and 1000 allocations
          of one C function cost in bytes
  memory  what is kept of each trace, recording or not
  start   start of a recording, by size of the heap; with 40 libraries, also
          eager, as misc.memprof starts: all names are written first
"""
import glob
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LUA = os.path.join(HERE, "lua")
LIBS = "/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua;;"
CLIBS = "/usr/lib/x86_64-linux-gnu/lua/5.1/?.so;;"
ENV = dict(os.environ, LUA_PATH=LIBS, LUA_CPATH=CLIBS)
LUACHECK = ["/usr/bin/luacheck", "--quiet", "--no-cache", "--no-config",
            "/usr/share/lua/5.1/luacheck"]
# name -> arguments after luajit and -jon or -joff
PROGRAMS = {
    "tables": [os.path.join(LUA, "tables.lua"), "8000000"],
    "strings": [os.path.join(LUA, "strings.lua"), "4000000"],
    "closures": [os.path.join(LUA, "closures.lua"), "4000000"],
    "cjson": [os.path.join(LUA, "cjson.lua"), "8000"],
    "luacheck": LUACHECK,
}
# name -> options of -jmemprof; None: not recording
MODES = {
    "off": None,
    "format 3": "format=3",
    "lines": "depth=1,live=0",
    "stacks": "live=0",
    "samples": "sample=524288,live=0",
}


def fail(text):
    sys.exit("record.py: " + text)


def run(luajit, args):
    """Processor time in seconds of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([luajit] + args, env=ENV, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # luacheck exits 1 where it has warnings, which is no failure here.
    if done.returncode not in (0, 1) or b"luajit:" in done.stderr:
        fail("%s %s failed: %s" % (luajit, " ".join(args), done.stderr[:300]))
    return (after.ru_utime - before.ru_utime +
            after.ru_stime - before.ru_stime)


def outputs(name, mode, path):
    """Where a recording goes: the loop of tables is measured with both."""
    if mode == "off" or name != "tables":
        return ["/dev/null"]
    return ["/dev/null", path]


def option(mode, path):
    return [] if MODES[mode] is None else [
        "-jmemprof=%s,%s" % (path, MODES[mode])]


def times(plain, patched, rounds, scratch):
    print("processor time against the plain tree, median of %d rounds "
          "(to /dev/null; tables: to a file, too)" % rounds)
    print("%-18s %7s" % ("", "plain") +
          "".join("%16s" % m for m in MODES))
    path = os.path.join(scratch, "p.bin")
    for name, args in PROGRAMS.items():
        for jit in ("-joff", "-jon"):
            base, ratios = [], {}
            for _ in range(rounds):
                t = run(plain, [jit] + args)
                base.append(t)
                for mode in MODES:
                    for out in outputs(name, mode, path):
                        used = run(patched, option(mode, out) + [jit] + args)
                        ratios.setdefault((mode, out), []).append(used / t)
                        if os.path.exists(path):
                            os.unlink(path)
            row = "%-18s %6.2fs" % (name + " " + jit, statistics.median(base))
            for mode in MODES:
                cell = ["%.2f" % statistics.median(ratios[(mode, out)])
                        for out in ("/dev/null", path)
                        if (mode, out) in ratios]
                row += "%16s" % "; ".join(cell)
            print(row, flush=True)


def instructions(luajit, args):
    done = subprocess.run(
        ["setarch", "-R", "valgrind", "--tool=callgrind",
         "--callgrind-out-file=/dev/null", luajit] + args,
        env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE)
    found = re.search(rb"Collected : (\d+)", done.stderr)
    if not found:
        fail("no count from callgrind: %s" % done.stderr[-300:])
    return int(found.group(1))


def off(plain, patched):
    print("instructions of the patched tree, not recording, against plain")
    for name in ("tables", "strings", "closures"):
        for jit in ("-joff", "-jon"):
            script = PROGRAMS[name][0]
            slopes = [instructions(lj, [jit, script, "400000"]) -
                      instructions(lj, [jit, script, "200000"])
                      for lj in (plain, patched)]
            print("%-18s %.4f" % (name + " " + jit, slopes[1] / slopes[0]),
                  flush=True)


def events_of(ljparse, path):
    done = subprocess.run([ljparse, path], stdout=subprocess.PIPE, check=True)
    return int(re.search(rb"^events: (\d+)", done.stdout, re.M).group(1))


def sizes(patched, scratch):
    ljparse = os.environ.get("LJPARSE",
                             os.path.join(HERE, "../../build/ljparse"))
    path = os.path.join(scratch, "p.bin")
    print("bytes of a recording")
    for mode in ("format 3", "lines", "stacks"):
        run(patched, option(mode, path) + ["-jon"] + LUACHECK)
        size, count = os.path.getsize(path), events_of(ljparse, path)
        print("luacheck, %-10s %.2f bytes an event (%d events)" %
              (mode, size / count, count), flush=True)
    for what, code in (
            ("200 JSON documents", [os.path.join(LUA, "cjson.lua"), "200"]),
            ("1000 of one C function", [
                "-e", "local r = string.rep for i = 1, 1000 do "
                      "pcall(r, 'ab', 300 + i) end"])):
        for mode in ("format 3", "lines"):
            run(patched, option(mode, path) + ["-joff"] + code)
            print("%-24s %-10s %d bytes" % (what, mode,
                                            os.path.getsize(path)))


def printed(luajit, args):
    """What a program prints last."""
    done = subprocess.run(["setarch", "-R", luajit] + args, env=ENV,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    if not done.stdout.strip():
        fail("%s %s printed nothing" % (luajit, " ".join(args)))
    return done.stdout.decode().strip().splitlines()[-1]


def cycles(plain, patched):
    script, length = os.path.join(LUA, "cycles.lua"), PROGRAMS["tables"][1]
    print("cycles of the collector in the loop of tables, without the series; "
          "with its module, not recording; recording")
    for jit in ("-joff", "-jon"):
        run_once = [jit, script, length]
        without = int(printed(plain, run_once))
        base = int(printed(patched, ["-l", "jit.memprof"] + run_once))
        row, most = "", 0
        for mode, opts in MODES.items():
            if opts is None:
                continue
            n = int(printed(patched, option(mode, "/dev/null") + run_once))
            row += " %s %d," % (mode, n)
            most = max(most, abs(n - base) / base)
        print("tables %-5s %d; %d;%s differ by %.3f %%" %
              (jit, without, base, row, 100 * most), flush=True)


def memory(patched):
    print("kept of the traces of luacheck: " +
          printed(patched, ["-Omaxtrace=10000", "-Omaxmcode=16384",
                            os.path.join(LUA, "traces.lua")] + LUACHECK[1:]))


def start(patched, scratch, heaps):
    path = os.path.join(scratch, "p.bin")
    for mb in heaps:
        done = subprocess.run(
            [patched, os.path.join(LUA, "heap.lua"), str(mb), path],
            stdout=subprocess.PIPE, check=True)
        print("heap of %4d MB: %s" % (mb, done.stdout.decode().strip()))
    # Small ones that each Debian has.
    libs = sorted(glob.glob("/usr/lib/*-linux-gnu/gconv/*.so"))[:40]
    if len(libs) < 40:
        fail("no 40 libraries in gconv/")
    done = subprocess.run([patched, os.path.join(LUA, "libs.lua"), path] +
                          libs, stdout=subprocess.PIPE, check=True)
    print("40 libraries: %s" % done.stdout.decode().strip())


def main():
    rounds, quick, names = 5, False, []
    for arg in sys.argv[1:]:
        if arg.startswith("--rounds="):
            rounds = int(arg[9:])
        elif arg == "--quick":
            quick = True
        elif arg.startswith("-"):
            sys.exit(__doc__)
        else:
            names.append(arg)
    if len(names) < 2 or rounds < 1:
        sys.exit(__doc__)
    plain, patched = names[:2]
    wanted = names[2:] or ["times", "off", "cycles", "bytes", "memory",
                           "start"]
    if quick:
        for name, short in (("tables", "4000000"), ("strings", "1000000"),
                            ("closures", "2000000"), ("cjson", "2000")):
            PROGRAMS[name][1] = short
    with tempfile.TemporaryDirectory() as scratch:
        if "times" in wanted:
            times(plain, patched, rounds, scratch)
        if "off" in wanted:
            off(plain, patched)
        if "cycles" in wanted:
            cycles(plain, patched)
        if "bytes" in wanted:
            sizes(patched, scratch)
        if "memory" in wanted:
            memory(patched)
        if "start" in wanted:
            start(patched, scratch, [10] if quick else [10, 1000])


main()
