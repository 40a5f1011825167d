# SPDX-License-Identifier: MIT
"""asyncio: async with, many waits, cancelling, closing, several loops."""
import asyncio
import functools
import gc
import os
import signal
import threading
import time
import warnings

import holdfast
import pytest
from conftest import DEADLINE, Thread, on_both, waiters


def asynchronous(test):
    """Runs it in a loop of its own, which must be left as it was found."""

    @functools.wraps(test)
    def run(**fixtures):
        async def main():
            await asyncio.wait_for(test(**fixtures), DEADLINE)
            client = fixtures.get("client")
            if client and not client.closed:
                assert client._pump.loops == []
            assert asyncio.all_tasks() == {asyncio.current_task()}

        asyncio.run(main(), debug=True)

    return run


async def until(condition):
    while not await asyncio.to_thread(condition):
        await asyncio.sleep(0.01)


def waits(client):
    """How many wait, as the store's clients say of themselves."""
    return sum(c.waits for c in client.clients())


def busy(client, name):
    return not client.lock(name).try_acquire()


@on_both
@asynchronous
async def test_a_lock_is_held_in_its_async_with(client, other):
    async with client.lock("x") as lock:
        assert lock.held and lock.token > 0 and lock.remaining > 0
        assert lock.holds == 1 and lock.owner
        lock.check()
        assert busy(other, "x")
        async with lock:  # the task may enter again
            assert lock.holds == 2
        assert lock.held
    assert not lock.held and lock.token == 0
    assert not busy(other, "x")
    with pytest.raises(holdfast.NotOwner):
        await lock.release_async()


@asynchronous
async def test_tasks_exclude_each_other_and_threads(client):
    """Though they share the thread, and the object."""
    lock, n = client.lock("x"), [0]

    async def work():
        for _ in range(5):
            async with lock:
                seen = n[0]
                await asyncio.sleep(0)
                n[0] = seen + 1

    def plain():
        for _ in range(5):
            with lock:
                seen = n[0]
                time.sleep(0.001)
                n[0] = seen + 1

    await asyncio.gather(asyncio.to_thread(plain), *(work() for _ in range(8)))
    assert n == [45]
    assert lock._own == {} and len(lock._handles) == 1


@on_both
@asynchronous
async def test_waits(client, other):
    with other.lock("x"):
        with pytest.raises(holdfast.Busy):
            await client.lock("x").acquire_async(0)
        assert not await client.lock("x").try_acquire_async()
        with pytest.raises(holdfast.Timeout):
            async with client.lock("x", wait=0.05):
                raise AssertionError("entered")
        waiting = asyncio.create_task(client.lock("x").acquire_async())
        await until(lambda: waiters(other, "x") == 1)
    await waiting


@asynchronous
async def test_a_task_that_nobody_else_has_is_kept_by_its_loop(client, other):
    entered = asyncio.Event()
    tasks = len(asyncio.all_tasks())

    async def work():
        async with client.lock("x"):
            entered.set()

    with other.lock("x"):
        asyncio.create_task(work())
        await until(lambda: waiters(other, "x") == 1)
        gc.collect()
    await entered.wait()
    while len(asyncio.all_tasks()) > tasks:
        await asyncio.sleep(0)


@asynchronous
async def test_the_loop_goes_on_while_hundreds_wait(client, other):
    """And no thread is added for any of them."""
    lock = client.lock("x")
    entered = []

    async def work(number):
        async with lock:
            entered.append(number)

    with other.lock("x"):
        before = len(os.listdir("/proc/self/task"))
        tasks = [asyncio.create_task(work(n)) for n in range(300)]
        await until(lambda: waiters(other, "x") >= 1)
        assert len(os.listdir("/proc/self/task")) <= before + 30
        assert entered == []
    await asyncio.gather(*tasks)
    assert sorted(entered) == list(range(300))


@on_both
@asynchronous
async def test_cancelling_a_task_cancels_its_wait(client, other):
    with other.lock("x"):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.lock("x").acquire_async(), 0.05)
        assert waiters(other, "x") == 0
        lock = client.lock("x")
        tasks = [asyncio.create_task(lock.acquire_async()) for _ in range(3)]
        await until(lambda: waiters(other, "x") >= 1)
        tasks[1].cancel()
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        assert not tasks[0].done() and not tasks[2].done()  # not these
        for task in (tasks[0], tasks[2]):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert lock._own == {}
    assert not busy(other, "x")


