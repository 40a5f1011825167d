# SPDX-License-Identifier: MIT
"""The lock, for threads."""
import gc
import os
import select
import signal
import threading
import time
import warnings
from datetime import timedelta

import holdfast
import pytest
from conftest import Thread, on_both, until, waiters


@on_both
def test_a_lock_is_held_in_its_with_and_free_after_it(client, other):
    lock = client.lock("x")
    with lock as same:
        assert same is lock
        assert lock.held and lock.holds == 1
        assert 0 < lock.remaining <= 30
        assert lock.owner
        first = lock.token
        assert first > 0
        assert not other.lock("x").try_acquire()
    assert not lock.held and lock.token == 0 and lock.remaining == 0
    with other.lock("x") as later:
        assert later.token > first
        assert client.lock("x").last_token() == later.token


def test_the_default_client_is_of_the_environment(store, other):
    with holdfast.lock("x") as lock:
        assert lock.client is holdfast.default()
        assert lock.store == other.store
        assert not other.lock("x").try_acquire()
    holdfast.default().close()
    with holdfast.lock("x"):  # it is opened anew
        pass
    holdfast.default().close()


@on_both
def test_waits(client, other):
    with other.lock("x"):
        with pytest.raises(holdfast.Busy) as busy:
            client.lock("x", wait=0).acquire()
        assert (busy.value.code, busy.value.name) == (1, "BUSY")
        before = time.monotonic()
        with pytest.raises(holdfast.Timeout) as timeout:
            with client.lock("x", wait=0.2):
                raise AssertionError("entered")
        assert time.monotonic() - before >= 0.2
        assert (timeout.value.code, timeout.value.name) == (-1, "TIMEOUT")
        assert timeout.value.text
        assert isinstance(timeout.value, holdfast.NotDone)
        with pytest.raises(holdfast.Timeout):
            client.lock("x").acquire(wait=timedelta(milliseconds=30))
        waiting = Thread(client.lock("x").acquire, None)
        until(lambda: waiters(other, "x") == 1, "the waiter")
    waiting.result()


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf"), 1e9])
def test_a_wait_that_makes_no_sense(client, wait):
    with pytest.raises(holdfast.Usage):
        client.lock("x", wait=wait)


def test_little_is_not_nothing(client, other):
    """A wait of half a millisecond is one, and not a try."""
    with other.lock("x"):
        with pytest.raises(holdfast.Timeout):
            client.lock("x").acquire(0.0005)


def test_misuse(client):
    for name in ("", "x" * 256, "a\nb"):
        with pytest.raises(holdfast.Name):
            client.lock(name)
    for options in ({"kind": "vice"}, {"owner": "me"}, {"lease": 0},
                    {"lease": -1}, {"permits": 2}, {"name": "a\0b"}):
        with pytest.raises(holdfast.Usage):
            client.lock(options.pop("name", "x"), **options)
    with pytest.raises(holdfast.Cannot):
        client.lock("x", kind=holdfast.Kind.SIMPLE)
    with pytest.raises(holdfast.Uri):
        holdfast.open("nonsense")
    with pytest.raises(holdfast.NotOwner):
        client.lock("x").release()


def test_a_thread_enters_again_and_others_wait(client):
    """Threads share the object, as one of threading."""
    lock = client.lock("x")
    with lock, lock:
        assert lock.holds == 2
        assert Thread(lock.try_acquire).result() is False
        assert Thread(lambda: (lock.held, lock.token)).result() == (False, 0)
    once = client.lock("y", reentrant=False)
    with once, pytest.raises(holdfast.Usage):
        once.acquire()


def test_threads_count_correctly(client):
    lock, n = client.lock("x"), [0]

    def work():
        for _ in range(25):
            with lock:
                seen = n[0]
                time.sleep(0)
                n[0] = seen + 1

    for thread in [Thread(work) for _ in range(4)]:
        thread.result()
    assert n == [100]


