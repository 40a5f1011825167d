#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pages.sh BUILD CXX - compiles and runs the C++ of README.md and docs/cpp.md.
#
# The page's first piece is a program; each of the others stands in the place of
# its last line, "return 0;", in a function of its own.
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
sed '/^int main() {$/,$d' page-01.part >page.cpp
n=0
for part in page-*.part; do
    n=$((n + 1))
    awk -v n="$n" -v part="$part" '
        /^int main\(\) {$/ { printf "\nstatic int piece_%d() {\n", n; on = 1; next }
        on && /^    return 0;$/ && n > 1 {
            while ((getline line <part) > 0) print "    " line
        }
        on' page-01.part >>page.cpp
done
{
    printf '\nint main() {\n'
    for i in $(seq $n); do
        echo "    std::cout << \"piece $i\" << std::endl, piece_$i();"
    done
    echo '}'
} >>page.cpp
runs page
if [ "$(grep -c '^piece ' page.out)" != "$n" ] || [ "$n" -lt 9 ]; then
    echo "only these were run:" && cat page.out && exit 1
fi
echo "$n pieces compiled and run"
