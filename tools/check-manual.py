#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-manual.py [MAN]        - does man/*.3.scd say what holdfast.h does?
                               MAN is the folder of the pages that were made
check-manual.py --self-test  - shows that a fault of each sort is found

- Every function of the header has a page: it stands in one SYNOPSIS and in the
  NAME of the same page, by which man(1) finds it.
- Every prototype, type and macro that a page shows is the header's.
- Every hf_ and HF_ word of a page is the header's, or a page's name.
- A page has all sections, in their order.
- THREADS AND FORK has a row for each function of the page, in words that
  libholdfast(3) explains; it says what the table of test/unit/calls_test.c
  says, which shows that it is so.
- libholdfast(3) names every page, hf_error(3) every code as it is.
- In MAN every function has a file, its page or one that leads there."""
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "ERRORS",
            "THREADS AND FORK", "EXAMPLES", "SEE ALSO"]
THREADS = {"MT-Safe": "SAFE", "MT-Safe per handle": "PER_HANDLE",
           "one thread at a time": "ONE"}
CALLBACKS = {"yes": "YES", "loop": "LOOP", "no": "NO"}


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def bare(text):
    """C without comments, and with one way to put spaces."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([^\w ]) ?", r"\1", text).strip()


# ---- the header -----------------------------------------------------------

class Header:
    def __init__(self, text):
        self.bare = bare(re.sub(r"\\\n", " ", text))
        found = re.findall(r"^HF_API ([^;]*?\b(hf_\w+)\([^;]*\));", text, re.M)
        self.functions = {name: bare(all_) for all_, name in found}
        self.errors = re.findall(r'X\((\d+), (\w+), (\w+),\s+"([^"]*)"\)', text)
        self.words = set(re.findall(r"\b(?:hf|HF)_\w+", text))
        for _, name, class_, _ in self.errors:
            self.words |= {"HF_E" + name, "HF_CLASS_" + class_}

    def has(self, text):
        return bare(text).rstrip(";") in self.bare


# ---- a page ---------------------------------------------------------------

class Page:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-len(".3.scd")]
        self.text = read(path)
        hidden = re.sub(r"^```$.*?^```$", lambda block: re.sub(
            r"^# ", "#\0", block.group(0), flags=re.M), self.text,
            flags=re.M | re.S)  # what a block shows is no heading
        parts = re.split(r"^# (.*)$", hidden, flags=re.M)
        self.order = parts[1::2]
        self.sections = dict(zip(parts[1::2], parts[2::2]))
        names = self.sections.get("NAME", "").split(" - ")[0]
        self.names = [n.strip() for n in names.split(",")]

    def literals(self, section):
        found = re.findall(r"^```\n(.*?)^```$", self.sections.get(section, ""),
                           flags=re.M | re.S)
        return [re.sub(r"\\(.)", r"\1", text) for text in found]

    def declarations(self):
        """Statements of the SYNOPSIS, and types that the text shows."""
        synopsis = "\n".join(self.literals("SYNOPSIS"))
        synopsis = re.sub(r"^#include.*$", "", synopsis, flags=re.M)
        shown = [d for d in synopsis.split(";") if d.strip()]
        return shown + [t for t in self.literals("DESCRIPTION")
                        if re.match(r"typedef|enum|#define", t)]

    def prototypes(self):
        """name → the prototype"""
        found = {}
        for d in self.declarations():
            name = re.match(r"[^({]*?\b(hf_\w+)\(", bare(d))
            if name and not bare(d).startswith("typedef"):
                found[name.group(1)] = d
        return found

    def rows(self):
        """(function, threads, waits, callbacks, after fork) …"""
        return re.findall(r"^\*(\w+)\*\(\)\n\t(.*); waits: (.*); callbacks: (.*)"
                          r"; after fork: (.*)$",
                          self.sections.get("THREADS AND FORK", ""), re.M)


# ---- what the tests expect ------------------------------------------------

