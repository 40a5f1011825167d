# SPDX-License-Identifier: MIT
"""The other kinds, and what is made of them."""
import math
import os
import select
import time

import holdfast
import pytest
from conftest import Thread, on_both, until, waiters


@on_both
def test_readers_together_a_writer_alone(client, other):
    with client.read("x"), other.read("x"):
        assert not Thread(client.write("x").try_acquire).result()
    with client.write("x", writers_first=True):
        assert not other.read("x").try_acquire()
    with client.lock("f", kind="fair"), pytest.raises(holdfast.Busy):
        other.lock("f", kind=holdfast.Kind.FAIR, wait=0).acquire()


@on_both
def test_permits_are_the_threads_own(client):
    """Threads that share the object share no permit."""
    client.semaphore("s").set(2)
    permit = client.permit("s", wait=0)
    with permit:
        assert permit.held and permit.token > 0
        assert client.semaphore("s").count() == (1, 1)
        with pytest.raises(holdfast.Usage):
            permit.acquire()
        second = Thread(permit.try_acquire)
        assert second.result() is True
        assert Thread(permit.try_acquire).result() is False
        assert client.semaphore("s").count() == (0, 2)
    permit.close()
    assert client.semaphore("s").count() == (2, 0)
    with client.permit("s", 2):
        assert client.semaphore("s").count().available == 0


@on_both
def test_a_semaphore_counts(client, other):
    sem = client.semaphore("s")
    assert sem.set(3) is True
    assert sem.set(5) is False
    sem.acquire(2)
    assert other.semaphore("s").try_acquire(2) is False
    with pytest.raises(holdfast.Busy):
        other.semaphore("s").acquire(2, wait=0)
    with pytest.raises(holdfast.Timeout):
        sem.acquire(2, wait=0.05)
    waiting = Thread(other.semaphore("s").acquire, 2)
    sem.release()
    waiting.result()
    sem.add(4)
    sem.resize(9)
    assert sem.drain() == 9 and sem.count() == (0, 0)
    sem.delete()
    with pytest.raises(holdfast.Free):
        sem.delete()
    with pytest.raises(holdfast.Free):
        sem.release_if_set()
    assert sem.set(1, ttl=60)


@on_both
def test_a_latch_opens(client, other):
    latch = client.latch("l")
    latch.wait()  # never set: open
    assert latch.set(2) and not latch.set(1)
    assert latch.count() == 2 and not latch.is_open()
    with pytest.raises(holdfast.Busy):
        latch.wait(0)
    with pytest.raises(holdfast.Timeout):
        latch.wait(0.05)
    waiting = Thread(other.latch("l").wait)
    latch.count_down()
    latch.count_down()
    waiting.result()
    assert latch.is_open()
    with pytest.raises(holdfast.Free):
        latch.delete()
    again = client.latch("m")
    again.set(1)
    waiting = Thread(again.wait)
    again.cancel()
    while waiting.is_alive():  # it may not have begun
        again.cancel()
        time.sleep(0.01)
    with pytest.raises(holdfast.Cancelled):
        waiting.result()


def test_several_as_one(client, other, redis):
    with holdfast.open(redis) as second:
        both = holdfast.multi(client.lock("b"), second.lock("a"), wait=0.05)
        with both:
            assert both.held and both.remaining > 0
            assert len(both.tokens) == 2 and all(both.tokens)
            assert not other.lock("b").try_acquire()
        assert both.tokens == (0, 0)
        with other.lock("b"), pytest.raises(holdfast.Timeout):
            both.acquire()
        assert second.lock("a").try_acquire()  # nothing is left behind
    assert both.name == "b + a"
    with pytest.raises(holdfast.Usage):
        both.acquire()


def test_several_threads_share_several(client, other):
    client.semaphore("s").set(1)
    both = client.multi("x", client.permit("s"), wait=0)
    with both:
        assert Thread(both.try_acquire).result() is False
        assert both.holds == 1
    assert Thread(both.try_acquire).result() is True
    both.close()
    assert other.lock("x").try_acquire()
    with pytest.raises(holdfast.Usage):
        client.multi("x", "x")
    with pytest.raises(holdfast.Usage):
        client.multi()


def test_a_lost_member_is_the_loss_of_all(client, other):
    told = []
    with pytest.raises(holdfast.Lost):
        with client.multi(client.lock("a", watchdog=3), "b",
                          on_lost=told.append):
            other.lock("a").force_release()
            until(lambda: told, "the news")
    assert "a + b" in told[0].text
    assert other.lock("b").try_acquire()


def test_a_job_runs_once(client, other):
    with client.job("j", at_least=60) as job:
        assert job.held and job.token > 0 and job.remaining > 0
        assert other.job("j").begin() is False
        with pytest.raises(holdfast.Usage):
            job.begin()
    assert job.token == 0 and not job.held
    with pytest.raises(holdfast.Busy):
        with other.job("j"):
            raise AssertionError("it ran twice")
    with pytest.raises(holdfast.NotOwner):
        job.end()


def test_a_job_that_takes_too_long_is_lost(client):
    told = []
    with pytest.raises(holdfast.Lost):
        with client.job("j", at_most=0.05, on_lost=told.append) as job:
            until(lambda: told, "the news")
            assert not job.held and job.token == 0
    assert "j" in told[0].text


def test_a_file_refuses_older_tokens(client, folder):
    path = folder / "out.csv"
    with client.lock("x") as lock:
        older = lock.token
    with client.lock("x") as lock:
        newer = lock.token
    guard = holdfast.guard(path, older)
    fd = guard.fileno()
    assert not select.select([fd], [], [], 0)[0]
    with pytest.raises(holdfast.Busy):
        holdfast.guard(str(path), newer, wait=0)
    assert select.select([fd], [], [], 10)[0]
    with pytest.raises(holdfast.Lost):
        guard.check()
    guard.leave()
    with holdfast.guard(path, newer) as guard:
        guard.check()
    with pytest.raises(holdfast.Lost):
        holdfast.guard(path, older)
    assert "CREATE" in holdfast.guard_text("sqlite").upper()
    assert holdfast.guard_text("nonsense") is None


def test_a_lock_goes_over_to_a_second_store(store, folder, redis):
    with holdfast.open(redis, escalate_to=store, lease=6, permission=1,
                       after=1, back=math.inf) as client:
        with client.lock("x") as lock:
            assert lock.store == client.store
            assert os.path.exists(folder / "locks.db")


def test_closed_is_closed(client, other):
    lock = client.lock("x")
    with other.lock("x"):
        waiting = Thread(lock.acquire)
        until(lambda: waiters(other, "x") == 1, "the waiter")
        lock.close()
        with pytest.raises(holdfast.Error):
            waiting.result()
    with pytest.raises(holdfast.Usage):
        lock.try_acquire()
    sem = client.semaphore("s")
    sem.close()
    with pytest.raises(holdfast.Usage):
        sem.count()
