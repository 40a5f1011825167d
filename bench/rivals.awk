# SPDX-License-Identifier: MIT
#
# rivals.awk - the figures of zookeeper_bench and its like, with --results, as
# a table for a page:
#
#     awk -f bench/page.awk -f bench/rivals.awk build/bench/zookeeper.tsv
BEGIN { FS = "\t" }

$1 == "about" { about = sprintf("%s %s, %s cores", $2, $3, $4); day = $5 }

$1 == "side" {
    name[n++] = $2
    if ($3 != "-")
        sides = sides $2 " " $3 "; "
}

$1 == "row" && !rows++ { head() }

$1 == "row" {
    printf "| %s | %s |", $3, grouped($5)
    for (i = 1; i < n; i++)
        printf " %s | %s |", grouped($(3 + 3 * i)), \
            bold($(4 + 3 * i), $(5 + 3 * i), 2)
    print ""
}

function head(    i) {
    printf "Of %s: %s%s.\n\n| taken per second | %s |", day, sides, about, \
        name[0]
    for (i = 1; i < n; i++)
        printf " %s | ours by it |", name[i]
    printf "\n|---|---|"
    for (i = 1; i < n; i++)
        printf "---|---|"
    print ""
}
