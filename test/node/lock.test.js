// SPDX-License-Identifier: MIT
'use strict';

const assert = require('node:assert/strict');
const {spawn} = require('node:child_process');
const {once} = require('node:events');
const path = require('node:path');
const test = require('node:test');
const {setTimeout: pause} = require('node:timers/promises');

const {Stage, holdfast, source, until} = require('./stage.js');

const code = (expected) => (error) => {
    assert.ok(error instanceof holdfast.HoldfastError, String(error));
    assert.equal(error.code, expected, error.message);
    return true;
};

for (const by of ['connection', 'token']) {
    const least = by === 'token' ? 1 : 3; // the shortest ttl, in seconds

    test(`by ${by}: held, excluded, released, with a fence that grows`, async (t) => {
        const stage = await Stage.open(t);
        const other = new holdfast.Client({address: stage.address});
        const lock = await stage.client.lock('orders/7 ä%', {wait: '5s', ttl: 60, by});
        assert.equal(typeof lock.fence, 'bigint');
        assert.ok(lock.held && !lock.lost);
        assert.equal(lock.ttl, 60);
        assert.ok(lock.remaining > 50 && lock.remaining <= 60, `${lock.remaining}`);
        lock.check();
        assert.equal(stage.shows('orders/7 ä%').state, 'held');
        assert.equal(await other.tryLock('orders/7 ä%', {by}), null);
        await assert.rejects(other.lock('orders/7 ä%', {wait: 0, by}), code('BUSY'));
        await assert.rejects(other.lock('orders/7 ä%', {wait: 0.1, by}), (error) => {
            assert.equal(error.certainty, 'not-done');
            assert.equal(error.status, 409);
            return code('TIMEOUT')(error);
        });
        const waits = other.lock('orders/7 ä%', {by});
        await stage.waiting('orders/7 ä%');
        await lock.release();
        const later = await waits;
        assert.ok(later.fence > lock.fence);
        assert.ok(!lock.held && lock.remaining === 0 && !lock.signal.aborted);
        assert.throws(() => lock.check(), code('NOT_OWNER'));
        await assert.rejects(lock.release(), code('NOT_OWNER'));
        await later.release();
        await stage.freed('orders/7 ä%');
    });

    test(`by ${by}: kept alive beyond its ttl`, async (t) => {
        const stage = await Stage.open(t);
        const lock = await stage.client.lock('x', {ttl: least, by});
        const by_ = performance.now() + 1400 * least;
        while (performance.now() < by_) {
            lock.check();
            await pause(20);
        }
        assert.equal(stage.shows('x').state, 'held');
        await lock.release();
    });

    test(`by ${by}: loss is told`, async (t) => {
        const stage = await Stage.open(t);
        const lock = await stage.client.lock('x', {ttl: 3, by});
        let lost = 0;
        lock.on('lost', () => lost++);
        const told = once(lock, 'lost');
        stage.run('steal', '--yes', 'x');
        const [error] = await told;
        code('LOST')(error);
        assert.equal(error.certainty, 'not-held');
        assert.equal(lock.signal.reason, error);
        assert.ok(lock.lost && !lock.held);
        assert.throws(() => lock.check(), code('LOST'));
        await assert.rejects(lock.release(), code('LOST'));
        assert.equal(lost, 1);
    });

    test(`by ${by}: a server that dies or sleeps takes the lock with it`, async (t) => {
        const stage = await Stage.open(t);
        const first = await stage.client.lock('x', {ttl: least, by});
        let told = once(first, 'lost');
        stage.server.kill('SIGSTOP');
        code('LOST')((await told)[0]);
        stage.server.kill('SIGCONT');
        await stage.freed('x');
        const second = await stage.client.lock('y', {ttl: least, by});
        told = once(second, 'lost');
        await stage.stop();
        code('LOST')((await told)[0]);
    });

    test(`by ${by}: a wait that is aborted leaves nothing behind`, async (t) => {
        const stage = await Stage.open(t);
        const lock = await stage.client.lock('x', {by});
        const stop = new AbortController();
        const waits = stage.client.lock('x', {by, signal: stop.signal});
        await stage.waiting('x');
        stop.abort(new Error('enough'));
        await assert.rejects(waits, /enough/);
        await stage.waiting('x', 0);
        await lock.release();
        const late = new AbortController();
        const held = await stage.client.lock('x', {by, signal: late.signal});
        late.abort(); // it was for the wait
        await stage.client.version();
        held.check();
        await held.release();
        await assert.rejects(stage.client.lock('x', {by, signal: stop.signal}), /enough/);
    });
}

