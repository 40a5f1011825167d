# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

@test "price-list: readers read side by side, and never half a list" {
    example price-list
    [ "$(number '^without the lock: .* ([0-9]+) of them mixed')" -gt 0 ]
    [ "$(number '^with the lock: ([0-9]+) lists read while 10 were written')" -ge 6 ]
    [ "$(number '^with the lock: .* ([0-9]+) of them mixed')" -eq 0 ]
    [ "$(number '^with the lock: .* at most ([0-9]+) readers')" -eq 6 ]
}
