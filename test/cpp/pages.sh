#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pages.sh BUILD CXX - compiles and runs the C++ of docs/cpp.md and README.md.
#
# The page's first piece is a program; the others become one in the place of
# its last line, "return 0;".
set -eu
build=$1
cxx=$2
top=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d "${HF_TEST_DIR:-/tmp}/pages.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir"

pieces() { # page name: name-01.part, name-02.part, ...
    awk -v name="$2" '/^```cpp$/ { file = sprintf("%s-%02d.part", name, ++n); next }
        /^```$/ { file = "" } file { print >file }' "$1"
}

runs() { # program
    "$cxx" -std=c++17 -Wall -Wextra -Werror "-I$top/include" "$1.cpp" \
        "-L$build/lib" -lholdfast "-Wl,-rpath,$build/lib" -pthread -o "$1" ||
        { echo "does not compile:" && cat "$1.cpp" && exit 1; }
    HOLDFAST_STORE=sqlite:$dir/$1.db "./$1" >"$1.out" 2>&1 ||
        { echo "fails:" && cat "$1.cpp" "$1.out" && exit 1; }
}

pieces "$top/README.md" readme
mv readme-01.part readme.cpp
runs readme
grep -q '^ours, with token [0-9]' readme.out ||
    { echo "the README's program says: $(cat readme.out)" && exit 1; }

pieces "$top/docs/cpp.md" page
for part in page-*.part; do
    program=${part%.part}
    awk -v part="$part" '/^    return 0;$/ && part != "page-01.part" {
            while ((getline line <part) > 0) print "    " line
        } { print }' page-01.part >"$program.cpp"
    runs "$program"
done
n=$(find . -name 'page-*.part' | wc -l)
[ "$n" -ge 9 ] || { echo "only $n pieces were found" && exit 1; }
echo "$n pieces compiled and run"