def tested(text):
    """function → threads, waits, callbacks, after fork: the test's table"""
    found = re.findall(r'^    \{"(hf_\w+)",\s*(\w+),\s*(\w+),'
                       r'\s*"((?:\\"|[^"])*)",\s*"([^"]*)",', text, re.M)
    return {name: (threads, waits, callbacks, fork.replace('\\"', '"'))
            for name, threads, callbacks, fork, waits in found}


# ---- the checks -----------------------------------------------------------

def check_order(page, complain):
    if page.order != SECTIONS:
        complain(page, "its sections are %s, and not %s" %
                 (", ".join(page.order), ", ".join(SECTIONS)))
    if page.name not in page.names:
        complain(page, "its own name does not stand in NAME")


def check_declarations(page, header, complain):
    for name, prototype in page.prototypes().items():
        if name not in header.functions:
            complain(page, "%s is no function of the header" % name)
        elif bare(prototype) != header.functions[name]:
            complain(page, "%s is declared as\n    %s" %
                     (name, header.functions[name]))
        if name not in page.names:
            complain(page, "%s does not stand in NAME" % name)
    for shown in page.declarations():
        if not header.has(shown):
            complain(page, "the header has no such thing:\n%s" % shown.strip())


def check_words(page, header, names, complain):
    text = page.text.replace("\\", "")
    for word in sorted(set(re.findall(r"(?<!\w)(?:hf|HF)_\w*[A-Za-z]", text))):
        if word not in header.words and word not in names and \
                not re.search(r"hf_(prefix|ttl|timeout|presence|tll)\b", word):
            complain(page, "what is %s?" % word)


def check_errors(page, header, complain):
    """hf_error(3) has each code, with its number, class and sentence."""
    for number, name, class_, text in header.errors:
        entry = "*HF_E%s* (-%s), %s\n\t%s: " % (
            name, number, class_.lower().replace("_", " "),
            text[0].upper() + text[1:])
        if entry not in page.text:
            complain(page, "HF_E%s does not stand there as the header has it" %
                     name)


def check_rows(page, tests, complain):
    functions = page.prototypes()
    for name, threads, waits, callbacks, fork in page.rows():
        if name not in functions:
            complain(page, "%s has a row and no prototype" % name)
        elif threads not in THREADS or callbacks not in CALLBACKS:
            complain(page, "%s: '%s', '%s' are words that libholdfast(3) does "
                     "not explain" % (name, threads, callbacks))
        elif name not in tests:
            complain(page, "%s: no test shows it" % name)
        elif tests[name] != (THREADS[threads], waits, CALLBACKS[callbacks],
                             fork):
            complain(page, "%s: the test expects %s" %
                     (name, ", ".join(tests[name])))
    for name in sorted(set(functions) - {row[0] for row in page.rows()}):
        complain(page, "%s has no row in THREADS AND FORK" % name)


def check(paths, header, tests, say):
    """How many faults there are."""
    wrong, pages = [], [Page(path) for path in paths]
    names = {n for p in pages for n in p.names}
    seen = {}

    def complain(page, text):
        wrong.append(text)
        say("man/%s.3.scd: %s" % (page.name, text))

    for page in pages:
        check_order(page, complain)
        check_declarations(page, header, complain)
        check_words(page, header, names, complain)
        check_rows(page, tests, complain)
        if page.name == "hf_error":
            check_errors(page, header, complain)
        for name in page.prototypes():
            if name in seen:
                complain(page, "%s has a page, %s" % (name, seen[name]))
            seen[name] = page.name
        if page.name != "libholdfast" and \
                "*%s*(3)" % page.name not in entry_text(pages):
            complain(page, "libholdfast(3) does not name it")
    for name in sorted(set(header.functions) - set(seen)):
        wrong.append(name)
        say("include/holdfast.h: %s has no page" % name)
    say("%d pages, %d functions; %d faults" %
        (len(pages), len(seen), len(wrong)))
    return len(wrong)


