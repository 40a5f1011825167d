# SPDX-License-Identifier: MIT
"""Who holds, who waits; events, log and numbers."""
import gc
import logging
import threading
import warnings

import holdfast
import pytest
from conftest import Thread, until, waiters
from holdfast import EventKind, SampleType


def test_places_and_clients(store):
    with holdfast.open(store, why="on purpose", host="here",
                       program="me") as client:
        with client.lock("x") as lock:
            waiting = Thread(client.lock("x").acquire)
            until(lambda: waiters(client, "x") == 1, "the waiter")
            until(lambda: client.list("x")[0].why, "its record")
            holder, waiter = client.list("x")
            assert (holder.name, holder.kind, holder.holds) == (
                "x", "lock", True)
            assert (holder.why, holder.host, holder.program) == (
                "on purpose", "here", "me")
            assert holder.token == lock.token
            assert holder.owner == lock.owner and holder.lease > 0
            assert not waiter.holds and waiter.token == 0
            assert [place.name for place in client.list()] == ["x", "x"]
            until(lambda: any(c.waits for c in client.clients()), "the record")
            (me,) = client.clients()
            assert (me.holds, me.waits, me.why) == (1, 1, "on purpose")
            assert me.longest is not None
        waiting.result()
    assert holder.pid > 0


def test_a_deadlock_is_found_and_one_gives_way(store):
    with holdfast.open(store) as one, holdfast.open(store) as two:
        assert one.deadlocks() == []
        both = threading.Barrier(2)

        def work(client, first, then, **options):
            with client.lock(first):
                both.wait(20)
                with client.lock(then, **options):
                    return "all"

        patient = Thread(work, one, "a", "b")
        polite = Thread(lambda: work(two, "b", "a", give_way=True))
        until(lambda: one.deadlocks() or not polite.is_alive(), "the circle")
        found = one.deadlocks()
        if found:  # it may have given way by now
            (circle,) = found
            assert {stuck.wants for stuck in circle} == {"a", "b"}
            assert any(stuck.asked for stuck in circle)
        with pytest.raises(holdfast.Deadlock):
            polite.result()
        assert patient.result() == "all"


def test_events(store, other):
    seen = []
    with holdfast.open(store, on_event=seen.append) as client:
        with other.lock("x"):
            assert not client.lock("x").try_acquire()
        with client.lock("x") as lock:
            token = lock.token
    refused, granted, released = seen
    assert refused.kind is EventKind.REFUSED and refused.code == 1
    assert granted.kind is EventKind.GRANTED and granted.token == token
    assert released.kind is EventKind.RELEASED and released.name == "x"
    assert released.held > 0


def test_an_event_may_ask_but_not_close(store):
    seen = []

    def told(event):
        seen.append(client.store)
        with pytest.raises(holdfast.Usage):
            client.close()

    with holdfast.open(store, on_event=told) as client:
        with client.lock("x"):
            pass
    assert len(seen) == 2


def test_the_log(store, caplog):
    seen = []
    with holdfast.open(store, on_log=seen.append,
                       log_level=holdfast.LogLevel.DEBUG) as client:
        with client.lock("x"):
            pass
    assert {entry.level for entry in seen} >= {holdfast.LogLevel.INFO,
                                               holdfast.LogLevel.DEBUG}
    assert all(entry.text and isinstance(entry.fields, dict)
               for entry in seen)
    assert any(entry.fields.get("store") == client_store(store)
               for entry in seen)
    assert any(entry.fields.get("name") == "x" for entry in seen)

    caplog.set_level("INFO")
    with holdfast.open(store, on_log=holdfast.log_to(
            logging.getLogger("locks"))):
        pass
    assert [r.levelname for r in caplog.records if r.name == "locks"]
    assert "store=" in caplog.text
    assert all(r.levelname != "DEBUG" for r in caplog.records)


def client_store(store):
    with holdfast.open(store) as client:
        return client.store


def test_the_log_of_a_store_that_goes_away(redis, redis_server):
    """Written on whatever thread it happens on."""
    seen = []
    with holdfast.open(redis, on_log=seen.append, timeout=0.3, patience=0.3,
                       log_level=holdfast.LogLevel.WARN) as client:
        with client.lock("x"):
            assert not seen
        redis_server.kill()
        with pytest.raises((holdfast.NotDone, holdfast.Doubt)):
            client.lock("y", wait=10).acquire()
        until(lambda: seen, "a warning")
        assert seen[0].level <= holdfast.LogLevel.WARN


def test_garbage_is_collected_in_callbacks_too(store, other):
    """The library may hold locks of its own there: what is freed waits."""
    collected = []

    def told(_what):
        collected.append(gc.collect())

    with holdfast.open(store, on_log=told, on_event=told,
                       log_level=holdfast.LogLevel.DEBUG) as client:
        gc.disable()
        try:
            lock = client.lock("garbage")
            lock.acquire()
            lock.myself = lock
            collected.clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                del lock
                with client.lock("x"):  # in which it is collected
                    pass
            assert sum(collected) > 0
            with client.lock("x"):  # and now freed, at the latest
                pass
        finally:
            gc.enable()
        assert other.lock("garbage").try_acquire()


def test_numbers(client):
    with client.lock("x"):
        held = [s for s in client.stats() if s.metric == "holdfast_lock_held"]
        assert [s.value for s in held if s.labels["lock"] == "x"] == [1]
    waits = [s for s in client.stats()
             if s.type is SampleType.HISTOGRAM and s.labels.get("lock") == "x"]
    assert waits
    for sample in waits:
        assert len(sample.counts) == len(sample.bounds) + 1
        assert sample.counts[-1] == sample.count
        assert list(sample.bounds) == sorted(sample.bounds)
    text = client.stats_text()
    assert "# TYPE holdfast_lock_held gauge" in text
    assert text.endswith("\n")


def test_the_store_itself(client, redis):
    assert client.store.startswith("sqlite:")
    assert client.can("fair") & holdfast.Ability.ORDER
    assert client.can(holdfast.Kind.SIMPLE) == 0
    assert any(fact.text for fact in client.examine())
    with pytest.raises(holdfast.Cannot):
        client.rights()
    with holdfast.open(redis) as other:
        assert any("on" in rule.text for rule in other.rights("x:"))
    assert "sqlite" in holdfast.stores()
    assert holdfast.default_store().startswith("sqlite:")
    holdfast.check_uri(redis)
    with pytest.raises(holdfast.Uri):
        holdfast.check_uri("redis://?what=this")
    assert holdfast.redact("redis://me:secret@db") == "redis://me:***@db"
    long = "redis://me:secret@db/" + "x" * 400
    assert len(holdfast.redact(long)) == len(long) - 3
    assert holdfast.library_version().count(".") == 2
