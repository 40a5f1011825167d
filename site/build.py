#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""build.py MAN OUT - the documentation as a site of plain HTML.

The pages are those that are read elsewhere, too: the manual, made by the build
in MAN (mandoc makes HTML of it), and every Markdown file of docs/, at the top of
the tree, and of what is there for other languages (by cmark-gfm).  OUT mirrors the tree, so that a relative link
in a page is the same here and there; what a page links to that is no page, a
header or a script, becomes one with its text.  No program runs in the browser,
and nothing is fetched from elsewhere.
"""
import html
import os
import posixpath
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
SECTIONS = {"1": "Commands", "3": "Library", "5": "Files", "7": "Concepts"}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self' file:; img-src 'self' file:">
<title>{title}</title>
<link rel="stylesheet" href="{top}style.css">
</head>
<body>
<a class="skip" href="#content">To the text</a>
<header><nav aria-label="Site">{trail}</nav></header>
<main id="content">
{body}
</main>
<footer><a href="{top}index.html">All pages</a></footer>
</body>
</html>
"""


# ---- what there is ---------------------------------------------------------

class Page:
    def __init__(self, source, out):
        self.source, self.out = source, out  # both relative, with slashes
        self.title, self.about, self.body, self.group = "", "", "", "More"
        self.said, self.rank = "", 999  # in the index

    def top(self):
        return "../" * self.out.count("/")


class Site:
    def __init__(self, man):
        self.man = man
        self.pages = {}    # by source
        self.aliases = {}  # "hf_lock_new.3": "hf_lock.3"
        self.copies = set()
        self.ranked = 0

    def add(self, source, out):
        self.pages[source] = Page(source, out)
        return self.pages[source]


def tracked(pattern):
    """Files of the tree; also where it is no clone, as in a tarball."""
    found = []
    for folder, folders, files in os.walk(os.path.join(ROOT, pattern)):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for name in files:
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            found.append(path.replace(os.sep, "/"))
    return sorted(found)


def find_pages(site):
    sources = [f for f in sorted(os.listdir(ROOT)) if f.endswith(".md")]
    sources += [f for f in tracked("docs") if f.endswith(".md")]
    for folder in ("examples", "node", "python"):
        if os.path.exists(os.path.join(ROOT, folder, "README.md")):
            sources.append(folder + "/README.md")
    for source in sources:
        site.add(source, source[:-3] + ".html")
    for name in sorted(os.listdir(site.man)):
        path = os.path.join(site.man, name)
        if not re.search(r"\.[1-9]$", name) or not os.path.isfile(path):
            continue
        first = open(path, encoding="utf-8").readline()
        if first.startswith(".so "):
            site.aliases[name] = first.split("/")[-1].strip()
        else:
            site.add("man/" + name, "man/" + name + ".html")
    site.add("docs/decisions/", "docs/decisions/index.html")


# ---- Markdown --------------------------------------------------------------

def words_of(markup):
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def slug(text, seen):
    """As the forges make it of a heading."""
    name = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    n = seen.get(name, 0)
    seen[name] = n + 1
    return "%s-%d" % (name, n) if n else name


def link_from(site, page, target):
    """What a link of a page becomes; files that it names become pages."""
    if re.match(r"[a-z]+:|#", target):
        return target
    path, _, anchor = target.partition("#")
    source = posixpath.normpath(posixpath.join(
        posixpath.dirname(page.source), path))
    anchor = "#" + anchor if anchor else ""
    full = os.path.join(ROOT, source)
    if re.fullmatch(r"man/.*\.scd", source):
        source = source[:-4]  # the page, not what it is made of
    if source + "/" in site.pages:
        source += "/"
    elif source not in site.pages and os.path.isfile(full) and \
            not re.search(r"\.(png|svg)$", source):
        site.add(source, source + ".html")
    elif os.path.isdir(full) and source not in site.pages:
        site.add(source, source + "/index.html")
    if source in site.pages:
        out = site.pages[source].out
    else:
        site.copies.add(source)
        out = source
    return posixpath.relpath(out, posixpath.dirname(page.out) or ".") + anchor


def region(table, label):
    """Wide tables scroll by themselves, by keyboard too."""
    return ('<div class="wide" role="region" tabindex="0" aria-label="%s">'
            "%s</div>") % (html.escape(label, quote=True), table)


def label_tables(body):
    """Each table is a region with the name of the heading above it."""
    out, heading, n = [], "Table", {}
    for piece in re.split(r"(<h[1-6].*?</h[1-6]>|<table.*?</table>)", body,
                          flags=re.S):
        if re.match(r"<h[1-6]", piece):
            heading = words_of(piece)
        if piece.startswith("<table"):
            n[heading] = n.get(heading, 0) + 1
            label = heading + (", table %d" % n[heading])
            piece = region(piece, label)
        out.append(piece)
    return "".join(out)


