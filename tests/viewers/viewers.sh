#!/usr/bin/env bash
# Opens ljparse's reports in the programs that they are made for: Go's pprof,
# speedscope and our page in headless Chromium. Leaves pictures in DIR.
#   viewers.sh LJPARSE TEST_REPORT_PROFILE STREAMS DIR [LUAJIT]
# With a patched luajit also a recording with call stacks.
set -euo pipefail
ljparse=$1 writer=$2 streams=$3 dir=$4 luajit=${5:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ ! -d "$streams" ]; then
  echo "viewers: no recorded streams in $streams"
  exit 77
fi
mkdir -p "$dir"
cd "$dir"
# Debian's nodejs comes without npm, others' with it: the package depends.
if ! command -v npm >/dev/null && [ -z "${LJM_NO_INSTALL:-}" ]; then
  sudo=
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get install -y -q --no-install-recommends npm >npm-apt.log 2>&1 ||
    cat npm-apt.log
fi
for tool in go node npm chromium; do
  command -v $tool >/dev/null || { echo "viewers: no $tool"; exit 1; }
done
if [ ! -d node_modules/speedscope ] || [ ! -d node_modules/playwright-core ]
then
  echo '{"private":true}' >package.json
  npm install --no-audit --no-fund --no-package-lock --ignore-scripts \
    speedscope@1.25.0 playwright-core@1.65.1 >npm.log 2>&1 ||
    { cat npm.log; exit 1; }
fi

gzip -dc "$streams/master-lint-nojit.bin.gz" >plain.bin
gzip -dc "$streams/master-lint-jit.bin.gz" >old.bin
"$writer" --write=hostile.bin
for format in html speedscope pprof text; do
  "$ljparse" --min-share=0 --format=$format -o plain.$format plain.bin
done
mv plain.speedscope plain.speedscope.json
"$ljparse" --format=html -o hostile.html hostile.bin
"$ljparse" --format=html --diff old.bin -o diff.html plain.bin
"$ljparse" --min-share=0 --format=html -o jit.html old.bin
"$ljparse" -o old.text old.bin
for metric in alloc inuse; do
  "$ljparse" --min-share=0 --format=folded --metric=$metric \
    -o $metric.folded plain.bin
done

