# SPDX-License-Identifier: MIT
#
# redisson.awk - the figures of redisson_bench --results as tables for a page:
#
#     awk -f bench/page.awk -f bench/redisson.awk build/bench/redisson.tsv
BEGIN { FS = "\t" }

$1 == "about" {
    printf "Of %s: holdfast %s, Redisson %s, Redis %s, %s cores.\n\n", \
        $6, $2, $3, $4, $5
    print "| taken per second | holdfast | Redisson | times | goal |"
    print "|---|---|---|---|---|"
}

$1 == "row" {
    printf "| %s | %s | %s | %s | at least %s |\n", $3, grouped($9), \
        grouped($14), bold($8, $8 >= $4, 2), $4
    if ($5 > 0)
        manners = manners manner()
}

END {
    print ""
    print "| holdfast / Redisson | commands each | goal | fairness | goal " \
        "| handed on per second | longest turn of a process, ms | goal |"
    print "|---|---|---|---|---|---|---|---|"
    printf "%s", manners
}

function manner() {
    return sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", $3, \
        bold($10, $10 <= $5, 2) " / " fixed($15, 2), most($5), \
        bold($11, !$6 || $11 >= $6, 3) " / " fixed($16, 3), least($6), \
        grouped($12) " / " grouped($17), \
        $2 ~ /^one/ ? "" : bold($13, !$7 || $13 <= $7, 1) " / " \
            fixed($18, 1), most($7))
}

function most(goal) { return goal > 0 ? "at most " goal : "" }
function least(goal) { return goal > 0 ? "at least " goal : "" }