def test_other_threads_run_while_one_waits(client, other):
    """The interpreter's own lock is not held meanwhile."""
    with other.lock("x"):
        waiting = Thread(client.lock("x").acquire)
        until(lambda: waiters(other, "x") == 1, "the waiter")
        counted = 0
        by = time.monotonic() + 0.2
        while time.monotonic() < by:
            counted += 1
        assert waiting.is_alive()
        assert counted > 1000
    waiting.result()


def test_the_handle_may_own(client):
    lock = client.lock("x", owner="handle")
    lock.acquire()
    assert Thread(lambda: lock.held).result()
    Thread(lock.release).result()
    assert not lock.held


def test_cancel_ends_the_wait(client, other):
    lock = client.lock("x")
    with other.lock("x"):
        waiting = Thread(lock.acquire)
        until(lambda: waiters(other, "x") == 1, "the waiter")
        lock.cancel()
        with pytest.raises(holdfast.Cancelled):
            waiting.result()
        until(lambda: waiters(other, "x") == 0, "its place to be gone")


def test_a_lease_is_set_anew(client):
    with client.lock("x", lease=60) as lock:
        assert 50 < lock.remaining <= 60
        lock.extend(timedelta(minutes=2))
        assert 110 < lock.remaining <= 120


def test_others_get_in_later(client, other):
    lock = client.lock("x")
    lock.acquire()
    lock.release_after(0.3)
    assert not other.lock("x").try_acquire()
    other.lock("x").acquire(10)


# ---- loss -------------------------------------------------------------------


@on_both
def test_loss_is_told(client, other):
    told = []
    lock = client.lock("x", watchdog=3, on_lost=told.append)
    lock.acquire()
    other.lock("x").force_release()
    until(lambda: told, "the news")
    assert isinstance(told[0], holdfast.Lost) and "x" in told[0].text
    assert not lock.held and lock.token == 0
    with pytest.raises(holdfast.Lost):
        lock.check()
    assert select.select([lock.lost_fd()], [], [], 0)[0]
    with pytest.raises(holdfast.Lost):
        lock.acquire()
    with pytest.raises(holdfast.Lost):
        lock.release()
    with pytest.raises(holdfast.NotOwner):
        lock.check()
    assert not select.select([lock.lost_fd()], [], [], 0)[0]
    with lock:
        lock.check()
    assert len(told) == 1


def test_with_raises_what_was_lost_unless_it_raises_itself(client):
    def lose():
        with client.lock("x", lease=0.05) as lock:
            until(lambda: not lock.held, "the loss")

    def fail():
        with client.lock("x", lease=0.05) as lock:
            until(lambda: not lock.held, "the loss")
            raise KeyError("mine")

    with pytest.raises(holdfast.Lost):
        lose()
    with pytest.raises(KeyError):
        fail()


def test_what_on_lost_raises_harms_nobody(client, monkeypatch):
    seen = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)

    def bad(_lost):
        raise ValueError("on purpose")

    lock = client.lock("x", max_hold=0.1, on_lost=bad)
    lock.acquire()
    until(lambda: seen, "the exception")
    assert isinstance(seen[0].exc_value, ValueError)
    with pytest.raises(holdfast.Lost):
        lock.release()
    seen.clear()


def test_on_lost_may_close_the_lock(client, other):
    closed = threading.Event()

    def close(_lost):
        lock.close()
        closed.set()

    lock = client.lock("x", max_hold=0.1, on_lost=close)
    lock.acquire()
    assert closed.wait(20)
    with client.lock("y"):  # whatever is called next does it
        pass
    assert other.lock("x").try_acquire()


# ---- the end ----------------------------------------------------------------


def test_closing_ends_waits_and_releases(store, other):
    client = holdfast.open(store)
    client.lock("held", owner="handle").acquire()
    held = client.lock("mine")
    held.acquire()
    with other.lock("x"):
        waiting = Thread(client.lock("x").acquire)
        until(lambda: waiters(other, "x") == 1, "the waiter")
        client.close()
        with pytest.raises(holdfast.Error) as ended:
            waiting.result()
        assert ended.type in (holdfast.Cancelled, holdfast.Usage)
    assert other.lock("mine").try_acquire()
    client.close()
    assert client.closed
    for use in (lambda: held.held, held.acquire, lambda: client.lock("y"),
                client.stats, held.release):
        with pytest.raises(holdfast.Usage):
            use()
    held.close()


