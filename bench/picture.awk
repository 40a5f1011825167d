# SPDX-License-Identifier: MIT
#
# picture.awk - draws the figures of redisson_bench --results as an SVG:
#
#     awk -f bench/picture.awk build/bench/redisson.tsv >docs/performance.svg
#
# Bars on a logarithmic scale, ours above theirs.  The picture has a ground of
# its own and a second set of colours, so it can be read on any page.
BEGIN { FS = "\t" }

$1 == "about" {
    ours = $2
    theirs = $3
    redis = $4
    cores = $5
    day = $6
}

$1 == "row" {
    n++
    title[n] = $3
    times[n] = $8
    rate[n, 1] = $9
    commands[n, 1] = $10
    fairness[n, 1] = $11
    handed[n] = $12 > 0
    rate[n, 2] = $14
    commands[n, 2] = $15
    fairness[n, 2] = $16
    for (side = 1; side <= 2; side++)
        if (rate[n, side] != "-")
            widen(rate[n, side])
}

END {
    if (!n) {
        print "picture.awk: no rows" >"/dev/stderr"
        exit 1
    }
    left = 310; right = 750; width = 860; step = 42; top = 104
    low = floor(log10(least)); high = ceil(log10(most))
    height = top + n * step + 62
    head()
    scale()
    for (i = 1; i <= n; i++)
        row(i)
    say(20, height - 18, "small", "commands: sent to the server for each " \
        "time it is taken; fairness: Jain's index over all threads, 1 is " \
        "equal shares; holdfast's and Redisson's")
    print "</svg>"
}

function widen(value) {
    if (least == "" || value + 0 < least)
        least = value + 0
    if (value + 0 > most)
        most = value + 0
}

function log10(x) { return log(x) / log(10) }
function floor(x) { return int(x) - (x < int(x)) }
function ceil(x) { return -floor(-x) }

function at(value) {
    return left + (log10(value) - low) / (high - low) * (right - left)
}

# 12345 as "12 345"
function grouped(value,    text, out) {
    text = sprintf("%.0f", value)
    while (length(text) > 3) {
        out = " " substr(text, length(text) - 2) out
        text = substr(text, 1, length(text) - 3)
    }
    return text out
}

function say(x, y, class, text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", \
        x, y, class, text
}

function bar(x, y, w, class) {
    printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\" " \
        "rx=\"2\" class=\"%s\"/>\n", x, y, w, class
}

function head() {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" " \
        "width=\"%d\" height=\"%d\" role=\"img\" " \
        "aria-label=\"holdfast beside Redisson\">\n", \
        width, height, width, height
    print "<style>"
    print "text { font: 12px system-ui, sans-serif; fill: #1f2328 }"
    print ".big { font-size: 17px; font-weight: 600 }"
    print ".small { font-size: 11px; fill: #59636e }"
    print ".mid { text-anchor: middle }"
    print ".end { text-anchor: end; font-weight: 600 }"
    print ".ground { fill: #ffffff; stroke: #d1d9e0 }"
    print ".line { stroke: #d1d9e0 }"
    print ".ours { fill: #0969da }"
    print ".theirs { fill: #bc6c25 }"
    print "@media (prefers-color-scheme: dark) {"
    print "  text { fill: #f0f6fc }"
    print "  .small { fill: #9198a1 }"
    print "  .ground { fill: #0d1117; stroke: #3d444d }"
    print "  .line { stroke: #3d444d }"
    print "  .ours { fill: #4493f8 }"
    print "  .theirs { fill: #d29922 }"
    print "}"
    print "</style>"
    printf "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\" " \
        "class=\"ground\"/>\n", width - 1, height - 1
    say(20, 32, "big", "How often a lock is taken, per second")
    say(20, 52, "small", "holdfast " ours ", Redisson " theirs ", Redis " \
        redis ", " cores " cores, " day "; a logarithmic scale")
    bar(20, 66, 12, "ours")
    say(38, 76, "", "holdfast")
    bar(110, 66, 12, "theirs")
    say(128, 76, "", "Redisson")
    say(width - 20, 76, "end", "times")
}

function scale(    k, x) {
    for (k = low; k <= high; k++) {
        x = at(10 ^ k)
        printf "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" " \
            "class=\"line\"/>\n", x, top - 6, x, top + n * step
        say(x, top + n * step + 18, "small mid", grouped(10 ^ k))
    }
}

function both(of, i, digits) {
    return sprintf("%.*f", digits, of[i, 1]) \
        (of[i, 2] == "-" ? "" : sprintf(" and %.*f", digits, of[i, 2]))
}

function row(i,    y, side, class) {
    y = top + (i - 1) * step
    say(20, y + 13, "", title[i])
    if (rate[i, 1] != "-")
        say(20, y + 28, "small", "commands " both(commands, i, 2) \
            (handed[i] ? ", fairness " both(fairness, i, 2) : ""))
    for (side = 1; side <= 2; side++) {
        if (rate[i, side] == "-")
            continue
        class = side == 1 ? "ours" : "theirs"
        bar(left, y + (side - 1) * 15, at(rate[i, side]) - left, class)
        say(at(rate[i, side]) + 5, y + (side - 1) * 15 + 10, "small", \
            grouped(rate[i, side]))
    }
    if (times[i] > 0)
        say(width - 20, y + 18, "end", sprintf("%.1f", times[i]))
}
