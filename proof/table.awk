# SPDX-License-Identifier: MIT
#
# table.awk - makes one table of many verdicts, a row for each store and fault:
#
#     awk -f proof/table.awk *.tsv >>docs/reliability.md
#
# Reads what `hf-judge --tsv` and its like print: lines of numbers under heads
# that name the columns, in whatever order.  Counts are added up; of waits and
# other extents the worst is kept.
BEGIN { FS = "\t" }

function ns(t) {
    if (t >= 1e9)
        return sprintf("%.2f s", t / 1e9)
    return t >= 1e6 ? sprintf("%.1f ms", t / 1e6) : t > 0 ? "< 1 ms" : "–"
}

# 1234567 as 1 234 567.
function many(n, text, cut) {
    text = sprintf("%d", n)
    for (cut = length(text) - 3; cut > 0; cut -= 3)
        text = substr(text, 1, cut) " " substr(text, cut + 1)
    return text
}

function field(name) {
    return name in column ? $column[name] : 0
}

function add(name) {
    sum[row, name] += field(name)
}

function keep_worst(name) {
    if (field(name) + 0 > top[row, name] + 0)
        top[row, name] = field(name) + 0
}

$1 == "store" {
    delete column
    for (i = 1; i <= NF; i++) {
        column[$i] = i
        name = $i
        if (sub(/\.broken$/, "", name) && !(name in known)) {
            known[name] = 1
            names[++n_names] = name
        }
    }
    next
}

NF > 1 {
    row = $1 SUBSEP $2
    if (!(row in trials))
        rows[++n_rows] = row
    trials[row]++
    if (field("verdict") == "BROKEN")
        bad[row]++
    n = split("seconds grants timeouts doubts losses deaths pauses faults", of, " ")
    for (i = 1; i <= n; i++)
        add(of[i])
    keep_worst("longest_wait_ns")
    for (i = 1; i <= n_names; i++) {
        add(names[i] ".broken")
        keep_worst(names[i] ".worst")
        if (field(names[i] ".waived") + 0)
            waived[row, names[i]] = 1
    }
}

# "EXCLUSION 3 (1.20 s)": those that a promise was kept about, or not.
function broken(row, forgiven, i, text, name, n, worst) {
    for (i = 1; i <= n_names; i++) {
        name = names[i]
        n = sum[row, name ".broken"]
        if (n == 0 || ((row, name) in waived) != forgiven)
            continue
        worst = top[row, name ".worst"]
        if (name == "PERMITS" || name == "LEFTOVERS")
            worst = worst ""
        else
            worst = worst > 0 ? ns(worst) : ""
        text = text (text == "" ? "" : ", ") name " " many(n) (worst == "" ? "" : " (" worst ")")
    }
    return text == "" ? "–" : text
}

END {
    print "| store | fault | trials | time | grants | lost | killed, stopped, faults | longest wait | longest idle | broken | only a token helped |"
    print "|---|---|---|---|---|---|---|---|---|---|---|"
    for (r = 1; r <= n_rows; r++) {
        row = rows[r]
        split(row, key, SUBSEP)
        printf "| %s | %s | %d | %.0f s | %s | %s | %s, %s, %s | %s | %s | %s | %s |\n", key[1], key[2], trials[row],
            sum[row, "seconds"], many(sum[row, "grants"]), many(sum[row, "losses"]), many(sum[row, "deaths"]),
            many(sum[row, "pauses"]), many(sum[row, "faults"]), ns(top[row, "longest_wait_ns"]),
            ns(top[row, "HANDOFF.worst"]), broken(row, 0), broken(row, 1)
    }
}
