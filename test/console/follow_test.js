// SPDX-License-Identifier: MIT
//
// follow_test.js - the page follows what happens in the store, by itself.
'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const {Stage, row, says, show, showLock, picture, until} = require('./stage');

const WAITERS = 5; // the cell's index
const cell = (page, name, i) => row(page, name).locator('td, th').nth(i);

async function begin(t, ...options) {
    const s = new Stage(t);
    await s.redis();
    await s.serve(...options);
    return s;
}

test('a lock, its waiter and its release are seen without a reload',
     async (t) => {
    const s = await begin(t);
    const page = await s.open();
    await page.evaluate(() => { window.stays = true; });
    await says(page.locator('#none'), 'Nobody holds anything');

    const holder = s.run('nightly', '--why', 'month end');
    await says(row(page, 'nightly'), `:${holder.pid}`);
    await says(row(page, 'nightly'), 'month end');
    await says(row(page, 'nightly'), 'held');
    assert.equal(await cell(page, 'nightly', WAITERS).textContent(), '');

    const waiter = s.run('nightly', '--wait', '10m');
    await says(cell(page, 'nightly', WAITERS), '1');
    await s.stop(holder);
    await says(row(page, 'nightly'), `:${waiter.pid}`);
    await s.stop(waiter);
    await row(page, 'nightly').waitFor({state: 'detached'});
    assert.equal(await page.evaluate(() => window.stays), true);
    assert.deepEqual(s.faults, []);
});

test('one lock is shown with its holder, its line and what happened to it',
     async (t) => {
    const s = await begin(t);
    const page = await s.open();
    const holder = s.run('orders/eu:west', '--why', 'reindexing');
    await says(row(page, 'orders/eu:west'), 'held');
    await row(page, 'orders/eu:west').getByRole('link').click();
    const view = page.locator('#view-lock');
    await says(view.locator('dl'), 'reindexing');
    await says(view.locator('dl'), `:${holder.pid}`);
    await says(view, 'Nobody waits.');
    assert.equal(await page.title(), 'orders/eu:west – holdfast');

    const waiter = s.run('orders/eu:west', '--wait', '10m', '--why', 'a copy');
    const line = view.getByRole('table', {name: 'Those who wait, in order'});
    await says(line, `:${waiter.pid}`);
    await says(line, 'a copy');
    const events = view.getByRole('table', {name: 'Last events'});
    await says(events, 'waits');
    await picture(page, 'detail');
    await s.stop(holder);
    await says(events, 'released');
    await says(view.locator('dl'), `:${waiter.pid}`);
    await says(view, 'Nobody waits.');
    assert.deepEqual(s.faults, []);
});

for (const [signal, words] of [['SIGSTOP', 'sleeps through its lease'],
                               ['SIGKILL', 'was killed']])
    test(`that a holder ${words} is seen, and who comes after it`,
         async (t) => {
        const s = await begin(t);
        const page = await s.open();
        // Long beside what a slow machine takes for a look: else its end cannot
        // be told from a release.
        const holder = s.run('report', '--lease', '16s');
        await says(row(page, 'report'), `:${holder.pid}`);
        const waiter = s.run('report', '--wait', '10m');
        await says(cell(page, 'report', WAITERS), '1');
        holder.kill(signal);
        await says(row(page, 'report'), `:${waiter.pid}`);
        await showLock(page, 'report');
        const events = page.getByRole('table', {name: 'Last events'});
        await events.locator('tr').filter({hasText: `:${holder.pid}`})
            .filter({hasText: /expired|lost/}).first().waitFor();
        await show(page, 'timeline');
        await page.locator('#view-timeline .end').first().waitFor(
            {state: 'attached'});
        assert.match(await page.locator('#view-timeline .bars svg')
            .getAttribute('aria-label'), /stolen [1-9]\d* times/);
        assert.deepEqual(s.faults, []);
    });

test('who lost a lock and does not let go is shown beside its heir',
     async (t) => {
    const s = await begin(t);
    const page = await s.open();
    const sleeper = s.peer();
    assert.equal(await sleeper.ask(`open ${s.store} lease_ms=3000`), 'OK');
    assert.equal(await sleeper.ask('lock 0 inherited'), 'OK');
    assert.match(await sleeper.ask('acquire 0 60000'), /^OK/);
    await says(row(page, 'inherited'), `:${sleeper.pid}`);
    sleeper.kill('SIGSTOP');
    const heir = s.run('inherited', '--wait', '10m');
    await says(row(page, 'inherited'), `:${heir.pid}`);
    sleeper.kill('SIGCONT');
    await says(row(page, 'inherited'), 'lost');
    await showLock(page, 'inherited');
    const claims = page.locator('#view-lock dl');
    await says(claims, `:${sleeper.pid}, who lost it`);
    await says(claims, `:${heir.pid}`);
    assert.equal(await sleeper.ask('held 0'), 'OK 0');
    assert.deepEqual(s.faults, []);
});