def check_made(folder, header, say):
    """Whether man(1) finds each function: how many it does not."""
    lost = 0
    for name in sorted(header.functions):
        path = "%s/%s.3" % (folder, name)
        text = read(path) if os.path.exists(path) else ""
        leads = re.match(r"\.so man3/(.*)\n", text)
        if leads:
            text = read("%s/%s" % (folder, leads.group(1)))
        if not re.search(r"^\.SH NAME\n(.*\n)?.*\b%s\b" % name, text, re.M):
            say("%s: no page for %s" % (folder, name))
            lost += 1
    return lost


def entry_text(pages):
    return "".join(p.text for p in pages if p.name == "libholdfast")


# ---- does it find what is wrong? ------------------------------------------

FAULTS = [  # page, what becomes what, what is said
    ("hf_latch", "int hf_latch_set(hf_latch *latch, int count,",
     "int hf_latch_set(hf_latch *latch, long count,", "is declared as"),
    ("hf_latch", "int hf_latch_set(hf_latch", "int hf_latch_put(hf_latch",
     "hf_latch_set has no page"),
    ("hf_latch", "hf_latch_set, ", "", "does not stand in NAME"),
    ("hf_job", "    int at_most_ms;\n", "    int at_last_ms;\n",
     "no such thing"),
    ("hf_job", "*HF_EDOWN*", "*HF_EGONE*", "what is HF_EGONE?"),
    ("hf_job", "# ERRORS\n", "# MISTAKES\n", "its sections are"),
    ("hf_job", "*hf_job_lock*()\n\t", "*hf_job_lick*()\n\t", "no prototype"),
    ("hf_job", "*hf_job_lock*()\n\t", "*hf_job_lick*()\n\t", "has no row"),
    ("hf_job", "\tMT-Safe;", "\tSafe;", "does not explain"),
    ("hf_job", "fork: the lock\n", "fork: HF_EFORKED\n", "the test expects"),
    ("hf_job", "waits: never;", "waits: timeout_ms;", "the test expects"),
    ("hf_job", "int hf_job_end(", "int hf_latch_count_down(hf_latch *latch, "
     "hf_error *err);\nint hf_job_end(", "has a page"),
    ("hf_error", "*HF_ELOST* (-15)", "*HF_ELOST* (-16)", "as the header has it"),
    ("libholdfast", "*hf_job*(3)", "*hf_jobs*(3)", "does not name it"),
]


def self_test(paths, header, tests, scratch):
    for name, old, new, complaint in FAULTS:
        said, changed = [], []
        for path in paths:
            text = read(path)
            if os.path.basename(path) == name + ".3.scd":
                if old not in text:
                    raise SystemExit("self-test: %s has no %s" % (name, old))
                text = text.replace(old, new)
            changed.append(os.path.join(scratch, os.path.basename(path)))
            with open(changed[-1], "w", encoding="utf-8") as out:
                out.write(text)
        if not check(changed, header, tests, said.append) or \
                complaint not in "\n".join(said):
            raise SystemExit("self-test: not found: %s → %s" % (old, new))
    if check_made(scratch, header, said.append) != len(header.functions):
        raise SystemExit("self-test: pages that were not made are not missed")
    print("self-test: every fault was found")


def main():
    paths = sorted(glob.glob(ROOT + "/man/*.3.scd"))
    header = Header(read(ROOT + "/include/holdfast.h"))
    tests = tested(read(ROOT + "/test/unit/calls_test.c"))
    if sys.argv[1:] == ["--self-test"]:
        import tempfile
        with tempfile.TemporaryDirectory(prefix="hf-manual-") as scratch:
            self_test(paths, header, tests, scratch)
        return 0
    wrong = check(paths, header, tests, print)
    if sys.argv[1:]:
        wrong += check_made(sys.argv[1], header, print)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
