#!/bin/sh
# SPDX-License-Identifier: MIT
#
# strict.sh INCLUDE - holdfast.hpp compiles without a warning: by gcc and clang,
# as C++17 and C++20, with exceptions and RTTI and without; and so does each of
# its files alone.  It leaves no macro behind but its guards.
set -eu
include=$1
dir=$(mktemp -d "${HF_TEST_DIR:-/tmp}/strict.XXXXXX")
trap 'rm -rf "$dir"' EXIT
strict='-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Werror'

cd "$include"
macros=$(sed -n 's/^ *# *define *//p' holdfast.hpp holdfast/*.hpp |
    grep -v '^HOLDFAST_\([A-Z]*_\)*HPP$') || macros=
[ -z "$macros" ] || { echo "macros: $macros" && exit 1; }

# Every template is instantiated by somebody; classes are as a whole.
cat >"$dir/all.cpp" <<'CPP'
#include <holdfast.hpp>
#include <mutex>
#include <shared_mutex>
namespace all {
using namespace std::chrono_literals;
using clock = std::chrono::system_clock;
void use(const holdfast::client &client, const holdfast::done &done);
void use(const holdfast::client &client, const holdfast::done &done) {
    holdfast::lock a(client, "a"), b(client, "b");
    holdfast::multi both(a, b);
    holdfast::shared_mutex rw(client, "rw");
    std::scoped_lock inside(a, b, rw);
    std::unique_lock<holdfast::lock> until(a, clock::now() + 5s);
    std::shared_lock<holdfast::shared_mutex> reads(rw, clock::now() + 5s);
    holdfast::hold hold = both.acquire(5s);
    hold.release_async(done);
    client.list("", [](const hf_place &) {});
}
} // namespace all
CPP

tried=0
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || { # which the list of packages forgot
        echo "$cxx is not there"
        exit 1
    }
    for std in 17 20; do
        for without in '' '-fno-exceptions -fno-rtti'; do
            # shellcheck disable=SC2086
            $cxx -std=c++$std $without $strict -I. -fsyntax-only "$dir/all.cpp" ||
                { echo "$cxx -std=c++$std $without" && exit 1; }
            tried=$((tried + 1))
        done
    done
done
for header in holdfast/types.hpp holdfast/detail.hpp; do
    echo "#include <$header>" >"$dir/alone.cpp"
    # shellcheck disable=SC2086
    g++ -std=c++17 $strict -I. -fsyntax-only "$dir/alone.cpp"
done
echo "compiled in $tried ways"
