// SPDX-License-Identifier: MIT
//
// console.js - the console's page: asks the API, and shows what it says.
//
// What the server sends is shown through textContent and attributes that hold
// no code, never as HTML: names and reasons are written by strangers.  Elements
// are changed in place, found again by a key, so that focus and the reader's
// place survive.  The stream of events says *that* something changed; lists are
// asked for again and say *how it is*, so that a missed event costs a moment.
//
// The body carries what tests wait for: data-ready, data-list (how many lists
// were shown), data-query (of the list shown), data-event (the last one's id),
// data-view (the view that is complete).
'use strict';

(() => {
const PAGE = 200;           // rows at a time: what the document may grow to
const POLL_MS = 2000;       // leases are renewed without an event
const CALM_MS = 1000;       // between two lists, however many events there are
const NEWS_MS = 5000;       // between two announcements
const EVENTS_KEPT = 5000;
const LINES_DRAWN = 60;     // of the timeline
const NODES_DRAWN = 300;    // of who blocks whom
const SVG = 'http://www.w3.org/2000/svg';

const $ = (id) => document.getElementById(id);
const mark = document.body.dataset;

// ---- elements -------------------------------------------------------------

// make('td', {class: 'x'}, child, …): children are elements or text.
function make(tag, attributes, ...children) {
    const e = tag.startsWith('svg:')
        ? document.createElementNS(SVG, tag.slice(4))
        : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
        if (value !== null && value !== undefined)
            e.setAttribute(name, value);
    e.append(...children.filter((c) => c !== null && c !== undefined));
    return e;
}

function text(e, value) {
    value = String(value ?? '');
    if (e.textContent !== value)
        e.textContent = value;
}

function attribute(e, name, value) {
    value = String(value);
    if (e.getAttribute(name) !== value)
        e.setAttribute(name, value);
}

// Strangers' text in its own direction of writing.
const bdi = (value) => make('bdi', null, value);
const nameOf = (name) => make('bdi', {class: 'name'}, name);

const lockLink = (name) =>
    make('a', {href: '#/lock/' + encodeURIComponent(name)}, nameOf(name));

// Makes the children of `parent` be `items`, in that order.  One that has the
// focus is never moved: the others are put around it.
function reconcile(parent, items, key, create, update) {
    const old = parent.known || new Map();
    const known = new Map();
    const wanted = items.map((item) => {
        let k = key(item);
        while (known.has(k))
            k += '\n';
        const e = old.get(k) || create(item);
        update(e, item);
        known.set(k, e);
        return e;
    });
    const keep = new Set(wanted);
    for (const e of [...parent.children])
        if (!keep.has(e))
            leave(e);
    const fixed = wanted.findIndex((e) => e.contains(document.activeElement));
    if (fixed > 0)
        wanted.slice(0, fixed).reduceRight((next, e) => {
            if (e.nextElementSibling !== next)
                parent.insertBefore(e, next);
            return e;
        }, wanted[fixed]);
    let last = wanted[fixed] || null;
    for (const e of wanted.slice(fixed + 1)) {
        const next = last ? last.nextElementSibling : parent.firstElementChild;
        if (e !== next)
            parent.insertBefore(e, next);
        last = e;
    }
    parent.known = known;
}

// Removes an element; the focus in it goes to its neighbour.
function leave(e) {
    if (e.contains(document.activeElement)) {
        const near = e.nextElementSibling || e.previousElementSibling;
        const to = near && near.querySelector('a, button');
        (to || $('main')).focus({preventScroll: true});
    }
    e.remove();
}

// ---- words ----------------------------------------------------------------

function duration(seconds) {
    if (seconds === null || seconds === undefined || seconds < 0)
        return '';
    const s = Math.floor(seconds);
    const two = (big, bigWord, small, smallWord) =>
        small ? `${big} ${bigWord} ${small} ${smallWord}` : `${big} ${bigWord}`;
    if (s < 60)
        return `${s} s`;
    if (s < 3600)
        return two(Math.floor(s / 60), 'min', s % 60, 's');
    if (s < 86400)
        return two(Math.floor(s / 3600), 'h', Math.floor(s % 3600 / 60), 'min');
    return two(Math.floor(s / 86400), 'd', Math.floor(s % 86400 / 3600), 'h');
}

function who(claim) {
    if (!claim)
        return '';
    const at = [claim.user, claim.host].filter(Boolean).join('@');
    const whole = claim.pid ? `${at || '?'}:${claim.pid}` : at;
    return whole || claim.owner || claim.client || 'somebody';
}

const clock = (at) => {
    const d = new Date(at);
    return isNaN(d) ? '' : d.toLocaleTimeString([], {hour12: false});
};

const stateOf = (word) => String(word || '').replaceAll(' ', '-');

function stateMark() {
    return make('span', {class: 'state'});
}

function showState(e, word) {
    attribute(e, 'data-state', stateOf(word));
    text(e, word);
}

// ---- asking the server ----------------------------------------------------

async function ask(path, options) {
    const answer = await fetch(path, {
        cache: 'no-store',
        ...options,
        headers: {Accept: 'application/json', ...(options || {}).headers},
    });
    const body = await answer.json().catch(() => null);
    if (!answer.ok) {
        const why = body && (body.detail || body.title || body.error);
        const e = new Error(why || `the server answered ${answer.status}`);
        e.status = answer.status;
        throw e;
    }
    return body;
}

const lockPath = (name) => '/api/v1/locks/' + encodeURIComponent(name);

// ---- spans that go on between two lists -----------------------------------

// A number of seconds that was true at `at`, and has grown since.
function since(e, seconds, at) {
    e.tick = {seconds, at};
    tick(e);
}

function tick(e) {
    const t = e.tick;
    const gone = (performance.now() - t.at) / 1000;
    if (t.seconds === null || t.seconds === undefined)
        text(e, '');
    else
        text(e, duration(t.seconds + gone));
}

// A lease: the meter is as long as the longest we have seen of it; one that is
// renewed late has less than a third left.
function makeLease() {
    return make('span', {class: 'lease'}, make('meter', {min: 0}),
                make('span', {class: 'left'}));
}

function showLease(e, claim, at, late) {
    const left = claim ? claim.lease : null;
    const [meter, number] = e.children;
    e.lease = left === null || left === undefined ? null : {left, at};
    meter.hidden = e.lease === null;
    if (e.lease === null) {
        text(number, claim ? 'until its end' : '');
        return;
    }
    const whole = late ? left * 3.1 : left;
    if (e.token !== claim.token || whole > (e.most || 0)) {
        e.most = e.token === claim.token ? Math.max(whole, e.most || 0) : whole;
        e.token = claim.token;
        attribute(meter, 'max', Math.max(e.most, 0.001));
        attribute(meter, 'low', e.most / 3);
        attribute(meter, 'high', e.most / 3);
        attribute(meter, 'optimum', e.most);
        attribute(meter, 'aria-label', 'lease left');
    }
    tickLease(e);
}

function tickLease(e) {
    if (!e.lease)
        return;
    const gone = (performance.now() - e.lease.at) / 1000;
    const left = Math.max(0, e.lease.left - gone);
    attribute(e.children[0], 'value', left.toFixed(1));
    text(e.children[1], duration(Math.ceil(left)));
}

function tickAll() {
    if (paused || document.hidden)
        return;
    for (const e of document.querySelectorAll('section:not([hidden]) .since'))
        if (e.tick)
            tick(e);
    for (const e of document.querySelectorAll('section:not([hidden]) .lease'))
        tickLease(e);
}

// ---- Now ------------------------------------------------------------------

let paused = false;
let actions = false;        // whether the server lets us do something
let cursors = [''];         // of the pages before this one, and of this one
let shown = {next: null};   // the list as shown
let asking = null;          // aborts the question that is under way

function query() {
    const q = new URLSearchParams();
    const add = (name, value) => value && q.set(name, value);
    add('q', $('find').value.trim());
    add('prefix', $('prefix').value.trim());
    add('host', $('host').value.trim());
    add('state', $('state').value);
    add('sort', $('sort').value);
    return q;
}

async function loadNow() {
    if (asking)
        asking.abort();
    const mine = asking = new AbortController();
    const q = query();
    const about = q.toString();
    q.set('limit', PAGE);
    if (cursors.at(-1))
        q.set('cursor', cursors.at(-1));
    const list = await ask('/api/v1/locks?' + q, {signal: mine.signal});
    if (asking === mine)
        asking = null;
    showList(list, about);
}

function showList(list, about) {
    const at = performance.now();
    shown = list;
    reconcile($('rows'), list.locks.slice(0, PAGE),
              (l) => `${l.kind}\n${l.name}`, makeRow,
              (row, l) => showRow(row, l, at));
    showFacts(list);
    showPager(list);
    $('none').hidden = list.locks.length > 0;
    text($('none'), nothing());
    showTrouble(list);
    mark.list = Number(mark.list || 0) + 1;
    mark.query = about;
}

function nothing() {
    const narrowed = $('find').value || $('prefix').value || $('host').value;
    if (narrowed)
        return 'No lock is like that. "Show: all" also looks among free ones.';
    return $('state').value === 'busy'
        ? 'Nobody holds anything and nobody waits.'
        : 'There is no such lock.';
}

function makeRow(l) {
    const cell = (...children) => make('td', {role: 'cell'}, ...children);
    return make('tr', {role: 'row'},
        make('th', {scope: 'row', role: 'rowheader'}, lockLink(l.name)),
        cell(), cell(make('span'), make('span', {class: 'why'}, bdi(''))),
        cell(make('span', {class: 'since'})), cell(makeLease()),
        cell(), cell(), cell(stateMark()));
}

function holderText(l) {
    const several = (l.holders || []).length - 1;
    const first = who(l.holder);
    if (!l.holder && lostOf(l).length)
        return `${who(lostOf(l)[0])}, who lost it`;
    if (several > 0)
        return `${first} and ${several} more`;
    if (!l.holder && l.count !== null && l.count !== undefined)
        return l.kind === 'latch' ? `${l.count} to go` : `${l.count} free`;
    return l.holder && l.holder.foreign ? `${first} (foreign)` : first;
}

function showRow(row, l, at) {
    const [, kind, holder, held, lease, waiters, token, state] = row.cells;
    attribute(row, 'data-name', l.name);
    attribute(row, 'data-state', stateOf(l.state));
    text(kind, l.kind);
    text(holder.children[0], holderText(l));
    showWhy(holder.children[1], l.holder);
    since(held.children[0], l.holder ? l.holder.seconds : null, at);
    showLease(lease.children[0], l.holder, at, isLate(l));
    text(waiters, waiting(l) || '');
    text(token, l.holder && l.holder.token);
    showState(state.children[0], l.stuck ? 'deadlock' : l.state);
}

function showWhy(e, claim) {
    e.hidden = !(claim && claim.why);
    text(e.firstChild, (claim && claim.why) || '');
}

const isLate = (l) => l.state === 'renewing late';
const waiting = (l) => (l.waiters || []).length;

function showFacts(list) {
    const facts = [`${list.held ?? 0} held`, `${list.waiting ?? 0} waiting`];
    if (list.at)
        facts.push(`looked at ${clock(list.at)}`);
    text($('facts'), facts.join(' · '));
}

function showPager(list) {
    const from = (cursors.length - 1) * PAGE;
    const total = list.matched ?? from + list.locks.length;
    $('pager').hidden = !list.next && cursors.length === 1;
    $('back').disabled = cursors.length === 1;
    $('more').disabled = !list.next;
    text($('span'), list.locks.length
        ? `${from + 1} to ${from + list.locks.length} of ${total}` : '');
}

// ---- one lock -------------------------------------------------------------

let detail = null;          // the elements of the lock that is shown

function makeDetail(name) {
    const d = {name};
    const table = (label, ...heads) => {
        const body = make('tbody');
        const all = make('table', {class: 'wrap'},
            make('caption', {class: 'quiet'}, label),
            make('thead', null, make('tr', null,
                ...heads.map((h) => make('th', {scope: 'col'}, h)))), body);
        return [all, body];
    };
    d.state = stateMark();
    d.about = make('p', {class: 'facts'});
    d.holders = make('div');
    [d.queueTable, d.queue] = table('Those who wait, in order', 'Place', 'Who',
                                    'Waits for', 'Why');
    d.noQueue = make('p', {class: 'none'}, 'Nobody waits.');
    [d.eventTable, d.events] = table('Last events', 'When', 'What', 'Who',
                                     'Token', 'More');
    d.noEvents = make('p', {class: 'none'},
                      'Nothing has happened since the console began to look.');
    const title = make('h1', {id: 'title-lock', tabindex: -1}, nameOf(name));
    $('view-lock').replaceChildren(
        make('p', null, make('a', {href: '#/now'}, '← All locks')),
        make('div', {class: 'titled'}, title, d.state), d.about,
        make('h2', null, 'Held by'), d.holders,
        make('h2', null, 'The line'), d.queueTable, d.noQueue,
        make('h2', null, 'Last events'), d.eventTable, d.noEvents);
    return d;
}

async function loadLock(name) {
    if (!detail || detail.name !== name)
        detail = makeDetail(name);
    const d = detail;
    const [lock, events] = await Promise.all([
        ask(lockPath(name)).catch((e) => {
            if (e.status !== 404)
                throw e;
            return {name, kind: null, state: 'free', holder: null, holders: [],
                    waiters: []};
        }),
        ask(lockPath(name) + '/events').catch(() => ({events: []})),
    ]);
    if (d === detail)
        showDetail(d, lock, events.events || []);
}

function showDetail(d, lock, events) {
    const at = performance.now();
    d.lock = lock;
    showState(d.state, lock.stuck ? 'deadlock' : lock.state);
    const about = [lock.kind || 'nobody holds it or waits for it'];
    if (lock.count !== null && lock.count !== undefined)
        about.push(lock.kind === 'latch' ? `${lock.count} to go`
                                         : `${lock.count} free`);
    text(d.about, about.join(' · '));
    showHolders(d, lock, at);
    showQueue(d, lock, at);
    showEvents(d, events);
}

const claimKey = (c) => `${c.owner}\n${c.token ?? ''}\n${c.since ?? ''}`;

function showHolders(d, lock, at) {
    const claims = [...(lock.holders || []), ...lostOf(lock)];
    const items = claims.length ? claims : [null];
    reconcile(d.holders, items, (c) => c ? c.owner : '',
              (c) => makeHolder(c, d.name),
              (e, c) => showHolder(e, c, at, isLate(lock)));
}

const lostOf = (lock) => (lock.lost || []).map((c) => ({...c, lost: true}));

function makeHolder(claim, name) {
    if (!claim)
        return make('p', {class: 'none'}, 'Nobody.');
    const dl = make('dl');
    const fields = {};
    for (const [word, e] of [
        ['Who', make('dd')], ['Program', make('dd')], ['Why', make('dd')],
        ['Held for', make('dd', {class: 'since'})],
        ['Lease left', make('dd')], ['Token', make('dd')],
        ['Permits', make('dd')], ['Owner', make('dd', {class: 'mono'})]]) {
        fields[word] = e;
        dl.append(make('dt', null, word), e);
    }
    fields['Lease left'].append(makeLease());
    const button = make('button', {type: 'button', class: 'danger'});
    const holder = make('div', {class: 'holder'}, dl, button);
    button.addEventListener('click', () => openSteal(name, holder.claim));
    holder.fields = fields;
    return holder;
}

function showHolder(e, claim, at, late) {
    if (!claim)
        return;
    e.claim = claim;
    const button = e.lastChild;
    text(button, `Steal from ${who(claim)} …`);
    button.hidden = !actions || claim.lost === true;
    const f = e.fields;
    const put = (word, value) => {
        f[word].hidden = f[word].previousSibling.hidden = !value;
        text(f[word], value);
    };
    put('Who', who(claim) + (claim.foreign ? ' (foreign)' : '') +
               (claim.lost ? ', who lost it and has not let go yet' : ''));
    put('Program', claim.program);
    put('Why', claim.why);
    since(f['Held for'], claim.seconds, at);
    showLease(f['Lease left'].firstChild, claim, at, late);
    put('Token', claim.token);
    put('Permits', claim.permits);
    put('Owner', claim.owner);
}

function showQueue(d, lock, at) {
    const queue = lock.waiters || [];
    d.queueTable.hidden = !queue.length;
    d.noQueue.hidden = queue.length > 0;
    queue.forEach((w, i) => { w.place = i + 1; });
    reconcile(d.queue, queue.slice(0, PAGE), claimKey,
        () => make('tr', null, make('td'), make('td'),
                   make('td', null, make('span', {class: 'since'})),
                   make('td', null, bdi(''))),
        (row, w) => {
            text(row.cells[0], w.place);
            text(row.cells[1], who(w) + (w.permits > 1
                ? ` (${w.permits} permits)` : ''));
            since(row.cells[2].firstChild, w.seconds, at);
            text(row.cells[3].firstChild, w.why);
        });
}

function showEvents(d, events) {
    const last = events.slice(-50).reverse();
    d.eventTable.hidden = !last.length;
    d.noEvents.hidden = last.length > 0;
    reconcile(d.events, last, (e) => String(e.id),
        (e) => make('tr', null,
            make('td', {class: 'number'},
                 make('time', {datetime: e.at}, clock(e.at))),
            make('td', null, stateMark()), make('td'), make('td'),
            make('td', null, bdi(''))),
        (row, e) => {
            showState(row.cells[1].firstChild, e.event);
            text(row.cells[2], e.owner || e.user ? who(e) : '');
            text(row.cells[3], e.token);
            text(row.cells[4].firstChild, e.text || e.why);
        });
}

// ---- Blocking -------------------------------------------------------------

async function loadBlocking() {
    const got = await ask('/api/v1/blocking');
    const section = $('view-blocking');
    if (!section.firstChild)
        section.append(
            make('h1', {id: 'title-blocking', tabindex: -1}, 'Who blocks whom'),
            make('p', {class: 'facts'}), make('div'),
            make('ul', {class: 'tree'}));
    const [, facts, circles, tree] = section.children;
    const forest = plant(got.locks || []);
    const stuck = got.circles || [];
    text(facts, blockingFacts(forest, stuck));
    const same = JSON.stringify;
    reconcile(circles, stuck, (c) => same(c.map((s) => [who(s), s.wants])),
              makeCircle, () => {});
    let left = NODES_DRAWN;
    reconcile(tree, forest, (n) => same(shape(n)),
        (n) => { const li = make('li'); left = grow(li, n, left); return li; },
        () => {});
    const at = performance.now();
    for (const e of section.querySelectorAll('.since'))
        since(e, e.claim.seconds, e.tick ? e.tick.at : at);
}

function blockingFacts(forest, stuck) {
    if (!forest.length && !stuck.length)
        return 'Nobody waits.';
    const deepest = Math.max(0, ...forest.map((n) => n.depth));
    const circles = stuck.length === 1 ? '1 deadlock'
                                       : `${stuck.length} deadlocks`;
    return `${forest.length} at the head of a line · longest chain ` +
           `${deepest} · ${stuck.length ? circles : 'no deadlock'}`;
}

const person = (c) => c.client || `${c.user}@${c.host}:${c.pid || c.owner}`;

// Trees of people: below each those who wait for what it holds.  Roots are
// those who wait for nobody; of a circle, which has none, one is taken.
function plant(locks) {
    const people = new Map();
    const get = (c) => {
        const k = person(c);
        if (!people.has(k))
            people.set(k, {claim: c, holds: [], waits: []});
        return people.get(k);
    };
    for (const l of locks) {
        const head = l.holder || lostOf(l)[0];
        const queue = l.waiters || [];
        const holder = head ? get(head) : {claim: null, holds: [], waits: []};
        if (!head)
            people.set('\n' + l.name, holder);
        holder.holds.push({lock: l, queue});
        for (const w of queue)
            get(w).waits.push(l.name);
    }
    const seen = new Set();
    const build = (p, wait, lock) => {
        const node = {person: p, wait, lock, below: [], depth: 0,
                      again: seen.has(p)};
        if (node.again)
            return node;
        seen.add(p);
        for (const h of p.holds)
            for (const w of h.queue)
                node.below.push(build(people.get(person(w)), w, h.lock));
        node.depth = 1 + Math.max(0, ...node.below.map((n) => n.depth));
        return node;
    };
    const holders = [...people.values()].filter((p) => p.holds.length);
    const roots = holders.filter((p) => !p.waits.length)
                         .map((p) => build(p, null, null));
    for (const p of holders)
        if (!seen.has(p))
            roots.push(build(p, null, null));
    return roots.sort((a, b) => b.depth - a.depth);
}

const shape = (n) => [n.person.claim && person(n.person.claim), n.again,
    n.lock && n.lock.name, n.person.holds.map((h) => h.lock.name),
    n.below.map(shape)];

// Draws a node and those below it, as long as there is room for them.
function grow(li, n, left) {
    const p = n.person;
    if (!n.wait)
        li.append(make('strong', null, p.claim ? who(p.claim) : 'nobody'),
                  p.claim && p.claim.lost ? ' lost ' : ' holds ',
                  ...names(p.holds.map((h) => h.lock.name)));
    else {
        const age = make('span', {class: 'since'});
        age.claim = n.wait;
        li.append(make('strong', null, who(n.wait)), ' waits ', age, ' for ',
                  lockLink(n.lock.name));
        if (p.holds.length)
            li.append(n.again ? ', and is shown elsewhere with ' : ', and holds ',
                      ...names(p.holds.map((h) => h.lock.name)));
    }
    const why = (n.wait || p.claim || {}).why;
    if (why)
        li.append(make('span', {class: 'why'}, bdi(why)));
    if (!n.below.length)
        return left - 1;
    const ul = make('ul');
    for (const [i, b] of n.below.entries()) {
        if (left <= 0) {
            ul.append(make('li', null, `and ${n.below.length - i} more`));
            break;
        }
        const child = make('li');
        left = grow(child, b, left);
        ul.append(child);
    }
    li.append(ul);
    return left - 1;
}

const names = (list) => list.flatMap((name, i) =>
    i ? [', ', lockLink(name)] : [lockLink(name)]);

function makeCircle(circle) {
    const steps = circle.map((s, i) => {
        const age = make('span', {class: 'since'});
        age.claim = s;
        return make('li', null, make('strong', null, who(s)), ' waits ', age,
            ' for ', lockLink(s.wants), ', held by ',
            who(circle[(i + 1) % circle.length]),
            s.why ? make('span', {class: 'why'}, bdi(s.why)) : null);
    });
    return make('div', {class: 'circle'},
        make('h2', null, stateLabel('deadlock'),
             `: ${circle.length} wait for each other in a circle`),
        make('ol', null, ...steps));
}

function stateLabel(word) {
    const e = stateMark();
    showState(e, word);
    return e;
}

// ---- Timeline -------------------------------------------------------------

const ENDS = new Set(['released', 'lost', 'expired', 'stolen']);
const BAD = new Set(['lost', 'expired', 'stolen']);

async function loadTimeline() {
    const section = $('view-timeline');
    if (!section.firstChild)
        makeTimeline(section);
    const [history, now] = await Promise.all([
        ask('/api/v1/events'),
        ask(`/api/v1/locks?state=busy&limit=${PAGE}`),
    ]);
    for (const e of history.events || [])
        remember(e);
    drawTimeline(section, now);
}

function makeTimeline(section) {
    const sample = (...shapes) => make('svg:svg',
        {viewBox: '0 0 32 24', preserveAspectRatio: 'none',
         'aria-hidden': 'true'}, ...shapes);
    const choice = make('select', {id: 'reach'},
        make('option', {value: 3600}, 'the last hour'),
        make('option', {value: 900}, 'the last 15 minutes'),
        make('option', {value: 300}, 'the last 5 minutes'));
    choice.addEventListener('change', refresh);
    section.append(
        make('h1', {id: 'title-timeline', tabindex: -1}, 'Timeline'),
        make('form', {class: 'filter'}, make('label', null, 'Show ', choice)),
        make('ul', {class: 'legend'},
            make('li', null, sample(bar('hold', 0, 32)), ' held'),
            make('li', null, sample(bar('wait', 0, 32)), ' somebody waited'),
            make('li', null, sample(bar('hold', 0, 16), end(16)),
                 ' lost, expired or stolen')),
        make('div', {class: 'axis'}, make('span'), make('ol')),
        make('ol', {class: 'bars'}),
        make('p', {class: 'none', hidden: ''},
             'Nothing was held or waited for in that time.'));
}

function bar(sort, x, width) {
    const [y, height] = sort === 'hold' ? [3, 11] : [17, 4];
    return make('svg:rect', {class: sort, x, y, width, height});
}

const end = (x) => make('svg:line', {class: 'end', x1: x, x2: x, y1: 0,
                                     y2: 24});

// Spans of holding and waiting, by lock: what events tell, and what is now.
function spans(now) {
    const lines = new Map();
    const line = (name) => {
        if (!lines.has(name))
            lines.set(name, {name, spans: [], open: new Map(), last: 0});
        return lines.get(name);
    };
    const close = (l, key, at, how) => {
        const s = l.open.get(key);
        l.open.delete(key);
        if (s) {
            s.to = at;
            s.how = how;
        }
        return s;
    };
    const begin = (l, key, sort, claim, from) => {
        const s = {sort, who: who(claim), from, to: null, how: ''};
        l.spans.push(s);
        l.open.set(key, s);
    };
    for (const e of events) {
        if (!e.name)
            continue;
        const l = line(e.name);
        const at = Date.parse(e.at);
        const id = e.owner || person(e);
        l.last = Math.max(l.last, at);
        if (e.event === 'waits')
            begin(l, 'wait ' + id, 'wait', e, at);
        else if (e.event === 'granted') {
            close(l, 'wait ' + waiterOf(l, e, id), at, 'granted');
            begin(l, 'hold ' + id, 'hold', e, at);
        } else if (e.event === 'gave-up')
            close(l, 'wait ' + waiterOf(l, e, id), at, 'gave up');
        else if (ENDS.has(e.event)) {
            const s = close(l, 'hold ' + id, at, e.event);
            if (!s && BAD.has(e.event))
                l.spans.push({sort: 'hold', who: who(e), from: at, to: at,
                              how: e.event});
        }
    }
    addPresent(now, line, begin);
    return [...lines.values()];
}

// An owner is new with each grant: who waited is found by its process then.
function waiterOf(l, e, id) {
    if (l.open.has('wait ' + id))
        return id;
    for (const [key, s] of l.open)
        if (key.startsWith('wait ') && s.who === who(e))
            return key.slice(5);
    return id;
}

// What began before the console looked is known by its age.
function addPresent(now, line, begin) {
    const at = Date.now();
    for (const l of now.locks || []) {
        const into = line(l.name);
        into.last = at;
        const add = (sort, c) => {
            const key = `${sort} ${c.owner || person(c)}`;
            if (!into.open.has(key) && c.seconds !== null)
                begin(into, key, sort, c, at - c.seconds * 1000);
        };
        for (const c of l.holders || [])
            add('hold', c);
        for (const c of l.waiters || [])
            add('wait', c);
    }
}

function drawTimeline(section, now) {
    const reach = Number($('reach').value) * 1000;
    const end_ = Date.now();
    const begin = end_ - reach;
    const inside = (s) => (s.to ?? end_) >= begin;
    const lines = spans(now).filter((l) => l.spans.some(inside))
        .sort((a, b) => b.last - a.last).slice(0, LINES_DRAWN)
        .sort((a, b) => a.name < b.name ? -1 : 1);
    const [, , , axis, bars, none] = section.children;
    none.hidden = lines.length > 0;
    axis.hidden = !lines.length;
    const parts = 6;
    reconcile(axis.lastChild, [...Array(parts + 1).keys()], String,
        () => make('li'),
        (li, i) => text(li, i === parts ? 'now'
            : `−${duration(reach / 1000 * (parts - i) / parts)}`));
    reconcile(bars, lines, (l) => l.name,
        (l) => make('li', null, lockLink(l.name),
            make('svg:svg', {role: 'img', preserveAspectRatio: 'none',
                             viewBox: '0 0 1000 24'})),
        (li, l) => drawLine(li.lastChild, l.spans.filter(inside), begin, end_));
}

function drawLine(svg, list, begin, now) {
    const x = (at) => Math.max(0, (at - begin) / (now - begin) * 1000);
    const shapes = [];
    const count = {hold: 0, wait: 0, bad: 0};
    for (const s of list) {
        const from = x(s.from);
        const to = x(s.to ?? now);
        const r = bar(s.sort, from.toFixed(1),
                      Math.max(1.5, to - from).toFixed(1));
        const how = s.to === null ? 'until now' : `, then ${s.how}`;
        const verb = s.sort === 'hold' ? 'held' : 'waited';
        r.append(make('svg:title', null,
            `${s.who} ${verb} ${duration(((s.to ?? now) - s.from) / 1000)} ` +
            `from ${clock(s.from)} ${how}`));
        shapes.push(r);
        count[s.sort]++;
        if (BAD.has(s.how)) {
            shapes.push(end(to.toFixed(1)));
            count.bad++;
        }
    }
    svg.replaceChildren(...shapes);
    attribute(svg, 'aria-label', `held ${count.hold} times, waited for ` +
        `${count.wait} times, lost, expired or stolen ${count.bad} times`);
}

// ---- Store ----------------------------------------------------------------

async function loadStore() {
    const store = await ask('/api/v1/store');
    took(store);
    const section = $('view-store');
    if (!section.firstChild)
        section.append(
            make('h1', {id: 'title-store', tabindex: -1}, 'The store'),
            make('dl'), make('h2', null, 'What it promises'), make('dl'),
            make('form', {method: 'post', action: '/logout', hidden: ''},
                 make('p', null, make('button', {type: 'submit'}, 'Log out'))));
    const [, about, , promises] = section.children;
    const rtt = store.rtt;
    const rows = [
        ['Address', store.store],
        ...(store.endpoints || []).filter((e) => e !== store.store)
            .map((e) => ['Endpoint', e]),
        ['A look takes', rtt === null || rtt === undefined ? ''
            : `${(rtt * 1000).toFixed(1)} ms`],
        ['Version', store.version],
        ['You', store.operator],
        ['Actions', actions ? 'allowed: locks can be taken away here'
                            : 'not allowed: this console only looks'],
    ].filter((r) => r[1]);
    showPairs(about, rows);
    section.querySelector('form').hidden = !store.operator;
    const levels = {good: '✓ good', warn: '! mind', fact: ''};
    showPairs(promises, (store.facts || []).map((f) =>
        [f.what, [levels[f.level] || '', f.text].filter(Boolean).join(': ')]));
}

function showPairs(dl, pairs) {
    const flat = pairs.flatMap(([word, value], i) =>
        [{tag: 'dt', key: `t${i}`, value: word},
         {tag: 'dd', key: `d${i}`, value}]);
    reconcile(dl, flat, (p) => p.key, (p) => make(p.tag),
              (e, p) => text(e, p.value));
}

function took(store) {
    actions = store.actions === true;
    text($('address'), store.store);
}

// ---- taking a lock away ---------------------------------------------------

let stealing = null;

// The holder is named, too: should it be another one by then, nothing is done.
function openSteal(name, holder) {
    stealing = {name, owner: holder.owner};
    $('steal-who').replaceChildren('Held by ',
        make('strong', null, who(holder)), ': ', nameOf(name));
    $('steal-name').value = '';
    text($('steal-error'), '');
    $('steal').showModal();
    $('steal-name').focus();
}

async function steal() {
    const {name, owner} = stealing;
    if ($('steal-name').value !== name) {
        text($('steal-error'), 'That is not its name. Nothing was done.');
        $('steal-name').focus();
        return;
    }
    $('steal-go').disabled = true;
    try {
        await ask(lockPath(name) + '/steal', {
            method: 'POST',
            headers: {'Content-Type': 'application/json', 'X-Holdfast': '1'},
            body: JSON.stringify({confirm: name, owner}),
        });
        $('steal').close();
        mark.stolen = name;
        refresh();
    } catch (e) {
        text($('steal-error'), e.message);
    } finally {
        $('steal-go').disabled = false;
    }
}

// ---- which view -----------------------------------------------------------

const views = {
    now: {load: loadNow, title: 'Locks'},
    lock: {load: (name) => loadLock(name), title: 'Lock'},
    blocking: {load: loadBlocking, title: 'Blocking'},
    timeline: {load: loadTimeline, title: 'Timeline'},
    store: {load: loadStore, title: 'Store'},
};
let view = 'now';
let subject = null;         // the name of the lock that is shown

function place() {
    const [, word, rest] = location.hash.match(/^#\/([a-z]*)(?:\/(.*))?$/) || [];
    if (word === 'lock' && rest)
        try {
            return ['lock', decodeURIComponent(rest)];
        } catch {
            return ['now', null];
        }
    return [views[word] && word !== 'lock' ? word : 'now', null];
}

function go(byHand) {
    const [next, name] = place();
    const moved = next !== view || name !== subject;
    [view, subject] = [next, name];
    for (const word of Object.keys(views))
        $('view-' + word).hidden = word !== view;
    for (const a of document.querySelectorAll('nav a'))
        if (a.dataset.view === view)
            a.setAttribute('aria-current', 'page');
        else
            a.removeAttribute('aria-current');
    document.title = `${subject || views[view].title} – holdfast`;
    if (moved)
        delete mark.view;
    refresh(true).then(() => {
        const title = $('title-' + view);
        if (byHand && moved && title) {
            title.tabIndex = -1;
            title.focus();
            scrollTo(0, 0);
        }
    });
}

// ---- looking again --------------------------------------------------------

let loading = null;         // a look that is under way
let again = false;          // wanted while it was
let calm = 0;               // timer until the next look
let lastLook = 0;

// Now, or when the look that is under way is over.
async function refresh(force) {
    clearTimeout(calm);
    calm = 0;
    if (paused && force !== true)
        return;
    if (loading && force !== true) {
        again = true;
        return loading;
    }
    const mine = loading = look();
    await mine;
    if (loading !== mine)
        return;
    loading = null;
    if (again) {
        again = false;
        soon();
    }
}

async function look() {
    const [word, name] = [view, subject];
    lastLook = performance.now();
    try {
        await views[word].load(name);
        if (word === view && name === subject)
            mark.view = subject === null ? view : 'lock ' + subject;
        trouble('look', '');
    } catch (e) {
        if (e.status === 401)
            location.reload(); // the server asks for a token then
        else if (e.name !== 'AbortError')
            trouble('look', `The console's server cannot be asked: ${e.message}`);
    }
}

// Soon, but not more often than a reader could use.
function soon() {
    if (calm || paused || document.hidden)
        return;
    const wait = Math.max(0, lastLook + CALM_MS - performance.now());
    calm = setTimeout(refresh, wait);
}

// ---- what goes wrong ------------------------------------------------------

const troubles = new Map();

function trouble(what, words) {
    troubles.set(what, words);
    const all = ['link', 'store', 'look'].map((w) => troubles.get(w) || '');
    const first = all.find(Boolean) || '';
    if (first && $('banner').hidden)
        announce({event: first, urgent: true});
    $('banner').hidden = !first;
    text($('banner'), first);
}

function showTrouble(list) {
    trouble('store', list.stale
        ? `The store does not answer${list.trouble ? `: ${list.trouble}` : ''}.` +
          ` This is how it was at ${clock(list.at)}.`
        : '');
}

// ---- news, for those who do not see the table ------------------------------

let news = [];
let newsTimer = 0;
const URGENT = new Set(['lost', 'expired', 'stolen', 'deadlock', 'store-down']);

function announce(e) {
    news.push(e);
    if (!newsTimer) {
        say();
        newsTimer = setInterval(say, NEWS_MS);
    }
}

function say() {
    if (!news.length) {
        clearInterval(newsTimer);
        newsTimer = 0;
        return;
    }
    const first = news.find((e) => e.urgent || URGENT.has(e.event)) ||
                  news[0];
    const more = news.length - 1;
    text($('news'), [first.name, first.event].filter(Boolean).join(' ') +
        (more ? `, and ${more} more ${more === 1 ? 'change' : 'changes'}` : ''));
    mark.news = Number(mark.news || 0) + 1;
    news = [];
}

// ---- the stream -----------------------------------------------------------

// A browser opens six connections to a server and no more, and a stream takes
// one for good.  So one tab has the stream and tells the others; which one is
// decided by a lock of the browser.  Without such locks (no secure context)
// every tab has its own.
const events = [];
const ids = new Set();
let lastId = '';
let source = null;
const channel = 'BroadcastChannel' in window && navigator.locks
    ? new BroadcastChannel('holdfast') : null;

function remember(e) {
    e.id = String(e.id);
    if (ids.has(e.id))
        return false;
    ids.add(e.id);
    const late = events.length && events.at(-1).at > e.at;
    events.push(e);
    if (late) // history that came after what is new
        events.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    if (events.length > EVENTS_KEPT)
        ids.delete(events.shift().id);
    return true;
}

function heard(e) {
    const isNew = remember(e);
    lastId = e.id;
    if (!isNew)
        return;
    mark.event = e.id;
    announce(e);
    soon();
}

let linkState = 'still';

function link(state) {
    const back = state === 'live' && linkState !== 'live';
    linkState = state;
    showLink();
    trouble('link', state === 'reconnecting'
        ? 'Reconnecting: the console\'s server does not answer. ' +
          'What is shown may be old.' : '');
    if (back)
        refresh();
}

function showLink() {
    const state = paused ? 'paused' : linkState;
    attribute($('link'), 'data-link', state);
    text($('link'), state === 'still' ? 'not live' : state);
    mark.link = linkState;
}

function tell(message) {
    if (channel)
        channel.postMessage(message);
}

function listen() {
    source = new EventSource('/api/v1/events' +
        (lastId ? '?after=' + encodeURIComponent(lastId) : ''));
    const state = (s) => {
        link(s);
        tell({link: s});
    };
    source.onopen = () => state('live');
    source.onerror = () => {
        state('reconnecting');
        if (source.readyState === EventSource.CLOSED)
            setTimeout(listen, 2000);
    };
    source.onmessage = (m) => {
        const e = JSON.parse(m.data);
        heard(e);
        tell({event: e});
    };
    // The server forgot what we missed: lists say how it is now.
    source.addEventListener('missed', () => refresh());
}

function follow() {
    if (!channel) {
        listen();
        return;
    }
    channel.onmessage = ({data}) => {
        if (data.event)
            heard(data.event);
        if (data.link)
            link(data.link);
        if (data.hello && source)
            tell({link: linkState});
    };
    tell({hello: true});
    navigator.locks.request('holdfast-stream', () => {
        listen();
        return new Promise(() => {});
    });
}

// ---- beginning ------------------------------------------------------------

function pause() {
    paused = !paused;
    attribute($('pause'), 'aria-pressed', paused);
    text($('pause'), paused ? 'Resume' : 'Pause');
    showLink();
    if (!paused)
        refresh();
}

function turn(cursor) {
    if (cursor === undefined)
        cursors.pop();
    else
        cursors.push(cursor);
    refresh(true).then(() => $('title-now').scrollIntoView());
}

function listenToUser() {
    let typing = 0;
    $('filter').addEventListener('submit', (e) => e.preventDefault());
    $('filter').addEventListener('input', () => {
        clearTimeout(typing);
        typing = setTimeout(() => {
            cursors = [''];
            refresh(true);
        }, 150);
    });
    $('pause').addEventListener('click', pause);
    $('more').addEventListener('click', () => turn(shown.next));
    $('back').addEventListener('click', () => turn());
    $('steal-form').addEventListener('submit', (e) => {
        e.preventDefault();
        steal();
    });
    $('steal-cancel').addEventListener('click', () => $('steal').close());
    document.querySelector('.skip').addEventListener('click', (e) => {
        e.preventDefault();
        $('main').focus();
    });
    addEventListener('hashchange', () => go(true));
    document.addEventListener('visibilitychange', () => {
        if (!document.hidden)
            soon();
    });
}

for (const e of document.querySelectorAll('.scripted'))
    e.hidden = false;
$('still').hidden = true;
$('rows').replaceChildren();
listenToUser();
ask('/api/v1/store').then(took, () => {}).then(() => {
    go(false);
    follow();
    setInterval(soon, POLL_MS);
    setInterval(tickAll, 1000);
    mark.ready = 'yes';
});
})();
