#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-examples.py LIB [PAGE...]      - builds and runs the C examples of the
                                        manual; without PAGE, of man/*.3.scd,
                                        docs/*.md and README.md
check-examples.py LIB --self-test    - shows that a broken one is found

LIB is the folder of libholdfast.so.

In a man page (.scd) every literal block is an example, but for those of the
SYNOPSIS, declarations that stand in the header (tools/check-manual.py compares
them), and what begins with "$ ", a command.  In Markdown it is what stands
between ```c and ```.

  a program    has a main(): it is built, run, and must exit 0
  a fragment   is built and run in a program in which these exist:
                   hf_client *client;  hf_lock *lock;  (of the name "nightly")
                   hf_lock *second;  (of the name "weekly")
                   hf_error err;  int rc;  hf_options options;
               and write_report(uint64_t token), which does nothing.  It may
               `return` a status, and must come to its end otherwise.
               Functions in it begin with "static" at the left margin; one that
               is nothing else is built only
  its output   is the block after a line that ends in "prints:".  A number of
               six and more digits stands for any; so does ... for any text

A block that cannot run says why, where everybody reads it, in its first line:

    /* not run: it would end the machine */

Every block has a folder and an embedded store of its own; a server's address
that is opened in it is taken for that of another embedded store.  The compiler
is told -Wall -Wextra -Werror."""
import concurrent.futures
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
JOBS = 2
SECONDS = 60  # for one example: only what hangs takes so long
FLAGS = ["-std=gnu11", "-O0", "-Wall", "-Wextra", "-Werror", "-pthread"]

HEAD = """
#include <holdfast.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
"""

FRAGMENT = HEAD + """
#pragma GCC diagnostic ignored "-Wunused-function"
static hf_client *client;
static hf_lock *lock, *second;
static hf_error err;
static int rc;
static hf_options options = HF_OPTIONS_INIT;

static void write_report(uint64_t token) {
    (void)token;
}

%s

static int fragment(void) {
    (void)rc, (void)options, (void)write_report;
    {
%s
    }
    return 0;
}

