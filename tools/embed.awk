# SPDX-License-Identifier: MIT
#
# embed.awk - makes one C header of strings out of scripts and statements.
#
#     awk -f embed.awk lock_attempt.lua … sqlite.sql … > texts.gen.h
#
# A .lua file becomes one constant, lock_attempt.lua: hf_lock_attempt_lua[].
# A line `--! include FILE.lua` is replaced by that file of the same folder; a
# file that begins with `--! part` exists to be included and has no constant.
# A .sql file has sections: after `-- name: attempt_insert` in sqlite.sql all
# lines up to the next such line are hf_sqlite_attempt_insert[].
# With -v whole=1 a file becomes one constant as it is, comments and all, for
# texts that people read: redis.lua is hf_redis_lua[].
#
# Whole-line comments and blank lines are dropped.  A comment behind code is
# kept: to know that it is one would mean to parse the language.  Lines keep
# their newlines, so that a server's "line 7" can be found.
#
# Plain POSIX awk: Debian's mawk is enough.

function die(text) {
    print "embed.awk: " text > "/dev/stderr"
    failed = 1
    exit 1
}

function base(path) {
    sub(/.*\//, "", path)
    return path
}

function folder(path) {
    return sub(/[^\/]*$/, "", path) ? path : ""
}

function open_constant(name) {
    if (name in seen)
        die("two texts are called " name)
    seen[name] = 1
    printf "\nstatic const char hf_%s[] =", name
    lines = 0
}

function close_constant() {
    print lines ? ";" : "\n    \"\";"
}

function emit(line) {
    gsub(/\\/, "&&", line)
    gsub(/"/, "\\\"", line)
    gsub(/\t/, "\\t", line)
    printf "\n    \"%s\\n\"", line
    lines++
}

function is_noise(line) {
    return line ~ /^[ \t]*(--.*)?$/
}

# Every level of inclusion reads a file of its own; one that is open already
# would be read on from its middle, so a circle is refused.
function emit_lua(path,    line, status, part) {
    if (path in reading)
        die(path " includes itself")
    reading[path] = 1
    while ((status = (getline line < path)) > 0) {
        sub(/[ \t\r]+$/, "", line)
        if (line ~ /^[ \t]*--! include /) {
            part = line
            sub(/.*--! include +/, "", part)
            emit_lua(folder(path) part)
        } else if (!is_noise(line))
            emit(line)
    }
    if (status < 0)
        die("cannot read " path)
    close(path)
    delete reading[path]
}

function is_part(path,    line, status) {
    status = (getline line < path)
    close(path)
    if (status < 0)
        die("cannot read " path)
    return line ~ /^--! part/
}

function lua(path,    name) {
    if (is_part(path))
        return
    name = base(path)
    sub(/\.lua$/, "", name)
    open_constant(name "_lua")
    emit_lua(path)
    close_constant()
}

function sql(path,    dialect, line, status, section) {
    dialect = base(path)
    sub(/\.sql$/, "", dialect)
    while ((status = (getline line < path)) > 0) {
        sub(/[ \t\r]+$/, "", line)
        if (line ~ /^-- name: /) {
            if (section != "")
                close_constant()
            section = substr(line, 10)
            open_constant(dialect "_" section)
        } else if (!is_noise(line)) {
            if (section == "")
                die(path ": text before the first `-- name:`: " line)
            emit(line)
        }
    }
    if (status < 0)
        die("cannot read " path)
    if (section != "")
        close_constant()
    close(path)
}

function as_it_is(path,    name, line, status) {
    name = base(path)
    gsub(/[^A-Za-z0-9]/, "_", name)
    open_constant(name)
    while ((status = (getline line < path)) > 0)
        emit(line)
    if (status < 0)
        die("cannot read " path)
    close(path)
    close_constant()
}

BEGIN {
    print "/* Made by tools/embed.awk; do not edit. */"
    for (i = 1; i < ARGC && !failed; i++) {
        if (whole)
            as_it_is(ARGV[i])
        else if (ARGV[i] ~ /\.lua$/)
            lua(ARGV[i])
        else if (ARGV[i] ~ /\.sql$/)
            sql(ARGV[i])
        else
            die("neither .lua nor .sql: " ARGV[i])
    }
    exit failed
}
