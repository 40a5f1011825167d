#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""promises.py PAGE [STORE...] - are the tables of holdfast-guarantees(7) those of doctor?

PAGE is the source.  Its columns are stores; `holdfast doctor --json` says of a
private server of each which kinds there are, whether they are served in order,
whether a release wakes and whether a killed holder is noticed before its lease
ends.  STORE: only these.  Notes in cells, "(1)", are left out.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing of ours beside the sources
import examples  # noqa: E402

# The stores of a column.
COLUMNS = {"sqlite": ["sqlite"], "redis": ["redis"], "redlock": ["redlock"],
           "zk, etcd": ["zookeeper", "etcd"],
           "database": ["postgres", "mariadb"]}

# What a row says of kinds, and the word of doctor's for it.
ROWS = {"order, lock": (["lock"], "order"), "order, fair": (["fair"], "order"),
        "a release wakes": (["lock"], "wake"),
        "a killed holder": (["lock"], "notice")}

# Where a row is more than yes and no: what is noticed, and how.
NOTICED = {"at once": True, "session": False, "lease": False}


def tables(path):
    """Each as a list of rows, each a list of cells."""
    table = []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if re.match(r"\[\[|\|", line):
            table.append([])
        if table and re.match(r"[\[|:]", line):
            table[-1].append(re.sub(r" *\(\d+\)$", "", line[2:].strip("* ")))
        elif table:
            yield table
            table = []


def address(sort, servers, folder):
    if sort == "sqlite":
        return "sqlite:%s/locks.db" % folder
    if sort == "redlock":
        made = [examples.Servers(folder) for _ in range(3)]
        servers.extend(made)
        uris = [s.uri("redis") for s in made]
        return uris[0] and "redlock://%s?durable=1" % ",".join(
            u.split("//")[1] for u in uris)
    servers.append(examples.Servers(folder))
    return servers[-1].uri(sort)


def doctor(uri):
    out = subprocess.run(["holdfast", "doctor", "--json", "--store", uri],
                         capture_output=True, text=True, check=False)
    return json.loads(out.stdout)["kinds"]


def differences(table, known):
    """What a table says, and doctor does not."""
    for row in table[1:]:
        for column, cell in zip(table[0][1:], row[1:]):
            for sort in COLUMNS[column]:
                kinds = known.get(sort)
                if kinds is None:
                    continue
                names, word = ROWS.get(row[0], (row[0].split(", "), "hold"))
                if not all(n in kinds for n in names):
                    continue  # a row about something else
                said = NOTICED.get(cell, cell == "yes")
                for name in names:
                    if kinds[name][word] != said:
                        yield "%s, %s: the page says %s, doctor %s=%s" % (
                            sort, row[0], cell, word, kinds[name][word])


def main(path, only):
    top = tempfile.mkdtemp(prefix="promises-",
                           dir=os.environ.get("HF_TEST_DIR"))
    os.chmod(top, 0o711)  # databases do not run as root
    servers, known, compared = [], {}, 0
    try:
        for sorts in COLUMNS.values():
            for sort in sorts:
                if only and sort not in only:
                    continue
                uri = address(sort, servers, top)
                if uri is None:
                    print("skipped: %s is not installed" % sort)
                else:
                    known[sort] = doctor(uri)
    finally:
        for s in servers:
            s.stop()
        shutil.rmtree(top, ignore_errors=True)
    found = []
    for table in tables(path):
        found += differences(table, known)
        compared += len(table) - 1
    print("\n".join(found + ["%d rows, %d stores" % (compared, len(known))]))
    return 1 if found or compared < 10 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
