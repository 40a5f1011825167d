# SPDX-License-Identifier: MIT
"""A child of fork owns nothing, and opens what it needs itself."""
import multiprocessing
import os
import pickle

import holdfast
import pytest
from conftest import DEADLINE


def child(client, lock, names):
    """What the parent's objects raise in the child; its own work."""
    for use in (lock.acquire, lock.release, lambda: client.lock("y"),
                client.list, client.stats):
        try:
            use()
            names.put("nothing")
        except holdfast.Error as error:
            names.put((error.name, isinstance(error, holdfast.Misuse)))
    names.put(lock.held)
    lock.close()  # the parent's stays
    client.close()
    with holdfast.open() as own:
        names.put(own.lock("x").try_acquire())
    names.put(holdfast.lock("z").try_acquire())


def test_the_child_is_told_and_the_parent_keeps_its_lock(client):
    fork = multiprocessing.get_context("fork")
    names = fork.Queue()
    holdfast.lock("mine").acquire  # the default client is the parent's
    with client.lock("x") as lock:
        process = fork.Process(target=child, args=(client, lock, names))
        process.start()
        said = [names.get(timeout=DEADLINE) for _ in range(8)]
        process.join(DEADLINE)
        assert process.exitcode == 0
        assert lock.held
    assert said == [("FORKED", True)] * 5 + [False, False, True]
    with client.lock("x"):
        pass
    holdfast.default().close()


def test_a_child_that_ends_in_the_middle_frees_nothing(client, other):
    """It runs what runs at the end of Python, with the parent's objects."""
    with client.lock("x") as lock:
        pid = os.fork()
        if pid == 0:
            try:
                from holdfast import _handle

                _handle._free_all()
                del lock
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert lock.held
        assert not other.lock("x").try_acquire()


def test_processes_that_are_spawned_share_the_lock(client, python, store):
    with client.lock("x", owner="handle") as lock:
        other = python("""
import holdfast
print(holdfast.lock("x").try_acquire(), flush=True)
with holdfast.lock("x") as lock:
    print(lock.token)
""")
        assert other.stdout.readline() == "False\n"
        token = lock.token
    assert int(other.stdout.readline()) > token
    assert other.wait(DEADLINE) == 0


def test_nothing_can_be_sent_elsewhere(client):
    for what in (client, client.lock("x"), client.latch("l")):
        with pytest.raises(TypeError, match="belongs to this process"):
            pickle.dumps(what)
