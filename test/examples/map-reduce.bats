# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

@test "map-reduce: parts are taken when they are there, and all are waited for" {
    example map-reduce
    contains "$output" "nothing is there yet: 0 parts, 6 missing"
    contains "$output" "without the latch: 0 of 1830"
    contains "$output" "with the latch: 1830 of 1830, in 6 parts"
    contains "$output" "left: 0 parts, 0 missing"
}
