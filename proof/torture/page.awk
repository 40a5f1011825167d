# SPDX-License-Identifier: MIT
#
# page.awk - tables for docs/torture.md out of what `make torture` measured:
#
#     awk -f proof/torture/page.awk build/proof/torture.tsv
#
# First a row for each store, then one for each store and fault.
BEGIN { FS = "\t" }

NR == 1 {
    for (i = 1; i <= NF; i++)
        column[$i] = i
    next
}

function of(name) { return $column[name] }
function most(a, b) { return a > b ? a : b }

{
    key = of("store")
    if (!(key in n))
        order[++stores] = key
    for (who = 0; who < 2; who++) {
        k = who ? "all" : key
        n[k]++
        seconds[k] += of("seconds")
        faults[k] += of("faults")
        kills[k] += of("kills")
        stops[k] += of("stops")
        grants[k] += of("grants")
        doubts[k] += of("doubts")
        losses[k] += of("losses")
        wait[k] = most(wait[k], of("longest_wait_s") + 0)
        idle[k] = most(idle[k], of("longest_idle_s") + 0)
        spoilt[k] += of("spoilt")
    }
    row[++rows] = sprintf("| %s | %s | %d | %d, %d | %d | %d | %d | %s | %s | %d | %s |",
        key, of("fault"), of("faults"), of("kills"), of("stops"), of("grants"),
        of("doubts"), of("losses"), of("longest_wait_s"), of("longest_idle_s"),
        of("spoilt"), of("findings") == "" ? of("verdict") : of("findings"))
}

function total(k, shown) {
    printf "| %s | %d | %d | %d, %d | %d | %d | %d | %.2f | %.2f | %d |\n",
        shown, seconds[k], faults[k], kills[k], stops[k], grants[k], doubts[k],
        losses[k], wait[k], idle[k], spoilt[k]
}

END {
    print "| store | s | faults | killed, stopped | grants | doubts | told of loss | longest wait, s | free with a waiter, s | spoilt |"
    print "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for (i = 1; i <= stores; i++)
        total(order[i], order[i])
    total("all", "**all**")
    print ""
    print "| store | fault | faults | killed, stopped | grants | doubts | told of loss | longest wait, s | free with a waiter, s | spoilt | verdict |"
    print "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    for (i = 1; i <= rows; i++)
        print row[i]
}
