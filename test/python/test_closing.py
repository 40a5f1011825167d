# SPDX-License-Identifier: MIT
"""Clients that are closed at any moment, by any thread, under those who use
them.  What goes wrong here ends the process, so it runs in one of its own."""
from conftest import DEADLINE

COMMON = """
import asyncio, holdfast, os, random, sys, threading, warnings
warnings.simplefilter("ignore")
store = os.environ["HOLDFAST_STORE"]
chance = random.Random(int(sys.argv[1]))
seen = set()
"""

THREADS = COMMON + """
def use(client, seed):
    chance = random.Random(seed)
    while True:
        name = chance.choice("abc")
        try:
            what = chance.randrange(5)
            if what == 0:
                with client.multi("a", "b", wait=0.1) as both:
                    both.tokens
            elif what == 1:
                with client.job("j"):
                    pass
            elif what == 2:
                client.semaphore("s").try_acquire()
            elif what == 3:
                client.lock(name).try_acquire()     # and dropped
            else:
                with client.lock(name, wait=0.1, on_lost=print):
                    client.list(name)
        except holdfast.Usage as error:
            assert client.closed, error
            return
        except (holdfast.Busy, holdfast.Timeout, holdfast.Cancelled) as error:
            seen.add(error.name)

for turn in range(25):
    client = holdfast.open(store, on_event=lambda event: None)
    users = [threading.Thread(target=use, args=(client, turn * 10 + n))
             for n in range(4)]
    for user in users:
        user.start()
    threading.Event().wait(chance.random() * 0.03)
    client.close()
    for user in users:
        user.join()
print("done", sorted(seen))
"""

LOOPS = COMMON + """
async def use(client):
    while True:
        try:
            async with client.job("j"):
                await asyncio.sleep(0)
            async with client.multi("a", "b"):
                await asyncio.sleep(0)
            async with client.lock("a", on_lost=print):
                await asyncio.sleep(0)
            await client.semaphore("s").try_acquire_async()
        except (holdfast.Usage, holdfast.Cancelled) as error:
            if client.closed:
                return
            raise
        except holdfast.Busy as error:
            seen.add(error.name)

async def main(turn):
    client = holdfast.open(store)
    tasks = [asyncio.create_task(use(client)) for _ in range(4)]
    await asyncio.sleep(chance.random() * 0.03)
    if turn % 4 == 0:
        client.close()
    elif turn % 4 == 1:
        await client.close_async()
    elif turn % 4 == 2:
        closing = threading.Thread(target=client.close)
        closing.start()
        await asyncio.gather(*tasks)
        closing.join()
    else:
        for task in tasks:
            task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        assert ended is None or isinstance(ended, asyncio.CancelledError), ended
    client.close()

for turn in range(32):
    asyncio.run(main(turn))
print("done", sorted(seen))
"""


def ran(python, program):
    process = python(program, "1")
    out, _ = process.communicate(timeout=DEADLINE * 3)
    assert process.returncode == 0
    assert out.startswith("done"), out


def test_threads(python, store):
    ran(python, THREADS)


def test_loops(python, store):
    ran(python, LOOPS)