def test_an_object_that_nobody_has_holds_nothing(client, other):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        client.lock("x").acquire()
        gc.collect()
    assert any(w.category is ResourceWarning for w in seen)
    assert other.lock("x").try_acquire()


def test_a_client_that_nobody_has_is_closed(store, other):
    lock = holdfast.open(store).lock("x")
    lock.acquire()
    assert not other.lock("x").try_acquire()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        del lock
        gc.collect()
    assert other.lock("x").try_acquire()


def test_the_end_of_the_program_releases(python, store, other):
    done = python("""
import holdfast, threading
lock = holdfast.lock("x"); lock.acquire()
other = holdfast.open(on_event=lambda e: None)
threading.Thread(target=other.lock("x").acquire, daemon=True).start()
while len(other.list("x")) < 2: pass
print("held", flush=True)
""")
    assert done.stdout.read() == "held\n"
    assert done.wait(20) == 0
    assert other.lock("x").try_acquire()


def test_ctrl_c_ends_a_wait(python, store, other):
    with other.lock("x"):
        waiting = python("""
import holdfast, sys
lock = holdfast.lock("x")
try:
    lock.acquire()
except KeyboardInterrupt:
    assert not lock.held
    print("interrupted", flush=True)
""")
        until(lambda: waiters(other, "x") == 1, "the waiter")
        waiting.send_signal(signal.SIGINT)
        assert waiting.stdout.read() == "interrupted\n"
        assert waiting.wait(20) == 0
        until(lambda: waiters(other, "x") == 0, "its place to be gone")


def test_a_lock_that_came_with_the_signal_is_given_back(
        client, other, monkeypatch):
    def interrupted(step, _cancel, ms):
        assert step(ms) == 0
        raise KeyboardInterrupt

    lock = client.lock("x")
    with lock:
        with monkeypatch.context() as patch:
            patch.setattr("holdfast._interrupt.wait", interrupted)
            with pytest.raises(KeyboardInterrupt):
                lock.acquire()
        assert lock.holds == 1  # the one before stays
    with monkeypatch.context() as patch:
        patch.setattr("holdfast._interrupt.wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lock.acquire()
    assert not lock.held and other.lock("x").try_acquire()


@pytest.mark.parametrize("granted", [False, True])
def test_ctrl_c_ends_a_wait_for_permits_and_leaves_their_number(
        python, store, other, granted):
    """Also if they come at the very moment of the signal."""
    sem = other.semaphore("s")
    sem.set(0)
    waiting = python("""
import holdfast, os, signal, sys
client = holdfast.default()

def heard(*_):
    if sys.argv[1] == "True":
        client.semaphore("s").release()
        while client.semaphore("s").count().available:
            pass                      # until the wait has got it
    raise KeyboardInterrupt

signal.signal(signal.SIGINT, heard)
try:
    print("waits", flush=True)
    client.semaphore("s").acquire()
except KeyboardInterrupt:
    print("interrupted", flush=True)
""", str(granted))
    assert waiting.stdout.readline() == "waits\n"
    until(lambda: any(c.waits for c in other.clients()), "the waiter")
    waiting.send_signal(signal.SIGINT)
    assert waiting.stdout.read() == "interrupted\n"
    assert waiting.wait(20) == 0
    assert sem.count().available == int(granted)


def test_a_wait_goes_on_after_a_signal_that_raises_nothing(
        python, store, other):
    lock = other.lock("x", owner="handle")
    lock.acquire()
    waiting = python("""
import holdfast, signal
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
with holdfast.lock("x", wait=60):
    print("entered", flush=True)
""")
    until(lambda: waiters(other, "x") == 1, "the waiter")
    waiting.send_signal(signal.SIGUSR1)
    assert waiting.stdout.readline() == "heard\n"
    until(lambda: waiters(other, "x") == 1, "the waiter, again")
    lock.release()
    assert waiting.stdout.readline() == "entered\n"
    assert waiting.wait(20) == 0
    assert os.WIFEXITED(waiting.returncode)