def contents_of(headings):
    if len(headings) < 3:
        return ""
    items = "".join('<li><a href="#%s">%s</a></li>' % h for h in headings)
    return '<nav class="here" aria-label="On this page"><ul>%s</ul></nav>' % items


def render_markdown(site, page):
    text = open(os.path.join(ROOT, page.source), encoding="utf-8").read()
    text = re.sub(r"^<!--.*?-->\n", "", text, flags=re.M | re.S)
    body = subprocess.run(
        ["cmark-gfm", "-e", "table", "-e", "strikethrough", "-t", "html"],
        input=text, capture_output=True, text=True, check=True).stdout
    seen, headings = {}, []

    def heading(match):
        level, inner = match.group(1), match.group(2)
        name = slug(words_of(inner), seen)
        if level == "2":
            headings.append((name, inner))
        return '<h%s id="%s">%s</h%s>' % (level, name, inner, level)

    body = re.sub(r"<h([1-6])>(.*?)</h\1>", heading, body, flags=re.S)
    body = re.sub(r'(href|src)="([^"]*)"', lambda m: '%s="%s"' % (
        m.group(1), html.escape(link_from(site, page, html.unescape(
            m.group(2))), quote=True)), body)
    body = body.replace("<th></th>", "<td></td>").replace("<th ", "<th scope=col ")
    body = body.replace("<th>", "<th scope=col>")
    body = body.replace("<pre>", '<pre tabindex="0">')
    title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
    page.title = words_of(title.group(1)) if title else page.source
    page.body = label_tables(body)
    if title:
        page.body = page.body.replace("</h1>", "</h1>\n" + contents_of(headings), 1)


# ---- the manual ------------------------------------------------------------

def link_references(site, page, body):
    def link(match):
        name = "%s.%s" % (match.group(1), match.group(2))
        name = site.aliases.get(name, name)
        if "man/" + name not in site.pages:
            return match.group(0)
        return '<a href="%s.html"><b>%s</b>(%s)</a>' % (
            name, match.group(1), match.group(2))

    return re.sub(r"<b>([\w.-]+)</b>\(([1-9])\)", link, body)


def head_row(match):
    """scdoc knows no heads: a first row that is bold is one."""
    row = match.group(2)
    if "<b>" in row:
        row = re.sub(r"<td>\s*</td>", "<TD></TD>", row)
        row = row.replace("<td>", '<th scope="col">').replace("</td>", "</th>")
        row = row.replace("TD>", "td>")
    return match.group(1) + row


def render_manual(site, page):
    name = page.source[4:]
    body = subprocess.run(
        ["mandoc", "-Thtml", "-O", "fragment", os.path.join(site.man, name)],
        capture_output=True, text=True, check=True).stdout
    body = re.sub(r'<table class="(head|foot)">.*?</table>', "", body, flags=re.S)
    body = re.sub(r'<td style="text-align: center;">', "<td>", body)
    body = re.sub(r'( border="1")? style="[^"]*"', "", body)
    body = re.sub(r"(<table[^>]*>\s*)(<tr>.*?</tr>)", head_row, body, flags=re.S)
    body = re.sub(r'<p class="Pp">\s*</p>', "", body)
    body = re.sub(r"(</?)h2", r"\1h3", body)
    body = re.sub(r"(</?)h1", r"\1h2", body)
    body = body.replace("<pre>", '<pre tabindex="0">')
    body = link_references(site, page, body)
    headings = [(m.group(1), words_of(m.group(2))) for m in re.finditer(
        r'<h2 class="Sh" id="([^"]*)">(.*?)</h2>', body, re.S)]
    about = re.search(r'id="NAME".*?<p[^>]*>(.*?)</p>', body, re.S)
    page.title = re.sub(r"\.([1-9])$", r"(\1)", name)
    if about:
        page.about = words_of(about.group(1)).split(" - ", 1)[-1]
        page.about = " ".join(page.about.split())
    page.group = SECTIONS.get(name[-1], "More")
    page.body = '<h1>%s</h1>\n%s<div class="man">%s</div>' % (
        html.escape(page.title), contents_of(headings), label_tables(body))


# ---- what is linked to, and lists ------------------------------------------

def render_text(page):
    text = open(os.path.join(ROOT, page.source), encoding="utf-8").read()
    page.title = page.source
    page.group = None
    page.body = '<h1>%s</h1>\n<pre tabindex="0">%s</pre>' % (
        html.escape(page.source), html.escape(text))


