# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

@test "cache-refresh: a hundred readers, and it is computed once" {
    example cache-refresh
    contains "$output" "without a lock: 100 readers, computed 100 100 100 times in 3 expiries"
    [ "$(number 'without a second look: 100 readers, computed ([0-9]+) ')" -gt 1 ]
    contains "$output" "with a lock and a second look: 100 readers, computed 1 1 1 times in 3 expiries"
    # Everybody else got something, and who was patient something fresh.
    output=${output##*with a lock and a second look}
    fresh=$(number ' ([0-9]+) times a reader got')
    old=$(number ' ([0-9]+) times the old value')
    [ $((fresh + old)) -eq $((3 * 99)) ]
    [ "$old" -le $((3 * 48)) ]
}
