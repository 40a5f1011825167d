# SPDX-License-Identifier: MIT
#
# tidy.awk -v release="holdfast 1.0.0" - what scdoc writes, made better roff:
#
# - the version stands in the foot of each page, from one place;
# - no word is broken, least of all an option;
# - no paragraph is begun beside a heading, at an end or twice: mandoc warns;
# - what may be copied into a shell is written in characters that every roff
#   leaves alone, so that a minus is no hyphen and a quote is no apostrophe.
function plain(s) {
    gsub(/-/, "\\-", s)
    gsub(/(\\&)?'(\\&)?/, "\\(aq", s)
    gsub(/`/, "\\(ga", s)
    gsub(/\^/, "\\(ha", s)
    gsub(/~/, "\\(ti", s)
    return s
}

function bold(s,    out, at) {
    while ((at = index(s, "\\fB")) > 0) {
        out = out substr(s, 1, at + 2)
        s = substr(s, at + 3)
        at = index(s, "\\fR")
        if (at == 0)
            at = length(s) + 1
        out = out plain(substr(s, 1, at - 1))
        s = substr(s, at)
    }
    return out s
}

# A paragraph waits for what follows it, and stays behind an end.
function put(s) {
    if (s != ".RE") {
        if (waits && s !~ /^\.(SH|SS)/)
            print ".P"
        waits = 0
    }
    print s
    after = s
}

/^\.(nh|ad l)$/ { next } # where they stand .TH undoes them
/^\.TH / {
    put($0 " \"" release "\" \"holdfast manual\"")
    print ".nh\n.ad l"
    next
}
/^\.nf$/ { literal = 1 }
/^\.fi$/ { literal = 0 }
/^\.P$/ && !literal {
    waits = after !~ /^\.(SH|SS|TH)/
    next
}
literal && !/^\.(nf|RS)/ { put(plain($0)); next }
/^\./ { put($0); next }
{ put(bold($0)) }
