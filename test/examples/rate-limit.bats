# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

@test "rate-limit: as many at a time as there are permits, which return" {
    example rate-limit
    [ "$(number '^without permits: 40 of 40 calls answered, at most ([0-9]+) at a time')" -gt 3 ]
    [ "$(grep -c 'hangs in a call and is killed' <<<"$output")" -eq 3 ]
    contains "$output" "with 3 permits: 25 of 28 calls answered, at most 3 at a time"
}
