# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

@test "flash-sale: the lock sells what is there, and no lock sells more" {
    example flash-sale
    sold=$(number '^without the lock: 8 tills sold ([0-9]+) of 200')
    [ "$sold" -gt 200 ]
    [ "$(number '^without the lock: .* oversold ([0-9]+)$')" -eq $((sold - 200)) ]
    contains "$output" "with the lock: 8 tills sold 200 of 200, 0 left on the shelf: oversold 0"
    # The second such line is the locked sale's.
    output=${output##*oversold 0}
    [ "$(number ' ([0-9]+) sales a second')" -gt 0 ]
    [ "$(number '([0-9]+) to [0-9]+ by each till')" -ge 1 ]
}
