#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py SITE         - is the site whole?
check.py --self-test    - is a fault of each sort noticed?

No dead link, no dead anchor, no anchor twice; every page can be reached from
the index; nothing runs in the browser or is fetched from elsewhere; each page
has a language, a title, one first heading, and no heading leaves a step out.
"""
import collections
import os
import posixpath
import sys
import tempfile
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.loads, self.levels = [], [], [], []
        self.faults, self.lang, self.title = [], None, False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "html":
            self.lang = attrs.get("lang")
        if tag == "title":
            self.title = True
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        if tag in ("img", "link", "script", "iframe", "object", "source"):
            self.loads.append(attrs.get("src") or attrs.get("href") or "")
        if tag == "script" or any(a.startswith("on") for a in attrs):
            self.faults.append("a program: <%s>" % tag)
        if tag == "img" and not attrs.get("alt"):
            self.faults.append("a picture without words")
        if "style" in attrs:
            self.faults.append("a style of its own: <%s>" % tag)
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))

    handle_startendtag = handle_starttag


def read_site(top):
    pages, files = {}, set()
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), top)
            files.add(path)
            if name.endswith(".html"):
                pages[path] = Reader()
                with open(os.path.join(top, path), encoding="utf-8") as f:
                    pages[path].feed(f.read())
    return pages, files


def resolve(page, link):
    """The file and the anchor of a link; None: it leads elsewhere."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    if path:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    return path or page, unquote(parts.fragment)


def check_links(pages, files):
    for page, reader in sorted(pages.items()):
        for link in reader.links:
            to = resolve(page, link)
            if to is None:
                continue
            if to[0] not in files:
                yield page, "a dead link: " + link
            elif to[1] and to[0] in pages and to[1] not in pages[to[0]].ids:
                yield page, "a dead anchor: " + link
        for load in reader.loads:
            to = resolve(page, load)
            if to is None:
                yield page, "fetched from elsewhere: " + load
            elif to[0] not in files:
                yield page, "a dead link: " + load


def check_pages(pages):
    for page, reader in sorted(pages.items()):
        for fault in reader.faults:
            yield page, fault
        for name, n in collections.Counter(reader.ids).items():
            if n > 1:
                yield page, "an anchor twice: #" + name
        if not reader.lang or not reader.title:
            yield page, "no language, or no title"
        if reader.levels.count(1) != 1 or reader.levels[0] != 1:
            yield page, "not one first heading"
        for one, next_ in zip(reader.levels, reader.levels[1:]):
            if next_ > one + 1:
                yield page, "a heading of step %d behind one of step %d" % (
                    next_, one)


def check_reach(pages):
    seen, todo = set(), ["index.html"]
    while todo:
        page = todo.pop()
        if page in seen or page not in pages:
            continue
        seen.add(page)
        todo += [to[0] for to in (resolve(page, l) for l in pages[page].links)
                 if to]
    for page in sorted(set(pages) - seen):
        yield page, "not reached from the index"


def check(top):
    pages, files = read_site(top)
    faults = list(check_links(pages, files)) + list(check_pages(pages)) + \
        list(check_reach(pages))
    if len(pages) < 2:
        faults.append((top, "there is no site"))
    return pages, faults


# ---- is a fault noticed? ---------------------------------------------------

GOOD = {
    "index.html": '<html lang="en"><title>t</title><h1>a</h1>'
                  '<a href="x/b.html#two">b</a><h2 id="one">c</h2>',
    "x/b.html": '<html lang="en"><title>t</title><h1>b</h1>'
                '<h2 id="two">c</h2><a href="../index.html#one">a</a>',
}

FAULTS = [
    ("x/b.html", '<a href="c.html">c</a>', "a dead link: c.html"),
    ("index.html", '<a href="x/b.html#three">b</a>', "a dead anchor"),
    ("x/b.html", '<a href="#four">b</a>', "a dead anchor"),
    ("x/b.html", '<h3 id="two">d</h3>', "an anchor twice: #two"),
    ("x/b.html", "<h4>d</h4>", "a heading of step 4"),
    ("x/b.html", "<h1>d</h1>", "not one first heading"),
    ("x/b.html", "<script></script>", "a program"),
    ("x/b.html", '<p onclick="x">', "a program"),
    ("x/b.html", '<img src="../x.png">', "without words"),
    ("x/b.html", '<img src="https://x.example/y.png" alt="y">', "elsewhere"),
    ("x/b.html", '<link href="//x.example/y.css">', "elsewhere"),
    ("lone.html", GOOD["index.html"], "not reached"),
]


def faults_of(files):
    with tempfile.TemporaryDirectory() as top:
        for name, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
            with open(os.path.join(top, name), "w", encoding="utf-8") as f:
                f.write(text)
        return ["%s: %s" % fault for fault in check(top)[1]]


def self_test():
    good = faults_of(GOOD)
    if good:
        return "complains without reason: %s" % good
    for page, text, said in FAULTS:
        found = faults_of(dict(GOOD, **{page: GOOD.get(page, "") + text}))
        if not any(said in fault for fault in found):
            return "not noticed: %s, but %s" % (said, found)
    print("the faults were noticed")
    return None


def main(argv):
    if argv[1:] == ["--self-test"]:
        return self_test()
    if len(argv) != 2:
        return "usage: check.py SITE | --self-test"
    pages, faults = check(argv[1])
    for fault in faults:
        print("%s: %s" % fault)
    links = sum(len(p.links) for p in pages.values())
    print("%d pages, %d links, %d faults" % (len(pages), links, len(faults)))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