int main(void) {
    if (hf_open(&client, NULL, NULL, &err) != HF_OK ||
        hf_lock_new(&lock, client, "nightly", NULL, &err) != HF_OK ||
        hf_lock_new(&second, client, "weekly", NULL, &err) != HF_OK)
        return fprintf(stderr, "prelude: %%s\\n", err.text), 1;
    err = (hf_error){0};
    return fragment();
}
"""

OPENING = re.compile(r"\bhf_(?:open|escalate_to)\([^;]*")
SERVER = re.compile(
    r'"(?:rediss?(?:\+\w+)?|redlocks?|zk|etcds?|postgresql|mariadb)://[^"]*"')


class Block:
    def __init__(self, page, line, text):
        self.page, self.line, self.text = page, line, text
        self.output = None  # that the page shows
        self.problem = None

    def where(self):
        return "%s:%d" % (os.path.relpath(self.page, ROOT), self.line)

    def sort(self):
        first = self.text.lstrip().splitlines()[0]
        if "not run" in first:
            return "not run"
        if re.search(r"^int main\(", self.text, re.M):
            return "program"
        functions, rest = self.parts()
        return "fragment" if rest.strip() else "functions"

    def parts(self):
        """Functions and types, and the rest; each with its line."""
        parts, now = ["", ""], 1
        for number, line in enumerate(self.text.splitlines(), self.line):
            if now == 1 and re.match(r"(static|typedef|#define|#include)\b", line):
                now = 0
                parts[0] += '#line %d "%s"\n' % (number, self.where())
            elif now == 1 and not parts[1].strip():
                parts[1] = '#line %d "%s"\n' % (number, self.where()) \
                    if line.strip() else ""
            parts[now] += line + "\n"
            if now == 0 and (re.match(r"\}|#", line) or
                             (line.endswith(";") and line[0] != " ")):
                now = 1
        return parts

    def reason(self):
        found = re.match(r"\s*/\* not run: (.+?) \*/", self.text)
        return found.group(1) if found else None


# ---- finding them ---------------------------------------------------------

def is_example(section, text):
    first = text.lstrip()
    return not (section == "SYNOPSIS" or first.startswith("$ ") or
                re.match(r"(typedef (struct|enum)|enum|typedef void|"
                         r"typedef int|#define HF_) ?", first))


def blocks_of_man(page):
    section, told, inside, blocks, text = "", "", None, [], []
    for number, line in enumerate(open(page, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if line == "```" and inside is None:
            inside, text = number + 1, []
        elif line == "```":
            shown = re.sub(r"\\(.)", r"\1", "\n".join(text)) + "\n"  # scdoc's
            if told.endswith("prints:"):
                if not blocks:
                    raise SystemExit("%s:%d: who prints this?" % (page, number))
                blocks[-1].output = shown
            elif is_example(section, shown):
                blocks.append(Block(page, inside, shown))
            inside, told = None, ""
        elif inside is not None:
            text.append(line)
        else:
            if line.startswith("# "):
                section = line[2:]
            if line:
                told = line
    return blocks


def blocks_of_markdown(page):
    told, language, blocks, text = "", None, [], []
    for number, line in enumerate(open(page, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if line.startswith("```") and language is None:
            language, inside, text = line[3:], number + 1, []
        elif line == "```":
            shown = "\n".join(text) + "\n"
            if told.endswith("prints:") and blocks and not language:
                blocks[-1].output = shown
            elif language == "c":
                blocks.append(Block(page, inside, shown))
            language, told = None, ""
        elif language is not None:
            text.append(line)
        elif line:
            told = line
    return blocks


def blocks_of(page):
    return blocks_of_man(page) if page.endswith(".scd") else \
        blocks_of_markdown(page)


# ---- trying them ----------------------------------------------------------

def program_of(block, folder):
    """As C, and in which every server is an embedded store."""
    def embedded(address):
        digest = hashlib.sha1(address.group(0).encode()).hexdigest()[:8]
        return '"sqlite:%s/%s.db"' % (folder, digest)

    text = OPENING.sub(lambda call: SERVER.sub(embedded, call.group(0)),
                       block.text)
    if block.sort() == "program":
        return '#line %d "%s"\n%s' % (block.line, block.where(), text)
    return FRAGMENT % tuple(Block(block.page, block.line, text).parts())


def matches(shown, printed):
    pattern = re.escape(shown.rstrip())
    pattern = re.sub(r"\d{6,}", r"\\d+", pattern)
    pattern = pattern.replace(re.escape("..."), ".*")
    return re.fullmatch(pattern, printed.rstrip()) is not None


def attempt(block, libraries, scratch):
    folder = tempfile.mkdtemp(prefix="example-", dir=scratch)
    source, program = folder + "/example.c", folder + "/example"
    with open(source, "w", encoding="utf-8") as out:
        out.write(program_of(block, folder))
    built = subprocess.run(
        [os.environ.get("CC", "cc")] + FLAGS +
        ["-I", ROOT + "/include", source, "-o", program, "-L", libraries,
         "-Wl,-rpath," + libraries, "-lholdfast"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode:
        return "is not C:\n" + built.stdout
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("HOLDFAST")}
    environment["HOLDFAST_STORE"] = "sqlite:%s/locks.db" % folder
    try:
        ran = subprocess.run([program], cwd=folder, env=environment,
                             stdin=subprocess.DEVNULL, timeout=SECONDS,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
    except subprocess.TimeoutExpired:
        return "does not end within %d s" % SECONDS
    if ran.returncode:
        return "ends with %d:\n%s%s" % (ran.returncode, ran.stdout, ran.stderr)
    if block.output is not None and not matches(block.output, ran.stdout):
        return "prints\n%sand not\n%s" % (ran.stdout, block.output)
    shutil.rmtree(folder)
    return None


def check(pages, libraries, scratch, say):
    """How many are wrong."""
    blocks = [b for page in pages for b in blocks_of(page)]
    wrong, counts = 0, {}
    for b in blocks:
        counts[b.sort()] = counts.get(b.sort(), 0) + 1
        if b.sort() == "not run":
            say("%s: not run: %s" % (b.where(), b.reason() or "?"))
            if not b.reason():
                say("%s: does not say why it is not run" % b.where())
                wrong += 1
    tried = [b for b in blocks if b.sort() != "not run"]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for b, problem in zip(tried, pool.map(
                lambda b: attempt(b, libraries, scratch), tried)):
            if problem:
                say("%s: this %s %s" % (b.where(), b.sort(), problem))
                wrong += 1
    say("%d pages: %s, %d with their output; %d wrong" % (
        len(pages), ", ".join("%d %s" % (n, sort)
                              for sort, n in sorted(counts.items())),
        sum(b.output is not None for b in blocks), wrong))
    if not blocks:
        say("there is no example")
        wrong += 1
    return wrong


# ---- does it find what is wrong? ------------------------------------------

GOOD = """page(3)

