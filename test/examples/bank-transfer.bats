# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

@test "bank-transfer: a multi-lock loses no entry, and nobody waits for ever" {
    example bank-transfer
    entries=$(number '^without locks: 150 of 150 transfers, ([0-9]+) of 300 entries')
    [ "$entries" -lt 300 ]
    contains "$output" "one lock after the other: 0 of 2 transfers"
    contains "$output" "with a multi-lock: 150 of 150 transfers, 300 of 300 entries in the books, 4000 of 4000 in the bank"
}
