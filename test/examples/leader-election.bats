# SPDX-License-Identifier: MIT
# shellcheck disable=SC2154

load helper

# The timeline without times and tokens, and with the candidates by the order
# in which they led.
plot() {
    awk '/ ms  / { sub(/^ *[0-9]+ ms  /, ""); sub(/[,;]? ?token [0-9]+$/, "")
        if (!($1 in order)) order[$1] = ++n
        $1 = order[$1]; print }' <<<"$output"
}

@test "leader-election: one after the other, and who slept is told so" {
    example leader-election
    diff - <(plot) <<'PLOT'
1 leads
1 is killed: kill -9
2 leads
2 is stopped: it cannot renew, nor hear anything
3 leads
2 goes on
2 is told that it lost the lead, and stops
3 resigns
2 leads
2 resigns
PLOT
    # Tokens, as they were printed by who led.
    sed -n 's/^.* leads, token //p' <<<"$output" >tokens
    sort -nu tokens | diff tokens -
    # The embedded store notices death at once; of a stopped process it only
    # knows the lease.
    [ "$(number 'after kill -9 another one led within ([0-9]+) ms')" -lt 1500 ]
    [ "$(number 'after SIGSTOP within ([0-9]+) ms')" -ge 1000 ]
    contains "$output" "4 terms, tokens grow with each"
}
