# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

# postgres: the address of the server that hf-lender lends, in $uri.
postgres() {
    local lent=${HF_TEST_DIR:-/tmp}/lent-postgres/0
    if [ ! -e "$lent" ]; then
        local rc=0
        HF_TEST_DIR=$DIR "${HF_LENDER:-hf-lender}" start postgres 1 3>&- || rc=$?
        [ "$rc" -ne 77 ] || skip "PostgreSQL is not installed"
        [ "$rc" -eq 0 ]
        lent=$DIR/lent-postgres/0
    fi
    read -r uri <"$lent"
}

# The same plot three times; the last line of each act counts.
was_exactly_once() {
    without='^without the guard: 12 of 12 jobs done'
    [ "$(number "$without, ([0-9]+) effects")" -gt 13 ]
    [ "$(number "$without.* ([0-9]+) jobs exactly once")" -lt 11 ]
    [ "$(number "$without.*refused: ([0-9]+)")" -eq 0 ]
    # A guard at the write does not help who looked too early.
    half='^with the guard at the write alone: 12 of 12 jobs done'
    [ "$(number "$half, ([0-9]+) effects")" -gt 12 ]
    [ "$(number "$half.*refused: ([0-9]+)")" -ge 1 ]
    contains "$output" "with the guard: 12 of 12 jobs done, 12 effects, 12 jobs exactly once"
    [ "$(number "^with the guard: .*refused: ([0-9]+)")" -ge 2 ]
    [ "$(grep -c 'is killed' <<<"$output")" -eq 9 ]
}

@test "exactly-once: PostgreSQL refuses who overslept its lease" {
    postgres
    example exactly-once "$uri"
    contains "$output" "jobs in PostgreSQL"
    contains "$output" "is refused: ERROR:  holdfast: token "
    was_exactly_once
}

@test "exactly-once: without a server SQLite does, and it says so" {
    example exactly-once
    contains "$output" "jobs in SQLite: no PostgreSQL was named"
    contains "$output" "is refused: holdfast: the token is older than one seen before"
    was_exactly_once
}
