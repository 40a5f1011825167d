#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-alloc.sh [--self-test] - keeps true what hf_set_allocator promises: all
# memory of the library's own comes from src/alloc.c and returns there.  In the
# rest of src/ nobody names malloc, free and their like, neither to call them
# nor to hand them on; nor what allocates for its caller to free.
set -eu

# "file:line: name" for each of them, outside of comments and texts.
bare() {
    find src -name '*.[ch]' ! -path "src/alloc.[ch]" | sort | while read -r file; do
        awk -v file="$file" '
            BEGIN {
                names = "(malloc|calloc|realloc|reallocarray|free|strdup|" \
                    "strndup|asprintf|vasprintf|open_memstream|getline|" \
                    "getdelim|aligned_alloc|posix_memalign|memalign|valloc|" \
                    "pvalloc|get_current_dir_name|scandir|getcwd\\(NULL|" \
                    "realpath\\([^,]*,[ \t]*NULL)"
                called = "(^|[^A-Za-z0-9_.>])" names "[ \t]*[(),;}]"
            }
            {
                line = $0
                gsub(/\\./, "", line)
                gsub(/"[^"]*"/, "", line)
                for (code = ""; line != "";) {
                    if (inside) {
                        end = index(line, "*/")
                        line = end ? substr(line, end + 2) : ""
                        inside = !end
                    } else {
                        begin = index(line, "/*")
                        code = code (begin ? substr(line, 1, begin - 1) : line)
                        line = begin ? substr(line, begin + 2) : ""
                        inside = begin > 0
                    }
                }
                # The name of a statement, or of a field.
                gsub(/X\(free\)|(_t|int|bool) free;|\(\*free\)/, "", code)
                if (match(code, called)) {
                    word = substr(code, RSTART, RLENGTH)
                    gsub(/[^a-z_]/, "", word)
                    printf "%s:%d: %s\n", file, NR, word
                }
            }' "$file"
    done
}

check() {
    wrong=$(bare)
    [ -n "$wrong" ] || return 0
    echo "$wrong"
    echo "the library's memory is taken and given back by hf__malloc, hf__free" \
        "and the others of src/alloc.h"
    return 1
}

# A check that cannot fail shows nothing: each of these lines must be found,
# alone, in a tree that is right otherwise.
self_test() {
    tree=$(mktemp -d)
    trap 'rm -rf "$tree"' EXIT
    cd "$tree"
    mkdir -p src/backend
    printf 'void *hf__malloc(size_t n) {\n    return malloc(n);\n}\n' >src/alloc.c
    cat >src/backend/x.c <<'RIGHT'
/* Nobody calls free(it) here, nor
 * malloc(3), nor strdup(text). */
static const char *text = "free(it) \"malloc(3)\"";
    hf__free(p); /* not free(p) */
    p = hf__malloc(3), q = hf__calloc(1, 3);
    pool->free(p);
    X(free) X(keep)
    pthread_cond_t free;
    void (*free)(hf_topology *t);
    pthread_cond_init(&p->free, NULL);
    mem = (nghttp2_mem){.free = take_back};
    tdestroy(w->seen, hf__free);
    if (realpath(parent, folder) != NULL)
        freeaddrinfo(found);
RIGHT
    check || { echo "self-test: the right tree was refused" && exit 1; }
    cp src/backend/x.c kept
    while read -r line; do
        echo "    $line" >>src/backend/x.c
        if check >complaint; then
            echo "self-test: '$line' was not noticed"
            exit 1
        fi
        grep -q '^src/backend/x.c:15: ' complaint
        cp kept src/backend/x.c
    done <<'WRONG'
free(p);
free (p);
if (p) free(p);
p = malloc(3);
x *p = calloc(1, sizeof *p), *q;
p = realloc(p, 3);
p = reallocarray(p, 3, 3);
*ret = text ? strdup(text) : NULL;
return strndup(text, 3);
/* x */ free(p); /* y */
if (asprintf(&text, "%d", 3) < 0)
FILE *f = open_memstream(&text, &size);
while (getline(&text, &size, f) > 0)
tdestroy(w->seen, free);
mem = (nghttp2_mem){.free = free};
give_back = free;
char *self = realpath(path, NULL);
char *here = getcwd(NULL, 0);
WRONG
    echo "self-test: every one was found"
}

case ${1-} in
--self-test) self_test ;;
'') cd "$(dirname "$0")/.." && check ;;
*) echo "usage: tools/check-alloc.sh [--self-test]" >&2 && exit 2 ;;
esac