test('a process that dies releases what its connection holds', async (t) => {
    const stage = await Stage.open(t);
    const child = spawn(process.execPath, ['-e', `
        const {Client} = require(${JSON.stringify(path.join(source, 'node'))});
        new Client().lock('x').then(() => console.log('held'));
    `], {env: stage.environment, stdio: ['ignore', 'pipe', 'inherit']});
    await once(child.stdout, 'data');
    assert.equal(stage.shows('x').state, 'held');
    child.kill('SIGKILL');
    await stage.freed('x');
});

test('a token serves elsewhere', async (t) => {
    const stage = await Stage.open(t);
    const lock = await stage.client.lock('x', {by: 'token', ttl: 60});
    await lock.renew('2h');
    assert.ok(lock.remaining > 7000);
    stage.run('steal', '--yes', 'x');
    await assert.rejects(lock.renew(), code('LOST'));
    assert.ok(lock.lost);
});

test('withLock releases, whatever happens', async (t) => {
    const stage = await Stage.open(t);
    const {client} = stage;
    assert.equal(await client.withLock('x', async (lock) => {
        lock.check();
        return 42;
    }), 42);
    await assert.rejects(client.withLock('x', {wait: '10s'}, () => {
        throw new TypeError('mine');
    }), TypeError);
    await client.withLock('x', (lock) => lock.release()); // it may do so itself
    await assert.rejects(client.withLock('x', {wait: '10s', ttl: 3}, async (lock) => {
        const told = once(lock, 'lost');
        stage.run('steal', '--yes', 'x');
        await told;
    }), code('LOST'));
    await stage.freed('x');
});

test('await using', async (t) => {
    if (!Symbol.asyncDispose) {
        console.log('skipped: this Node has no Symbol.asyncDispose');
        t.skip('this Node has no Symbol.asyncDispose');
        return;
    }
    const stage = await Stage.open(t);
    const lock = await stage.client.lock('x', {by: 'token'});
    await lock[Symbol.asyncDispose]();
    await lock[Symbol.asyncDispose]();
    assert.ok(stage.isFree('x'));
});

test('kinds: readers together, permits by number, in order', async (t) => {
    const stage = await Stage.open(t);
    const {client} = stage;
    const readers = [await client.lock('r', {mode: 'read'}), await client.lock('r', {mode: 'read'})];
    assert.equal(await client.tryLock('r', {mode: 'write'}), null);
    for (const reader of readers)
        await reader.release();
    stage.run('sem', 'set', 's', '3');
    const permits = await client.lock('s', {mode: 'permit', permits: 2});
    assert.equal(await client.tryLock('s', {mode: 'permit', permits: 2}), null);
    await permits.release();
    await assert.rejects(client.lock('m', {mode: 'simple'}), (error) => {
        assert.equal(error.certainty, 'misuse');
        return code('CANNOT')(error);
    });
});

test('more waits than the server has places', async (t) => {
    const stage = await Stage.open(t);
    const first = await stage.client.lock('x', {by: 'token'});
    let inside = 0;
    const all = Array.from({length: 70}, () =>
        stage.client.withLock('x', {by: 'token', wait: '60s'}, async () => {
            assert.equal(++inside, 1, 'UNSAFE: two at a time');
            await pause(0);
            inside--;
        }));
    await stage.waiting('x', 64);
    await first.release();
    await Promise.all(all);
});

test('misuse and servers out of reach are said', async (t) => {
    const stage = await Stage.open(t);
    const {client} = stage;
    await assert.rejects(client.lock('x', {wiat: 5}), code('USAGE'));
    await assert.rejects(client.lock('x', {wait: 'soon'}), code('USAGE'));
    await assert.rejects(client.lock('x', {wait: -1}), code('USAGE'));
    await assert.rejects(client.lock('x', {ttl: '2s'}), code('USAGE'));
    await assert.rejects(client.lock('x', {by: 'me'}), code('USAGE'));
    await assert.rejects(client.lock('x', {mode: 'vice'}), code('USAGE'));
    await assert.rejects(client.lock(''), (error) => error.certainty === 'misuse');
    assert.throws(() => new holdfast.Client({address: 'nonsense'}), code('URI'));
    await stage.stop('SIGTERM');
    await assert.rejects(client.lock('x'), (error) => {
        assert.ok(error.message.includes(stage.address) && error.cause, error.message);
        return code('DOWN')(error);
    });
});

test('who waits when the server ends is told', async (t) => {
    const stage = await Stage.open(t);
    await stage.client.lock('x');
    const asked = [stage.client.lock('x'), stage.client.lock('x')];
    const ended = Promise.allSettled(asked);
    await stage.waiting('x', 2);
    await stage.stop('SIGTERM');
    for (const {status, reason} of await ended) {
        assert.equal(status, 'rejected');
        assert.match(reason.code, /^(CANCELLED|DOUBT)$/);
    }
    await until('nothing is left', () => stage.isFree('x'));
});
