# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: a store for each of them, other
processes, and waiting for what shall happen."""
from __future__ import annotations

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "python"
DEADLINE = 20  # seconds; only what hangs ever takes so long
sys.path.insert(0, str(PACKAGE))
os.environ["PYTHONPATH"] = str(PACKAGE)

import holdfast  # noqa: E402


def until(condition, what="it"):
    by = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < by, f"waited {DEADLINE} s in vain for {what}"
        time.sleep(0.01)


def joined(thread):
    thread.join(DEADLINE)
    assert not thread.is_alive(), "the thread does not end"


class Thread(threading.Thread):
    """Has what its function answered, or raised."""

    def __init__(self, function, *args):
        super().__init__(daemon=True)
        self._function, self._args = function, args
        self.answer = self.error = None
        self.start()

    def run(self):
        try:
            self.answer = self._function(*self._args)
        except BaseException as error:
            self.error = error

    def result(self):
        joined(self)
        if self.error:
            raise self.error
        return self.answer


def waiters(client, name):
    return sum(not place.holds for place in client.list(name)
               if place.kind not in ("semaphore", "latch"))


@pytest.fixture
def folder():
    path = tempfile.mkdtemp(prefix="py-", dir=os.environ.get("HF_TEST_DIR"))
    yield pathlib.Path(path)
    shutil.rmtree(path)


@pytest.fixture
def redis_server(folder):
    program = shutil.which("redis-server")
    if not program:
        pytest.skip("redis-server is not installed")
    for _ in range(8):
        port = random.randrange(12000, 32000)
        log = folder / "redis.log"
        server = subprocess.Popen(
            [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no", "--dir", str(folder), "--logfile", log])
        until(log.exists, "its log")
        until(lambda: "Ready to accept" in log.read_text()
              or server.poll() is not None, "redis-server")
        if server.poll() is None:
            break
    server.address = f"redis://127.0.0.1:{port}"
    yield server
    server.kill()
    server.wait()


@pytest.fixture
def redis(redis_server):
    return redis_server.address


@pytest.fixture(params=["sqlite"])
def store(request, folder, monkeypatch):
    """On the embedded store, unless `on_both` asks for Redis as well."""
    if request.param == "redis":
        address = request.getfixturevalue("redis")
    else:
        address = f"sqlite:{folder}/locks.db"
    monkeypatch.setenv("HOLDFAST_STORE", address)
    return address


on_both = pytest.mark.parametrize("store", ["sqlite", "redis"], indirect=True)


@pytest.fixture
def client(store):
    with holdfast.open(store) as opened:
        yield opened


@pytest.fixture
def other(store):
    """A client of its own, as another process has one."""
    with holdfast.open(store) as opened:
        yield opened


@pytest.fixture
def python(folder):
    """Starts a program in another process; they end with the test."""
    started = []

    def start(program, *args, **options):
        options.setdefault("stdout", subprocess.PIPE)
        process = subprocess.Popen([sys.executable, "-c", program, *args],
                                   text=True, **options)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()


def pytest_terminal_summary(terminalreporter):
    """tools/skips.sh reads these."""
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2].replace("Skipped: ", "")
        terminalreporter.write_line(f"skipped: {reason}")