@asynchronous
async def test_a_grant_that_comes_when_its_task_is_cancelled_is_given_back(
        client, other):
    """Cancelled at every moment of an acquire that succeeds."""
    lock = client.lock("x")
    cancelled = entered = 0
    for turns in range(60):
        task = asyncio.create_task(lock.acquire_async())
        for _ in range(turns % 20):
            await asyncio.sleep(0.0002 if turns % 3 else 0)
        task.cancel()
        try:
            await task
            entered += 1
            handle = lock._own.pop(task)  # as if the task went on
            lock._entered.pop(task)
            lock._handles.discard(handle)
            handle.free()
        except asyncio.CancelledError:
            cancelled += 1
        assert not busy(other, "x"), f"leaked at turn {turns}"
    assert cancelled > 0
    assert lock._own == {} and lock._entered == {}


@asynchronous
async def test_cancelled_in_the_middle_of_a_release(client, other):
    async def work():
        async with client.lock("x"):
            started.set()
            await asyncio.sleep(0)

    for _ in range(10):
        started = asyncio.Event()
        task = asyncio.create_task(work())
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not busy(other, "x")


@asynchronous
async def test_a_timeout_around_a_held_lock(client, other):
    async def work():
        async with client.lock("x"):
            await asyncio.sleep(60)

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(work(), 0.1)
    assert not busy(other, "x")


@pytest.mark.skipif(not hasattr(asyncio, "timeout"),
                    reason="asyncio.timeout came with Python 3.11")
@asynchronous
async def test_timeout_and_groups_know_their_own_cancelling(client, other):
    with other.lock("x"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await client.lock("x").acquire_async()
        assert asyncio.current_task().cancelling() == 0

        async def fail():
            await until(lambda: waiters(other, "x") == 1)
            raise KeyError("on purpose")

        with pytest.raises(BaseException) as group:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(client.lock("x").acquire_async())
                tasks.create_task(fail())
        assert [type(e) for e in group.value.exceptions] == [KeyError]
        assert waiters(other, "x") == 0


@asynchronous
async def test_a_store_that_is_silent_does_not_hold_the_loop_up(
        redis, redis_server):
    slowest = 0.0

    async def tick():
        nonlocal slowest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            slowest = max(slowest, time.perf_counter() - before)

    ticking = asyncio.create_task(tick())
    client = await holdfast.open_async(redis, timeout=2)
    held = client.lock("held")
    await held.acquire_async()
    redis_server.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(holdfast.Error):
            await client.lock("x").acquire_async(0.1)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.lock("y").acquire_async(), 0.1)
        with pytest.raises(holdfast.Error):
            await held.release_async()
    finally:
        redis_server.send_signal(signal.SIGCONT)
    await client.close_async()
    ticking.cancel()
    assert slowest < 1.5, "somebody waited for the store in the loop"
    await asyncio.gather(ticking, return_exceptions=True)


@asynchronous
async def test_loss_is_told_in_the_loop(client, other):
    told = asyncio.Event()

    def lost(error):
        assert isinstance(error, holdfast.Lost)
        assert threading.current_thread() is threading.main_thread()
        assert asyncio.get_running_loop()
        told.set()

    with pytest.raises(holdfast.Lost):
        async with client.lock("x", watchdog=3, on_lost=lost) as lock:
            await asyncio.to_thread(other.lock("x").force_release)
            await told.wait()
            with pytest.raises(holdfast.Lost):
                lock.check()
            with pytest.raises(holdfast.Lost):
                await lock.acquire_async()
    async with lock:
        lock.check()


@asynchronous
async def test_the_object_may_own(client, other):
    lock = client.lock("x", owner="handle")
    await lock.acquire_async()
    await asyncio.create_task(lock.release_async())  # another task
    assert not busy(other, "x")
    with other.lock("x"):
        first = asyncio.create_task(lock.acquire_async())
        await until(lambda: waiters(other, "x") == 1)
        with pytest.raises(holdfast.Usage):
            await lock.acquire_async()
    await first
    await asyncio.to_thread(lock.release)  # or a thread


@asynchronous
async def test_leases(client, other):
    async with client.lock("x", lease=60) as lock:
        await lock.extend_async(120)
        assert lock.remaining > 100
    await lock.acquire_async()
    await lock.release_after_async(0.2)
    assert busy(other, "x")
    async with other.lock("x"):
        pass


@on_both
@asynchronous
async def test_semaphore_and_latch(client, other):
    sem = client.semaphore("s")
    sem.set(2)
    await sem.acquire_async(2)
    assert not await sem.try_acquire_async()
    with pytest.raises(holdfast.Busy):
        await sem.acquire_async(wait=0)
    first = asyncio.create_task(sem.acquire_async())
    second = asyncio.create_task(sem.acquire_async())
    await until(lambda: waits(other) == 2)
    first.cancel()  # its wait, and not the other's
    await sem.release_async()
    await second
    with pytest.raises(asyncio.CancelledError):
        await first
    assert sem.count() == (0, 0)

    latch = client.latch("l")
    latch.set(1)
    with pytest.raises(holdfast.Busy):
        await latch.wait_async(0)
    with pytest.raises(holdfast.Timeout):
        await latch.wait_async(0.05)
    waiting = asyncio.create_task(latch.wait_async())
    await until(lambda: waits(other) == 1)
    await other.latch("l").count_down_async()
    await waiting