rm -f stacks.* pruned.* nearly.* again.* brief.* kinds.* marks.*
if [ -n "$luajit" ]; then
  "$luajit" -jmemprof=stacks.bin "$here/../../examples/leakhunt.lua" 5000
  for format in html speedscope pprof text; do
    "$ljparse" --min-share=0 --format=$format -o stacks.$format stacks.bin
  done
  mv stacks.speedscope stacks.speedscope.json
  "$ljparse" --min-share=1 --format=html -o pruned.html stacks.bin
  "$luajit" -joff -jmemprof=nearly.bin -e 'keep = {}
    for i = 1, 60000 do keep[i] = { i } end
    keep[1] = nil
    collectgarbage()'
  "$ljparse" --format=html -o nearly.html nearly.bin
  "$luajit" -joff -jmemprof=again.bin -e 'keep = {}
    local function again(n) keep[#keep + 1] = { n } if n > 0 then again(n - 1) end return n end
    for i = 1, 100 do
      again(49)
    end'
  "$ljparse" --format=html -o again.html again.bin
  "$luajit" -jmemprof=brief.bin -e 'for i = 1, 200 do t = { i } end'
  "$ljparse" --format=html -o brief.html brief.bin
  "$luajit" -joff -e 'local m = require("jit.memprof")
    assert(m.start("marks.bin"))
    m.mark("first")
    for i = 1, 30000 do t = { i } end
    for _, s in ipairs({ "second", "third", "fourth" }) do m.mark(s) end
    m.stop()'
  "$ljparse" --format=html -o marks.html marks.bin
  "$luajit" -joff -jmemprof=kinds.bin -e 'local ffi = require("ffi")
    keep = {}
    for i = 1, 100 do
      keep[i] = { newproxy(), coroutine.create(print),
                  function() return i end, "s" .. i, ffi.new("int[4]") }
    end'
  "$ljparse" --format=html -o kinds.html kinds.bin
fi

# What the text report says, line by line as "what: N ..., XB".
number() { # number FILE WHAT FIELD
  sed -n "/^TOTALS:/,\$s/^$2: //p" "$1" | head -n "${4:-1}" | tail -1 |
    tr -c '0-9\n' ' ' | awk -v f="$3" '{ print $f }'
}
size_of() { # allocations and reallocations
  echo $(($(number "$1" allocations 2) + $(number "$1" reallocations 2)))
}
leaf() { # leaf sums of a folded file, largest first: "N FILE:LINE"
  awk '{ n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); s[$0] += n }
       END { for (k in s) printf "%d %s\n", s[k], k }' "$1" | sort -k1,1nr -k2
}
alloc=$(size_of plain.text)
leaf alloc.folded >alloc.leaf
leaf inuse.folded >inuse.leaf
search=luacheck/parser
share=$(awk -v s="$search" '{ all += $NF } index($0, s) { n += $NF }
  END { printf "%.2f", 100 * n / all }' alloc.folded)
cat >want.json <<END
{ "totals": {
    "alloc_size": $alloc,
    "alloc_count": $(($(number plain.text allocations 1) +
                      $(number plain.text reallocations 1))),
    "inuse_size": $(number plain.text "held at the end" 2),
    "peak_size": $(number plain.text "held at the most" 2),
    "temp_size": $(number plain.text "freed by the next event" 2) },
  "top": { "label": "$(sed -n '1s/^[0-9]* //p' alloc.leaf)",
           "alloc_size": $(sed -n '1s/ .*//p' alloc.leaf) },
  "inuse_top": { "label": "$(sed -n '1s/^[0-9]* //p' inuse.leaf)" },
  "search": "$search", "search_share": $share,
  "diff_alloc_size": $((alloc - $(size_of old.text))),
  "hostile": [ "</script><script>window.intruder=1</script>.lua:1",
               "\\\\x1b]0;owned\\\\x07", "[source text #",
               "turn\\\\xe2\\\\x80\\\\xaelua.exe:6" ] }
END

# pprof: totals of all four types, and each line's own.
top() { # top TYPE UNIT [FILE]
  go tool pprof -top -lines -nodecount=1000000 -nodefraction=0 \
    -edgefraction=0 -sample_index="$1" -unit="$2" "${3:-plain.pprof}" \
    2>pprof.log
}
sum() { awk 'NR > 1 && $1 ~ /^[0-9]/ { n += $1 } END { print n + 0 }'; }
same() {
  [ "$2" = "$3" ] && return
  echo "FAIL $1: pprof $2, ljparse $3"
  exit 1
}
top alloc_space B >alloc.top
top inuse_space B >inuse.top
same alloc_space "$(sum <alloc.top)" "$alloc"
same inuse_space "$(sum <inuse.top)" \
  "$(number plain.text "held at the end" 2)"
same alloc_objects "$(top alloc_objects count | sum)" \
  "$(($(number plain.text allocations 1) +
      $(number plain.text reallocations 1)))"
same inuse_objects "$(top inuse_objects count | sum)" \
  "$(number plain.text "held at the end" 1)"
for m in alloc inuse; do
  awk 'NR > 1 && $1 ~ /^[1-9]/ { sub(/B$/, "", $1); s[$NF] += $1 }
       END { for (k in s) printf "%d %s\n", s[k], k }' $m.top |
    sort -k1,1nr -k2 | sed '/(inline)/d' >$m.pprof.leaf
  same "$m, ten largest lines" \
    "$(grep -F .lua: $m.pprof.leaf | head -10)" \
    "$(grep -F .lua: $m.leaf | head -10)"
done
if [ -n "$luajit" ]; then
  same "alloc_space with stacks" "$(top alloc_space B stacks.pprof | sum)" \
    "$(size_of stacks.text)"
  go tool pprof -traces -sample_index=inuse_space stacks.pprof >traces.txt 2>&1
  grep -q 'leakhunt.lua' traces.txt || { echo "FAIL no traces"; exit 1; }
  go tool pprof -raw stacks.pprof >raw.txt 2>&1
  id=$(readelf -n "$luajit" | sed -n 's/^ *Build ID: //p')
  [ -z "$id" ] || grep -q "luajit.*$id" <<<"$(sed -n '/^Mappings/,$p' raw.txt)" ||
    { echo "FAIL no mapping with luajit's build-id"; exit 1; }
fi
go tool pprof -raw plain.pprof >raw.txt 2>&1
grep -q 'inuse_space/bytes\[dflt\]' raw.txt ||
  { echo "FAIL the default sample type"; exit 1; }

NODE_PATH=$dir/node_modules node "$here/drive.js" "$dir"
