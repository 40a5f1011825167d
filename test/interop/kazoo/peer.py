# SPDX-License-Identifier: MIT
#
# peer.py FOLDER - kazoo itself, told what to do line by line, as Java's peers
# are: see ../java/peer/Lines.java for threads and answers.  FOLDER comes first
# where Python looks for kazoo.
#
#     open URI [session_ms=N]     zk://HOST:PORT,…/PATH as ours
#     NOUN lock | try | timed MS | unlock | contenders NAME
#                                 NOUN: lock, read or write
#     children NAME               of the node, bare
#     delete PATH
#     contend NOUN FILE THREADS ROUNDS NAME     see support/guarded.h
#
# kazoo's objects belong to one owner, and so there is one for each thread.
import ctypes
import mmap
import os
import queue
import sys
import threading

sys.path.insert(0, sys.argv[1])

from kazoo.client import KazooClient  # noqa: E402
from kazoo.exceptions import LockTimeout  # noqa: E402

client = None
base = ""
owned = threading.local()
workers = {}
speaking = threading.Lock()


def say(text):
    with speaking:
        print(text, flush=True)


# ---- locks ------------------------------------------------------------------


def made(noun, name):
    makers = {
        "lock": client.Lock,
        "read": client.ReadLock,
        "write": client.WriteLock,
    }
    return makers[noun](base + "/" + name, "kazoo")


def mine(noun, name):
    locks = owned.__dict__.setdefault("locks", {})
    if (noun, name) not in locks:
        locks[noun, name] = made(noun, name)
    return locks[noun, name]


def timed(lock, ms):
    try:
        return lock.acquire(timeout=ms / 1000)
    except LockTimeout:
        return False


def handle(noun, verb, rest):
    if verb == "timed":
        ms, name = rest.split(" ", 1)
        return timed(mine(noun, name), int(ms))
    lock = mine(noun, rest)
    if verb == "lock":
        return "OK" if lock.acquire() else "NO"
    if verb == "try":
        return lock.acquire(blocking=False)
    if verb == "unlock":
        return "OK" if lock.release() else "NOT_OWNER"
    if verb == "contenders":
        return lock.contenders()
    raise ValueError(verb)


# ---- the guarded counter ----------------------------------------------------


class Guarded(ctypes.Structure):
    """struct hf_test_guarded, as C sees it."""

    _fields_ = [
        ("counter", ctypes.c_ulonglong),
        ("last_token", ctypes.c_ulonglong),
        ("inside", ctypes.c_int),
        ("overlaps", ctypes.c_int),
        ("disorders", ctypes.c_int),
        ("failures", ctypes.c_int),
    ]


# Python has no atomics; but if the lock is one, nobody else writes these.
def visit(guarded):
    if guarded.inside != 0:
        guarded.overlaps += 1
    guarded.inside += 1
    seen = guarded.counter
    os.sched_yield()
    guarded.counter = seen + 1
    guarded.inside -= 1


def enter(guarded, noun, name, rounds):
    lock = made(noun, name)
    for _ in range(rounds):
        try:
            with lock:
                visit(guarded)
        except Exception:
            guarded.failures += 1


def contend(noun, file, threads, rounds, name):
    fd = os.open(file, os.O_RDWR)
    guarded = Guarded.from_buffer(mmap.mmap(fd, ctypes.sizeof(Guarded)))
    os.close(fd)
    crew = [
        threading.Thread(target=enter, args=(guarded, noun, name, int(rounds)))
        for _ in range(int(threads))
    ]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return "OK"


# ---- lines ------------------------------------------------------------------


def open_store(uri, *settings):
    global client, base
    hosts, _, path = uri.split("//", 1)[1].split("?", 1)[0].partition("/")
    base = "/" + path if path else ""
    session = 60
    for setting in settings:
        if setting.startswith("session_ms="):
            session = int(setting.split("=", 1)[1]) / 1000
    if client is not None:
        client.stop()
    client = KazooClient(hosts=hosts, timeout=session)
    client.start(timeout=20)
    return "OK"


# It waits for its turn in kazoo's loop itself, and for an answer in a call from
# there.
def is_asleep(worker):
    frame = sys._current_frames().get(worker.ident)
    while frame is not None and frame.f_code.co_filename.endswith(
        "threading.py"
    ):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name == "_inner_acquire"


def obey(line):
    words = line.split(" ", 2)
    if words[0] == "open":
        return open_store(*line.split(" ")[1:])
    if words[0] == "asleep":
        return is_asleep(workers[words[1]])
    if words[0] == "contend":
        return contend(words[1], *words[2].split(" ", 3))
    if words[0] == "children":
        return sorted(client.get_children(base + "/" + line.split(" ", 1)[1]))
    if words[0] == "delete":
        client.delete(base + "/" + line.split(" ", 1)[1])
        return "OK"
    return handle(*words)


def answer(line):
    try:
        said = obey(line)
    except Exception as e:
        return "EXCEPTION " + repr(e).replace("\n", " ")
    if isinstance(said, bool):
        return "YES" if said else "NO"
    if isinstance(said, list):
        return ",".join(said) or "NO"
    return said


class Worker(threading.Thread):
    def __init__(self, name):
        super().__init__(name=name, daemon=True)
        self.lines = queue.Queue()
        self.start()

    def run(self):
        while True:
            say("#%s %s" % (self.name, answer(self.lines.get())))


def main():
    for line in sys.stdin:
        line = line.rstrip("\n")
        if line.startswith("thread "):
            _, k, rest = line.split(" ", 2)
            if k not in workers:
                workers[k] = Worker(k)
            workers[k].lines.put(rest)
        else:
            say(answer(line))
    if client is not None:
        client.stop()


main()