@asynchronous
async def test_permits(client):
    client.semaphore("s").set(2)
    permit, inside, most = client.permit("s"), 0, 0

    async def work():
        nonlocal inside, most
        async with permit:
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    await asyncio.gather(*(work() for _ in range(8)))
    assert most == 2


@asynchronous
async def test_several_as_one(client, other, redis):
    with holdfast.open(redis) as second:
        for members in ((client.lock("b"), second.lock("a")),
                        (second.lock("a"), client.lock("b"))):
            both = holdfast.multi(*members)
            async with both:
                assert all(both.tokens) and both.held
                assert busy(other, "b")
            with other.lock("b"):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(both.acquire_async(), 0.1)
            assert not busy(second, "a") and not busy(other, "b")
        assert second._pump.loops == []


@asynchronous
async def test_a_job(client, other):
    async with client.job("j", at_least=60) as job:
        assert job.held and job.token
        assert not await other.job("j").begin_async()
    with pytest.raises(holdfast.Busy):
        async with other.job("j"):
            raise AssertionError("it ran twice")
    for turns in range(8):
        job = client.job(f"k{turns}")
        task = asyncio.create_task(job.begin_async())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        try:
            if await task:
                await job.end_async()
        except asyncio.CancelledError:
            pass
        assert other.job(f"k{turns}").begin(), "it was left begun"


# ---- loops and closing ------------------------------------------------------


def test_several_loops_one_after_another(client, other):
    lock = client.lock("x")

    async def main():
        async with lock:
            assert busy(other, "x")

    for _ in range(5):
        asyncio.run(main())
        assert client._pump.loops == []


def test_several_loops_at_a_time(client):
    lock, n = client.lock("x"), [0]

    async def work():
        for _ in range(5):
            async with lock:
                seen = n[0]
                await asyncio.sleep(0)
                n[0] = seen + 1

    async def main():
        await asyncio.gather(*(work() for _ in range(4)))

    for thread in [Thread(asyncio.run, main()) for _ in range(3)]:
        thread.result()
    assert n == [60]
    assert client._pump.loops == []


def test_a_loop_that_is_closed_in_the_middle(client, other):
    """Nobody cancels its tasks; what they wait for goes with them."""
    with other.lock("x"):
        loop = asyncio.new_event_loop()
        task = loop.create_task(client.lock("x").acquire_async())
        loop.run_until_complete(until(lambda: waiters(other, "x") == 1))
        job = loop.create_task(client.job("j").begin_async())
        loop.run_until_complete(asyncio.sleep(0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loop.close()
            task._log_destroy_pending = job._log_destroy_pending = False
            del task, job
            gc.collect()
        assert waiters(other, "x") == 0
    asyncio.run(test_after(client))


async def test_after(client):
    async with client.lock("x"):
        pass


test_after.__test__ = False


@asynchronous
async def test_closing_ends_what_waits(store, other):
    with other.lock("x"):
        for close_async in (False, True):
            client = holdfast.open(store)
            lock = client.lock("x")
            held = client.lock("y")
            await held.acquire_async()
            tasks = [asyncio.create_task(lock.acquire_async())
                     for _ in range(3)]
            await until(lambda: waiters(other, "x") >= 1)
            if close_async:
                await client.close_async()
            else:
                client.close()
            for task in tasks:
                with pytest.raises(holdfast.Cancelled):
                    await task
            assert client._pump.loops == []
            assert not busy(other, "y")
            with pytest.raises(holdfast.Usage):
                await lock.acquire_async()


@asynchronous
async def test_open_and_close_in_the_loop(store):
    async with await holdfast.open_async(store, lease=5) as client:
        async with client.lock("x") as lock:
            assert lock.remaining <= 5
    assert client.closed


@asynchronous
async def test_nothing_is_left_behind(client):
    """Of a hundred rounds: no descriptor, no handle, no number."""
    from holdfast import _handle

    lock = client.lock("x")
    async with lock:
        pass
    before = (len(os.listdir("/proc/self/fd")), len(_handle._meant),
              len(client._handle._children))
    for _ in range(100):
        async with lock:
            pass
        assert await client.semaphore("s").try_acquire_async() is False
    gc.collect()
    assert (len(os.listdir("/proc/self/fd")), len(_handle._meant),
            len(client._handle._children)) == before
