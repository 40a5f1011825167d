#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples.py FILE... - runs the examples of the manual and of docs/.

Every literal block of a page (*.scd), and every block of the language sh in a
Markdown file, says in a comment right before it what it is:

    ; run                     it must succeed, run by bash -e
    ; run exit=75 with=redis  it must exit with 75; redis://db1 in it is a
                              private server then (also zookeeper, etcd,
                              postgres, mariadb; several with commas between);
                              by=zsh: another shell
    ; not run: why            counted, and the reason is printed
    ; file                    it is no command

(in Markdown <!-- run … -->).  A block with lines that begin with "$ " is a
transcript: the other lines are what must be printed, where "..." at the end of
a line stands for its rest, and on a line of its own for any lines.

Each runs in a folder of its own, with an embedded store of its own, and each
program "./x" that it names is there and does nothing.  Programs come from PATH.
"""
import concurrent.futures
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

DEADLINE = 60  # seconds; only what hangs ever takes so long
AT_ONCE = 4    # most of them sleep
MARK = "\x1e"


class Block:
    def __init__(self, page, line, what, text):
        self.page, self.line, self.text = page, line, text
        self.kind, self.why, self.options = None, "", {}
        if what is None:
            return
        if what.startswith("not run:"):
            self.kind, self.why = "not run", what[8:].strip()
        elif what == "file":
            self.kind = "file"
        elif what.split()[:1] == ["run"]:
            self.kind = "run"
            self.options = dict(o.split("=", 1) for o in what.split()[1:])

    def where(self):
        return "%s:%d" % (os.path.relpath(self.page), self.line)


def blocks_of_manual(path):
    """Literal blocks of scdoc, where a backslash escapes."""
    what, inside, begun, text = None, False, 0, []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if line.startswith("```"):
            if inside:
                yield Block(path, begun, what, re.sub(r"\\(.)", r"\1",
                                                      "\n".join(text)))
                what = None
            inside, begun, text = not inside, number, []
        elif inside:
            text.append(line)
        elif line.startswith("; "):
            what = line[2:].strip()
        elif line:
            what = None


def blocks_of_markdown(path):
    what, fence, begun, text = None, None, 0, []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if fence is not None and line.startswith("```"):
            if fence == "sh":
                yield Block(path, begun, what, "\n".join(text))
            fence, what = None, None
        elif fence is not None:
            text.append(line)
        elif line.startswith("```"):
            fence, begun, text = line[3:].strip(), number, []
        elif re.match(r"<!-- (.*) -->$", line):
            what = line[5:-4]
        elif line:
            what = None


# ---- servers ---------------------------------------------------------------

class Servers:
    """Private ones, started when the first example wants one."""

    def __init__(self, folder):
        self.folder, self.redis, self.lenders, self.uris = folder, None, [], {}
        self.mutex, self.numbers = threading.Lock(), itertools.count()

    def uri(self, sort):
        with self.mutex:
            if sort not in self.uris:
                start = self.start_redis if sort == "redis" else self.borrow
                self.uris[sort] = start(sort)
            return self.uris[sort]

    def number(self):
        """Of the database of one example in Redis: none sees another."""
        with self.mutex:
            return next(self.numbers)

    def start_redis(self, _):
        if shutil.which("redis-server") is None:
            return None
        for _ in range(8):
            port = random.randint(12000, 32000)
            server = subprocess.Popen(
                ["redis-server", "--port", str(port), "--bind", "127.0.0.1",
                 "--save", "", "--appendonly", "no", "--databases", "1000",
                 "--dir", self.folder],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for line in server.stdout:
                if "Ready to accept" in line:
                    self.redis = server
                    return "redis://127.0.0.1:%d" % port
            server.wait()
        raise RuntimeError("redis-server does not start")

    def borrow(self, sort):
        """What hf-lender lends (test/support/lender.h), or one's own."""
        lent = os.path.join(os.environ["HF_TEST_DIR"], "lent-" + sort, "0")
        if not os.path.exists(lent):
            own = dict(os.environ, HF_TEST_DIR=self.folder)
            lender = os.environ.get("HF_LENDER", "hf-lender")
            rc = subprocess.call([lender, "start", sort, "1"], env=own)
            if rc == 77:
                return None
            if rc != 0:
                raise RuntimeError("hf-lender start %s: %d" % (sort, rc))
            self.lenders.append((lender, sort, own))
            lent = os.path.join(self.folder, "lent-" + sort, "0")
        return open(lent, encoding="utf-8").readline().split()[0]

    def stop(self):
        if self.redis:
            self.redis.kill()
            self.redis.wait()
        for lender, sort, env in self.lenders:
            subprocess.call([lender, "stop", sort], env=env)


def join_query(base, query):
    if not query:
        return base
    return base + ("&" if "?" in base else "?") + query


def with_server(text, sort, uri, unique, number):
    """Addresses of the page become those of the server that is there."""
    schemes = {"redis": "redis", "zookeeper": "zk", "etcd": "etcd",
               "postgres": "postgresql", "mariadb": "mariadb"}

    def address(match):
        quote, path, query = (g or "" for g in match.groups())
        if sort in ("zookeeper", "etcd"):
            to = join_query(uri + path.rstrip("/") + "-" + unique, query)
        elif sort == "redis":
            to = join_query("%s/%d" % (uri, number), query)
        else:
            to = join_query(join_query(uri, query), "hf_prefix=%s%%2F" % unique)
        return quote + to if quote else "'%s'" % to

    return re.sub("(['\"]?)" + schemes[sort] +
                  r"://[\w.@,:-]+(/[\w./-]*)?(?:\?([\w=&%:.-]*))?",
                  address, text)


