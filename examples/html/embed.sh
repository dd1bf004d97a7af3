#!/usr/bin/env bash
# Puts template.html into ljparse.c as C strings, after writing into its
# content security policy the hashes of the one script and the one style
# sheet that may run. --check changes nothing and fails if anything would.
#   embed.sh [--check] [FILE.c]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
check=
if [ "${1:-}" = --check ]; then check=1; shift; fi
target=${1:-$here/../ljparse.c}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The text between two lines, as a browser hashes it.
hash_of() {
  { echo; sed -n "/^<$1>\$/,/^<\/$1>\$/p" "$here/template.html" |
    sed '1d;$d'; } | sha256sum | cut -d' ' -f1 | tr a-f A-F |
    basenc --base16 -d | base64
}
script=$(hash_of script)
style=$(hash_of style)
sed -e "s|^ script-src 'sha256-[^']*'; style-src 'sha256-[^']*';\$| script-src 'sha256-$script'; style-src 'sha256-$style';|" \
  "$here/template.html" > "$work/page.html"
grep -qF "sha256-$script'; style-src 'sha256-$style'" "$work/page.html"

# C string literals of at most 76 columns, one array element a line of HTML.
cat > "$work/strings.awk" <<'AWK'
function element(s, end,   c, out, n, i, width) {
  out = ""; n = length(s); width = 0
  printf "  \""
  for (i = 1; i <= n; i++) {
    c = substr(s, i, 1)
    if (c == "\\" || c == "\"") c = "\\" c
    else if (c == "?") c = "\\?"
    if (width + length(c) > 70) { printf "%s\"\n  \"", out; out = ""; width = 0 }
    out = out c; width += length(c)
  }
  if (width + length(end) > 71) { printf "%s\"\n  \"", out; out = "" }
  printf "%s%s\",\n", out, end
}
BEGIN { print "static const char *const ljc_page_head[] = {" }
{
  at = index($0, "@MODEL@")
  if (at == 0) { element($0, "\\n"); next }
  element(substr($0, 1, at - 1), "")
  print "};"; print ""
  print "static const char *const ljc_page_tail[] = {"
  element(substr($0, at + 7), "\\n")
}
END { print "};" }
AWK
begin='/* -- HTML page: made from html/template.html by html/embed.sh ---------- */'
end='/* -- End of the HTML page ----------------------------------------------- */'
grep -qF -- "$begin" "$target" && grep -qF -- "$end" "$target" || {
  echo "embed.sh: $target lacks the two rule lines" >&2; exit 1; }
{
  awk -v line="$begin" '{ print } $0 == line { exit }' "$target"
  echo
  LC_ALL=C awk -f "$work/strings.awk" "$work/page.html"
  echo
  awk -v line="$end" '$0 == line { on = 1 } on' "$target"
} > "$work/new.c"
[ "$(grep -c '@MODEL@' "$work/page.html")" = 1 ]

if [ -n "$check" ]; then
  cmp "$work/page.html" "$here/template.html" &&
  cmp "$work/new.c" "$target" || {
    echo "embed.sh: run examples/html/embed.sh and commit" >&2; exit 1; }
  echo "embed.sh: in step"
else
  cmp -s "$work/page.html" "$here/template.html" ||
    cat "$work/page.html" > "$here/template.html"
  cmp -s "$work/new.c" "$target" || cat "$work/new.c" > "$target"
fi
