# SPDX-License-Identifier: MIT
#
# What the examples show is the lock's doing: with one that locks nothing they
# fail.  (A sanitizer's run-time does not bear what is preloaded.)
# shellcheck disable=SC2154

load helper

# fails NAME TEXT: it does, and prints that.
fails() {
    LD_PRELOAD=$HF_NO_LOCK run -1 "$HF_EXAMPLES/$1"
    [[ $output =~ $2 ]] || {
        echo "$output"
        return 1
    }
}

@test "control: without a lock that locks each example fails" {
    export TMPDIR=$DIR
    fails flash-sale 'with the lock: .* oversold [1-9]'
    fails bank-transfer 'one lock after the other: 2 of 2 transfers'
    fails price-list 'with the lock: .* [1-9][0-9]* of them mixed'
    fails rate-limit 'with 3 permits: .* at most [4-8] at a time'
    fails cache-refresh 'a second look: 100 readers, computed 100 100 100 '
    fails exactly-once 'with the guard: .* refused: 0'
}
