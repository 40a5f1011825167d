# SPDX-License-Identifier: MIT
#
# expand.awk -v parts=FOLDER - puts parts/NAME.scd where a page says
# "%part NAME": what several commands have in common is written once.
/^%part / {
    file = parts "/" $2 ".scd"
    n = 0
    while ((got = (getline line < file)) > 0) {
        n++
        print line
    }
    close(file)
    if (n == 0) {
        print "there is no part " file | "cat >&2"
        exit 1
    }
    next
}
{ print }
