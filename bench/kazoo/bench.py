# SPDX-License-Identifier: MIT
#
# bench.py FOLDER - the worker of kazoo's: its own locks as they are shipped.
# The lines and words are those of worker.h.  FOLDER comes first where Python
# looks for kazoo.
import mmap
import os
import struct
import sys
import threading
import time

sys.path.insert(0, sys.argv[1])

import kazoo  # noqa: E402
from kazoo.client import KazooClient  # noqa: E402

client = None
row = None


class Turns:
    """struct turns, as C sees it."""

    SECTIONS, LAST, HANDED, CROSSED, SINCE, LONGEST, FREED, WAITS = range(8)
    N_WAITS = 1024

    def __init__(self, path):
        size = 8 * (8 + self.N_WAITS)
        fd = os.open(path, os.O_RDWR)
        self.at = mmap.mmap(fd, size)
        os.close(fd)

    def get(self, what):
        return struct.unpack_from("q", self.at, 8 * what)[0]

    def set(self, what, value):
        struct.pack_into("q", self.at, 8 * what, value)

    def note(self, number, threads):
        now = time.monotonic_ns()
        last = self.get(self.LAST)
        self.set(self.SECTIONS, self.get(self.SECTIONS) + 1)
        self.set(self.LAST, number)
        if last < 0 or last == number:
            return
        self.set(self.HANDED, self.get(self.HANDED) + 1)
        freed, n = self.get(self.FREED), self.get(self.WAITS)
        if freed:
            self.set(8 + n % self.N_WAITS, now - freed)
            self.set(self.WAITS, n + 1)
        if last // threads != number // threads:
            self.cross(now)

    def cross(self, now):
        since = self.get(self.SINCE)
        self.set(self.CROSSED, self.get(self.CROSSED) + 1)
        if since and now - since > self.get(self.LONGEST):
            self.set(self.LONGEST, now - since)
        self.set(self.SINCE, now)

    def leave(self):
        self.set(self.FREED, time.monotonic_ns())


class Row:
    def __init__(self, *words):
        _, process, threads, section, _, own, name, file = words
        self.process, self.threads = int(process), int(threads)
        self.section = int(section) / 1e6
        self.own, self.name = own == "1", name
        self.turns = None if self.own else Turns(file)
        self.gate = threading.Barrier(self.threads + 1)
        self.trouble = None
        self.over = False
        self.all = [0] * self.threads
        self.counted = [0] * self.threads
        self.crew = [
            threading.Thread(target=self.work, args=(i,), daemon=True)
            for i in range(self.threads)
        ]

    def begin(self):
        for thread in self.crew:
            thread.start()
        self.gate.wait()
        if self.trouble is None:
            return "READY"
        self.over = True
        self.gate.wait()
        return "FAILED " + self.trouble

    def work(self, i):
        number = self.process * self.threads + i
        path = "/" + self.name + ("-%d" % number if self.own else "")
        try:
            lock = client.Lock(path, "bench")
            with lock:
                pass
            self.gate.wait()
            self.gate.wait()
            while not self.over:
                self.once(lock, i, number)
        except Exception as e:
            self.trouble = repr(e)
            if not self.gate.broken:
                self.gate.abort()

    # What comes after the stop only lets those go who still wait.
    def once(self, lock, i, number):
        lock.acquire()
        self.all[i] += 1
        if not self.over:
            self.counted[i] += 1
            if self.turns:
                self.turns.note(number, self.threads)
            if self.section:
                time.sleep(self.section)
        if self.turns:
            self.turns.leave()
        lock.release()

    def stop(self):
        self.over = True
        for thread in self.crew:
            thread.join()
        if self.trouble is not None:
            return "FAILED " + self.trouble
        said = [sum(self.all)] + self.counted
        return "DONE " + " ".join(map(str, said))


def obey(words):
    global client, row
    if words[0] == "open":
        client = KazooClient(hosts=words[1].split("//", 1)[1].split("/")[0])
        client.start(timeout=20)
        version = getattr(kazoo, "__version__", None)
        if version is None:
            from kazoo.version import __version__ as version
        return "OK %s, Python %s" % (version, sys.version.split()[0])
    if words[0] == "row":
        row = Row(*words[1:])
        return row.begin()
    if words[0] == "go":
        row.gate.wait()
        return None
    if words[0] == "stop":
        return row.stop()
    return "FAILED what is: " + words[0]


for line in sys.stdin:
    try:
        said = obey(line.split())
    except Exception as e:
        said = "FAILED " + repr(e)
    if said is not None:
        print(said, flush=True)