def render_folder(site, page):
    folder = page.source.rstrip("/")
    items = []
    names = os.listdir(os.path.join(ROOT, folder))
    if folder == "man":
        names = [s[4:] for s in site.pages if s.startswith("man/")]
    for name in sorted(names, key=lambda n: (n[-2:], n) if folder == "man" else n):
        source = folder + "/" + name
        known = site.pages.get(source)
        if known:
            items.append('<li><a href="%s">%s</a></li>' % (
                posixpath.relpath(known.out, posixpath.dirname(page.out)),
                html.escape(known.title or name)))
        else:
            items.append("<li><code>%s</code></li>" % html.escape(name))
    page.title = {"docs/decisions": "Decisions", "man": "The manual"}.get(
        folder, folder)
    if folder != "docs/decisions":
        page.group = None
    page.body = "<h1>%s</h1>\n<ul>%s</ul>" % (html.escape(page.title),
                                             "".join(items))


def read_contents(site):
    group, order = None, []
    for line in open(os.path.join(HERE, "contents"), encoding="utf-8"):
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            group = line.strip()
            order.append(group)
            continue
        source, _, said = line.strip().partition(" ")
        page = site.pages.get(source)
        if page:
            page.group, page.said = group, said.strip()
            page.rank = site.ranked = site.ranked + 1
    return order


def render_index(site, order):
    page = Page("", "index.html")
    page.title = "holdfast"
    body, headings = [], []
    for group in order + list(SECTIONS.values()) + ["More"]:
        members = [p for s, p in site.pages.items() if p.group == group and
                   not re.match(r"docs/decisions/.", s)]
        members.sort(key=lambda p: (p.rank, p.out))
        if not members:
            continue
        name = re.sub(r"\W+", "-", group.lower())
        headings.append((name, html.escape(group)))
        body.append('<section aria-labelledby="%s"><h2 id="%s">%s</h2>\n<ul '
                    'class="list">' % (name, name, html.escape(group)))
        for p in members:
            about = " <span>%s</span>" % html.escape(p.about) if p.about else ""
            body.append('<li><a href="%s">%s</a>%s</li>' % (
                p.out, html.escape(p.said or p.title), about))
        body.append("</ul></section>")
    page.body = ("<h1>holdfast</h1>\n<p>Locks, read-write locks, semaphores and "
                 "latches that many processes on many machines share, through "
                 "a store they already run.</p>\n" + contents_of(headings) +
                 "\n".join(body))
    return page


def write(page, out):
    trail = '<a href="%sindex.html">holdfast</a>' % page.top()
    if page.out != "index.html":
        trail += " <span>%s</span>" % html.escape(page.group or page.source)
    if page.source.startswith("docs/decisions/") and page.source[-1] != "/":
        trail = ('<a href="../../index.html">holdfast</a> '
                 '<a href="index.html">Decisions</a>')
    path = os.path.join(out, page.out)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    title = page.title if page.out == "index.html" else page.title + " - holdfast"
    with open(path, "w", encoding="utf-8") as f:
        f.write(PAGE.format(title=html.escape(title), top=page.top(),
                            trail=trail, body=page.body))


def render(site, page):
    if page.source.startswith("man/"):
        render_manual(site, page)
    elif page.source.endswith(".md"):
        render_markdown(site, page)
    elif os.path.isfile(os.path.join(ROOT, page.source)):
        render_text(page)


def main(man, out):
    for command in ("mandoc", "cmark-gfm"):
        if shutil.which(command) is None:
            sys.exit("site: %s is missing (apt-get install %s)" % (command,
                                                                  command))
    site = Site(man)
    find_pages(site)
    done = set()
    while set(site.pages) - done:  # a page may make others
        for source in sorted(set(site.pages) - done):
            render(site, site.pages[source])
            done.add(source)
    order = read_contents(site)
    for source, page in site.pages.items():
        if os.path.isdir(os.path.join(ROOT, source)):
            render_folder(site, page)
    shutil.rmtree(out, ignore_errors=True)
    for page in list(site.pages.values()) + [render_index(site, order)]:
        write(page, out)
    shutil.copy(os.path.join(HERE, "style.css"), out)
    for source in site.copies:
        path = os.path.join(out, source)
        if os.path.exists(os.path.join(ROOT, source)):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(ROOT, source), path)
    print("%d pages in %s" % (len(site.pages) + 1, out))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: build.py MAN OUT")
    main(sys.argv[1], sys.argv[2])
