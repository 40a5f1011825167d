# SPDX-License-Identifier: MIT
#
# topology.awk - the figures of topology_bench --results as a table for a page:
#
#     awk -f bench/page.awk -f bench/topology.awk build/bench/topology.tsv
BEGIN { FS = "\t" }

$1 == "about" {
    printf "Of %s: holdfast %s, Redis %s, %s cores.\n\n", $5, $2, $3, $4
    print "| | a pair of 1 thread, µs | times as long | pairs per second " \
        "of 64 threads | of the rate | CPU of all servers, µs a pair | times |"
    print "|---|---|---|---|---|---|---|"
}

$1 == "row" {
    printf "| %s | %s | %s | %s | %s | %s | %s |\n", $3, grouped($4), \
        fixed($5, 2), grouped($6), fixed($7, 2), fixed($8, 1), fixed($9, 2)
}
