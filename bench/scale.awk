# SPDX-License-Identifier: MIT
#
# scale.awk - the figures of scale_bench as tables for a page, and what a
# million a second would take by them:
#
#     awk -f bench/page.awk -f bench/scale.awk build/bench/scale.tsv
BEGIN {
    FS = "\t"
    BUSY = 0.7    # of a core, for a master with something in reserve
    HEADER = 66   # bytes of Ethernet, IP and TCP around a packet
    RENEWED = 10  # seconds: a third of the lease of 30
}

$1 == "about" {
    printf "Of %s: holdfast %s, Redis %s, %s cores, %s locks held for the " \
        "memory of each.\n", $5, $2, $3, $4, grouped($6)
}

$1 == "held" {
    title("| held | bytes while it is held | of these stay for ever |", 3)
    printf "| %s | %s | %s |\n", $2, grouped($3), grouped($4)
    if ($2 == "lock") {
        held = $3
        stays = $4
    }
}

$1 == "renewal" {
    renewal = $2
    title("| | CPU of the server, µs | packets in | out | bytes in | out |", 6)
    printf "| renewing a lock, many in one request | %s | %s | %s | %s " \
        "| %s |\n", fixed($2, 2), fixed($3, 4), fixed($4, 4), grouped($5), \
        grouped($6)
}

$1 == "waiter" {
    title("| waits, so many of them | bytes of each | CPU of the server " \
        "for each, µs a second | packets in for each, a second |", 4)
    printf "| %s, %s | %s | %s | %s |\n", $2, grouped($3), \
        grouped(none_below($4)), fixed(none_below($5), 1), fixed($6, 3)
}

$1 == "acquisition" {
    title("| taken and given back | CPU of the server, µs | of the clients " \
        "| packets in | out | bytes in | out |", 7)
    printf "| %s | %s | %s | %s | %s | %s | %s |\n", $3, fixed($4, 1), \
        fixed($5, 1), fixed($6, 3), fixed($7, 3), grouped($8), grouped($9)
    if ($2 == "crowd")
        bytes = $8 + $9
}

# One client of many threads, and many clients of one.
$1 == "masters" {
    title("| 64 threads over 1024 names, for a pair | one client: CPU of all " \
        "masters, µs | packets in | 64 clients: CPU of all masters, µs " \
        "| packets in | share of the busiest |", 6)
    printf "| %s | %s | %s | %s | %s | %s %% |\n", $2, fixed($4, 1), \
        fixed($8, 3), fixed($9, 1), fixed($13, 3), fixed($12 * 100, 0)
    take(crowd, 4)
    take(alone, 9)
}

END {
    title("| a million pairs a second | clients of 64 busy threads " \
        "| clients of one thread |", 3)
    both("cores that the masters keep busy", crowd["cpu"], alone["cpu"])
    both("masters, each busy for " 100 * BUSY " % of its core", \
        masters(crowd), masters(alone))
    both("cores that a replica of each keeps busy", crowd["replica"], \
        alone["replica"])
    both("cores that the clients keep busy", crowd["client"], alone["client"])
    both("packets a second, in and out, of all masters", \
        crowd["packets"] * 1e6, alone["packets"] * 1e6)
    both("… of each of them", crowd["packets"] * 1e6 / masters(crowd), \
        alone["packets"] * 1e6 / masters(alone))
    both("Mbit a second, headers included, of all masters", mbit(crowd), \
        mbit(alone))

    title("| a million locks held | |", 2)
    one("memory of the servers, MiB", held * 1e6 / 1048576)
    one("renewals a second, with leases of 30 s", 1e6 / RENEWED)
    one("per cent of a core for the renewals", renewal * 1e6 / RENEWED / 1e4)
    one("MiB for the tokens of a million names, held or not", \
        stays * 1e6 / 1048576)
}

# What came last counts: three masters with a replica each.
function take(of, at) {
    of["cpu"] = $at
    of["replica"] = $(at + 1)
    of["client"] = $(at + 2)
    of["packets"] = 2 * $(at + 4)
}

# The head of a table, once.
function title(words, columns) {
    if (words in said)
        return
    said[words] = 1
    print "\n" words
    while (columns-- > 0)
        printf "|---"
    print "|"
}

# What is lost in the noise may come out below nothing.
function none_below(value) {
    return value > 0 ? value : 0
}

function one(what, value) {
    printf "| %s | %s |\n", what, grouped(value)
}

function both(what, first, second) {
    printf "| %s | %s | %s |\n", what, grouped(first), grouped(second)
}

# A pair takes so many µs: a million of them so many seconds of a core.
function masters(of) {
    return int(of["cpu"] / BUSY) + 1
}

function mbit(of) {
    return (bytes + of["packets"] * HEADER) * 8
}
