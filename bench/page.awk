# SPDX-License-Identifier: MIT
#
# page.awk - how figures are written on a page; goes in front of redisson.awk
# and its like, which make the tables.

# A goal that was missed stands out.
function bold(value, met, digits) {
    if (value == "-" || value == 0)
        return "-"
    return met ? fixed(value, digits) : "**" fixed(value, digits) "**"
}

function fixed(value, digits) {
    return value == "-" ? "-" : sprintf("%.*f", digits, value)
}

# 12345 as "12 345"
function grouped(value,    text, out) {
    if (value == "-")
        return "-"
    text = sprintf("%.0f", value)
    while (length(text) > 3) {
        out = " " substr(text, length(text) - 2) out
        text = substr(text, 1, length(text) - 3)
    }
    return text out
}
