# SPDX-License-Identifier: MIT
#
# redis_py.py PORT hold NAME | add NAME FILE TIMES - redis-py's own Lock, for
# the tests that share one with it.
#
#   hold: takes the lock, says "held", releases when its input ends.
#   add:  TIMES times takes the lock and adds one to the number in FILE, in
#         two steps that only the lock keeps together.
import sys

import redis

client = redis.Redis(port=int(sys.argv[1]))
lock = client.lock(sys.argv[3], timeout=120, sleep=0.01, blocking_timeout=60)

if sys.argv[2] == "hold":
    assert lock.acquire()
    print("held", flush=True)
    sys.stdin.read()
    lock.release()
else:
    for _ in range(int(sys.argv[5])):
        with lock:
            with open(sys.argv[4]) as file:
                number = int(file.read())
            with open(sys.argv[4], "w") as file:
                file.write(str(number + 1))