# SYNOPSIS

```
this is not C
```

# EXAMPLES

```
if (hf_lock_try(lock, &err) == HF_OK)
    hf_lock_release(lock, &err);
```

```
#include <holdfast.h>
#include <stdio.h>

int main(void) {
    hf_client *client;
    if (hf_open(&client, "redis://127.0.0.1:1", NULL, NULL) != HF_OK)
        return 1;
    hf_close(client);
    printf("well, 123456789 times\\\\nand more\\\\n");
}
```

It prints:

```
well, 99999999 times
and ...
```

```
/* not run: because */
this is not C either
```

```
$ neither is this
```
"""

BROKEN = [
    ("hf_lock_try(lock);", "is not C"),
    ("hf_lock_no_such_call(lock);", "is not C"),
    ("int unused;", "is not C"),
    ("static int twice(void) {\n    return hf_lock_twice(NULL);\n}", "is not C"),
    ("static int one(void) {\n    return 1;\n}\n\nreturn one();",
     "ends with 1"),
    ("return hf_lock_release(lock, &err) != HF_OK;", "ends with 1"),
    ("abort();", "ends with -6"),
    ("printf(\"one\\\\n\");\n```\n\nIt prints:\n\n```\ntwo", "and not"),
    ("printf(\"1\\\\n\");\n```\n\nIt prints:\n\n```\n", "and not"),
    ("/* not run */\nx", "does not say why"),
]


def self_test(libraries, scratch):
    page, said = scratch + "/page.3.scd", []

    def judge(text):
        del said[:]
        with open(page, "w", encoding="utf-8") as out:
            out.write(text)
        return check([page], libraries, scratch, said.append)

    if judge(GOOD):
        raise SystemExit("self-test: a good page is refused:\n" +
                         "\n".join(said))
    for text, complaint in BROKEN:
        bad = "page(3)\n\n# EXAMPLES\n\n```\n%s\n```\n" % text
        if judge(bad) != 1 or complaint not in "\n".join(said):
            raise SystemExit("self-test: not found: %s\n%s" %
                             (text, "\n".join(said)))
    if not judge("page(3)\n\n# EXAMPLES\n"):
        raise SystemExit("self-test: a manual without examples passes")
    markdown = scratch + "/page.md"
    with open(markdown, "w", encoding="utf-8") as out:
        out.write("```sh\nfalse\n```\n```c\nreturn 3;\n```\n")
    if check([markdown], libraries, scratch, said.append) != 1:
        raise SystemExit("self-test: not found in Markdown")
    print("self-test: every broken example was found")


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    libraries, pages = os.path.abspath(sys.argv[1]), sys.argv[2:]
    scratch = tempfile.mkdtemp(prefix="hf-examples-",
                               dir=os.environ.get("HF_TEST_DIR"))
    try:
        if pages == ["--self-test"]:
            self_test(libraries, scratch)
            return 0
        if not pages:
            pages = sorted(glob.glob(ROOT + "/man/*.3.scd")) + \
                sorted(glob.glob(ROOT + "/docs/*.md")) + [ROOT + "/README.md"]
        return 1 if check(pages, libraries, scratch, print) else 0
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