# ---- one example -----------------------------------------------------------

def prepare(folder, text):
    os.makedirs(folder)
    for program in set(re.findall(r"(?<![\w.])\./([\w.-]+)", text)):
        path = os.path.join(folder, program)
        body = "exit 0"
        if program.startswith("fail"):
            body = 'exit "$1"'
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n%s\n" % body)
        os.chmod(path, 0o755)
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("HOLDFAST") or k == "HOLDFAST"}
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "CLICOLOR_FORCE"):
        env.pop(name, None)
    env.update(HOME=folder, XDG_CONFIG_HOME=folder + "/config",
               XDG_STATE_HOME=folder + "/state", SHELL="/bin/sh",
               password="swordfish", TMPDIR=folder,
               HOLDFAST_STORE="sqlite:%s/locks.db" % folder)
    return env


def spawn(argv, folder, env):
    """Exit status and output; what hangs is ended with all it started."""
    child = subprocess.Popen(argv, cwd=folder, env=env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out, _ = child.communicate(timeout=DEADLINE)
        return child.returncode, out.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        out, _ = child.communicate()
        return None, out.decode("utf-8", "replace")


def run_script(block, text, folder, env):
    shell = block.options.get("by", "bash")
    if shutil.which(shell) is None:
        return "skipped", "%s is not installed" % shell
    argv = [shell] + (["-e"] if shell == "bash" else []) + ["-c", text]
    rc, out = spawn(argv, folder, env)
    wanted = int(block.options.get("exit", 0))
    if rc == wanted:
        return "passed", ""
    return "failed", "exit %s, not %d\n%s" % (rc, wanted, out)


def commands_of(text):
    """(command, what it prints) of a transcript."""
    found = []
    for line in text.split("\n"):
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0] += "\n" + line[2:]
        else:
            found[-1][1].append(line)
    return found


def matches(wanted, got):
    pattern = ""
    for line in wanted:
        if line == "...":
            pattern += "(?:.*\n)*?"
        elif line.endswith("..."):
            pattern += re.escape(line[:-3]) + ".*\n"
        else:
            pattern += re.escape(line) + "\n"
    return re.fullmatch(pattern, got) is not None


def run_transcript(block, text, folder, env):
    commands = commands_of(text)
    script = ["hf_mark() { hf_rc=$?; printf '%s\\n'; return $hf_rc; }" % MARK]
    for command, _ in commands:
        script += [command, "hf_mark"]
    rc, out = spawn(["bash", "-c", "\n".join(script)], folder, env)
    printed = out.split(MARK + "\n")
    if len(printed) != len(commands) + 1:
        return "failed", "exit %s before its end\n%s" % (rc, out)
    for (command, wanted), got in zip(commands, printed):
        if not matches(wanted, got):
            return "failed", "$ %s\nprinted\n%s" % (command, got)
    return "passed", ""


def run(block, folder, servers, unique):
    text = block.text
    sorts = block.options.get("with", "")
    for sort in sorts.split(",") if sorts else []:
        uri = servers.uri(sort)
        if uri is None:
            return "skipped", "%s is not installed" % sort
        text = with_server(text, sort, uri, unique, servers.number())
    env = prepare(folder, text)
    if re.search(r"^\$ ", text, re.M):
        return run_transcript(block, text, folder, env)
    return run_script(block, text, folder, env)


def judge(block, folder, servers, unique):
    if block.kind == "run":
        return run(block, folder, servers, unique)
    if block.kind == "not run" and not block.why:
        return "failed", "it is not run, and does not say why"
    if block.kind == "not run":
        return "not run", block.why
    if block.kind == "file":
        return "passed", ""
    if block.page.endswith(".scd") and not re.search(r"\bholdfast\b", block.text):
        return "passed", ""  # a picture, or a piece of C
    return "failed", "nothing says whether it can be run"


def examples(paths):
    for path in paths:
        of = blocks_of_manual if path.endswith(".scd") else blocks_of_markdown
        for n, block in enumerate(of(path)):
            yield block, "%s-%d" % (os.path.basename(path), n)


def main(paths):
    base = os.environ.setdefault("HF_TEST_DIR", tempfile.gettempdir())
    top = tempfile.mkdtemp(prefix="examples-", dir=base)
    os.chmod(top, 0o711)  # databases do not run as root
    servers = Servers(top)
    counts = dict.fromkeys(("passed", "failed", "not run", "skipped"), 0)
    def one(example):
        block, name = example
        began = time.monotonic()
        verdict = judge(block, os.path.join(top, name), servers,
                        "%s-%s" % (os.path.basename(top), name))
        return block, verdict, time.monotonic() - began

    try:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for block, (verdict, text), took in pool.map(one, examples(paths)):
                counts[verdict] += 1
                if verdict != "passed":
                    print("%s: %s: %s" % (block.where(), verdict, text))
                elif os.environ.get("HF_VERBOSE"):
                    print("%s: %.1f s" % (block.where(), took))
    finally:
        servers.stop()
        shutil.rmtree(top, ignore_errors=True)
    print(", ".join("%d %s" % (n, word) for word, n in counts.items()))
    if counts["passed"] + counts["skipped"] == 0:
        print("there are no examples")
        return 1
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
