# SPDX-License-Identifier: MIT
#
# abi-grown.awk - of the descriptions OLD and NEW, writes NEW without what was
# added to the end of structs in the list MAY-GROW, so that abidiff sees what
# is left; what that was goes to the file `told`.
#
#     awk -v told=FILE -f abi-grown.awk MAY-GROW OLD NEW
function attribute(name) {
    if (!match($0, " " name "='[^']*'"))
        return ""
    return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
}

FNR == 1 {
    file++
}

file == 1 {
    if ($1 == "sized" || $1 == "lent")
        how[$2] = $1
    next
}

/<class-decl / && attribute("size-in-bits") != "" && attribute("name") in how {
    struct = attribute("name")
    size = attribute("size-in-bits")
    n = added = 0
    if (file == 2)
        old_size[struct] = size
    else if (struct in old_size && size + 0 > old_size[struct] + 0)
        sub("size-in-bits='[0-9]*'", "size-in-bits='" old_size[struct] "'")
}

struct != "" && /<data-member / {
    offset = attribute("layout-offset-in-bits")
}

file == 2 {
    if (struct != "" && /<var-decl /)
        fields[struct] = ++n
}

# Beyond the old fields; and where the caller says the size, beyond that, too.
file == 3 && struct in fields && /<data-member / && n >= fields[struct] &&
    (how[struct] == "lent" || offset + 0 >= old_size[struct] + 0) {
    added = 1
}

file == 3 && struct != "" && /<var-decl / {
    n++
    if (added)
        print "  [A] '" attribute("name") "' of " struct >told
}

file == 3 && !added

/<\/data-member>/ {
    added = 0
}

/<\/class-decl>/ {
    struct = ""
}