test('who waits in a circle is shown, and who merely waits', async (t) => {
    const s = await begin(t);
    const one = s.peer();
    const two = s.peer();
    for (const [peer, first, second] of [[one, 'left', 'right'],
                                         [two, 'right', 'left']]) {
        assert.equal(await peer.ask(`open ${s.store}`), 'OK');
        assert.equal(await peer.ask(`lock 0 ${first}`), 'OK');
        assert.equal(await peer.ask(`lock 1 ${second}`), 'OK');
        assert.match(await peer.ask('acquire 0 60000'), /^OK/);
    }
    const page = await s.open(null, '#/blocking');
    await says(page.locator('#view-blocking'), 'Nobody waits.');
    one.tell('acquire 1 600000');
    const tree = page.locator('#view-blocking .tree');
    await says(tree, `:${one.pid} waits`);
    await says(page.locator('#view-blocking'), 'no deadlock');
    two.tell('acquire 1 600000');
    const circle = page.locator('#view-blocking .circle');
    await says(circle, '2 wait for each other');
    for (const peer of [one, two])
        await says(circle.locator('li'), `:${peer.pid} waits`);
    await picture(page, 'blocking');
    await show(page, 'now');
    await says(row(page, 'left'), 'deadlock');
    await s.stop(two, 'SIGKILL');
    await show(page, 'blocking');
    await circle.waitFor({state: 'detached'});
    assert.deepEqual(s.faults, []);
});

test('a server that went away is missed, and found again', async (t) => {
    const s = await begin(t);
    const page = await s.open();
    const before = s.run('before');
    await says(row(page, 'before'), 'held');
    await s.stop(s.server, 'SIGKILL');
    await says(page.locator('#banner'), 'Reconnecting');
    await page.waitForSelector('body[data-link="reconnecting"]');
    await s.stop(before);
    s.run('meanwhile');
    await s.serve();
    await page.waitForSelector('body[data-link="live"]');
    await page.locator('#banner').waitFor({state: 'hidden'});
    await says(row(page, 'meanwhile'), 'held');
    await row(page, 'before').waitFor({state: 'detached'});
    const after = s.run('after');
    await says(row(page, 'after'), `:${after.pid}`);
    assert.deepEqual(s.faults, []);
});

test('what the stream missed is caught up with', async (t) => {
    const s = await begin(t);
    const wire = await s.wire();
    const direct = s.url;
    s.url = wire.url;
    const page = await s.open();
    const first = s.run('first');
    await says(row(page, 'first'), 'held');
    await page.waitForSelector('body[data-event]');
    const id = await page.evaluate(() => document.body.dataset.event);
    wire.cut();
    await page.waitForSelector('body[data-link="reconnecting"]');
    await s.stop(first);
    await until('the server has seen the release', async () =>
        (await (await fetch(direct + 'api/v1/locks/first/events')).json())
            .events.some((e) => e.event === 'released'));
    wire.mend();
    await page.waitForSelector('body[data-link="live"]');
    await page.waitForFunction((old) => document.body.dataset.event !== old,
                               id);
    assert.match(wire.asked, new RegExp(`Last-Event-ID: ${id}`, 'i'));
    await row(page, 'first').waitFor({state: 'detached'});
    assert.deepEqual(s.faults, []);
});

test('tabs share one stream, and the next takes it over', async (t) => {
    const s = await begin(t);
    const context = await s.browse();
    const streams = [];
    context.on('request', (r) => {
        if (r.resourceType() === 'eventsource')
            streams.push(r.url());
    });
    const one = await s.open(context);
    const two = await s.open(context);
    assert.equal(streams.length, 1);
    s.run('seen-by-both');
    await says(row(one, 'seen-by-both'), 'held');
    await two.waitForSelector('body[data-event]');
    await says(row(two, 'seen-by-both'), 'held');
    assert.equal(streams.length, 1);
    await one.close();
    await until('the other has a stream', () => streams.length === 2);
    s.run('seen-by-one');
    await says(row(two, 'seen-by-one'), 'held');
    assert.deepEqual(s.faults, []);
});

test('a page that is paused stands still until it goes on', async (t) => {
    const s = await begin(t);
    const page = await s.open();
    await page.getByRole('button', {name: 'Pause'}).click();
    await says(page.locator('#link'), 'paused');
    s.run('unseen');
    await page.waitForSelector('body[data-event]');
    const lists = await page.evaluate(() => document.body.dataset.list);
    await until('the server knows it', async () => (await (await fetch(
        s.url + 'api/v1/locks/unseen')).json()).state === 'held');
    assert.equal(await row(page, 'unseen').count(), 0);
    assert.equal(await page.evaluate(() => document.body.dataset.list), lists);
    await page.getByRole('button', {name: 'Resume'}).click();
    await says(row(page, 'unseen'), 'held');
    assert.deepEqual(s.faults, []);
});

test('a store that went away is said, with how it was', async (t) => {
    const s = await begin(t);
    s.run('stays', '--lease', '10m');
    const page = await s.open();
    await says(row(page, 'stays'), 'held');
    const redis = s.children[0];
    redis.kill('SIGSTOP');
    await says(page.locator('#banner'), 'The store does not answer');
    assert.equal(await row(page, 'stays').count(), 1);
    redis.kill('SIGCONT');
    await page.locator('#banner').waitFor({state: 'hidden'});
    assert.deepEqual(s.faults, []);
});

test('what is promised is said in words', async (t) => {
    const s = await begin(t);
    const page = await s.open(null, '#/store');
    await says(page.locator('#view-store dl').first(), s.store);
    await says(page.locator('#view-store dl').first(), 'only looks');
    await until('there are promises', () =>
        page.locator('#view-store dl').nth(1).locator('dd').count());
    await picture(page, 'store');
    assert.deepEqual(s.faults, []);
});
