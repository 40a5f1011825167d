#!/bin/sh
# SPDX-License-Identifier: MIT
#
# embed-test.sh [CC] - what embed.awk makes of a small folder, compiled and
# printed, is compared with what it should be.
set -eu
awk=$(cd "$(dirname "$0")" && pwd)/embed.awk
cc=${1:-cc}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

cat >clock.lua <<'END'
--! part
-- The server's clock.
local now = redis.call('TIME')
END
cat >lock_attempt.lua <<'END'
-- lock_attempt.lua - a head that goes away.
--! include clock.lua

    -- and so does this
if KEYS[1] == "a\b" then return "%s\n" end -- stays
END
cat >sqlite.sql <<'END'
-- Before the first section.
-- name: attempt_insert
-- Why it is so.
INSERT INTO t VALUES ("x", ?1)

-- name: empty
-- name: renew
UPDATE t SET a = 'it''s';
END
awk -f "$awk" lock_attempt.lua clock.lua sqlite.sql >texts.gen.h
cat >main.c <<'END'
#include <stdio.h>
#include "texts.gen.h"
int main(void) {
    printf("%s|%s|%s|%s|\n", hf_lock_attempt_lua, hf_sqlite_attempt_insert,
           hf_sqlite_empty, hf_sqlite_renew);
}
END
cat >expected <<'END'
local now = redis.call('TIME')
if KEYS[1] == "a\b" then return "%s\n" end -- stays
|INSERT INTO t VALUES ("x", ?1)
||UPDATE t SET a = 'it''s';
|
END
"$cc" -Wall -Werror -o main main.c
./main | diff expected -

awk -v whole=1 -f "$awk" sqlite.sql >texts.gen.h
cat >main.c <<'END'
#include <stdio.h>
#include "texts.gen.h"
int main(void) {
    fputs(hf_sqlite_sql, stdout);
}
END
"$cc" -Wall -Werror -o main main.c
./main | diff sqlite.sql -

refused() {
    if awk -f "$awk" "$1" >/dev/null 2>complaint; then
        echo "$1 should have been refused" && exit 1
    fi
    grep -q "$2" complaint
}
echo '--! include circle.lua' >circle.lua
echo '--! include nowhere.lua' >lost.lua
echo 'SELECT 1;' >headless.sql
refused circle.lua 'includes itself'
refused lost.lua 'cannot read nowhere.lua'
refused headless.sql 'before the first'
echo "embed: as expected"
