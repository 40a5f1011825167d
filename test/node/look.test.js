// SPDX-License-Identifier: MIT
'use strict';

const assert = require('node:assert/strict');
const {chmodSync, writeFileSync} = require('node:fs');
const path = require('node:path');
const test = require('node:test');

const {Stage, holdfast, until} = require('./stage.js');

test('locks, a page at a time, and one of them', async (t) => {
    const stage = await Stage.open(t);
    const {client} = stage;
    const held = [];
    for (let i = 0; i < 5; i++)
        held.push(await client.lock(`a/${i}`, {by: 'token'}));
    await until('all are seen', async () => (await client.list({prefix: 'a/'})).length === 5);
    const all = await client.list({limit: 2});
    assert.deepEqual(all.map((lock) => lock.name), [0, 1, 2, 3, 4].map((i) => `a/${i}`));
    assert.equal(all[3].holder.token, held[3].fence);
    const one = await client.get('a/3');
    assert.equal(one.state, 'held');
    assert.equal(await client.get('nothing'), null);
    assert.ok((await client.clients()).clients);
    assert.deepEqual((await client.deadlocks()).circles, []);
    assert.match((await client.store()).store, /^sqlite:/);
    assert.match((await client.version()).version, /^\d+\.\d+\.\d+$/);
    for (const lock of held)
        await lock.release();
});

test('the leader', async (t) => {
    const stage = await Stage.open(t);
    const {client} = stage;
    assert.equal(await client.leader('web'), false);
    const lock = await client.lock('web', {by: 'token'});
    await until('it is seen', () => client.leader('web'));
    assert.equal(await client.leader('web', {candidate: 'elsewhere'}), false);
    await lock.release();
    await until('it is seen', async () => !await client.leader('web'));
});

test('events, also after an interruption', async (t) => {
    const stage = await Stage.open(t);
    const {client} = stage;
    const stop = new AbortController();
    const seen = [];
    const reading = (async () => {
        for await (const event of client.events({signal: stop.signal}))
            seen.push(event);
    })();
    let n = 0;
    const told = async (event, name) => { // until they are followed
        await client.withLock(`${name}${n++}`, {by: 'token'}, () => {});
        return seen.find((one) => one.event === event && one.name.startsWith(name));
    };
    const first = await until('an event comes', () => told('granted', 'x'));
    assert.equal(typeof first.token, 'bigint');
    await stage.stop();
    await stage.serve();
    const later = await until('one comes again', () => told('granted', 'y'));
    assert.ok(later.id > first.id);

    for await (const event of client.events({after: later.id - 1})) {
        assert.equal(event.id, later.id); // from there on
        break; // ends the connection
    }
    for await (const event of client.events({after: 1})) {
        assert.deepEqual(event, {event: 'missed'});
        break;
    }
    stop.abort();
    await reading;
});

test('a token of the server, and taking a lock away', async (t) => {
    const secret = 'abcdefghijklmnopqrstuvwxyz';
    const stage = await Stage.open(t);
    await stage.stop();
    const file = path.join(stage.folder, 'tokens');
    writeFileSync(file, `alice ${secret}\n`);
    chmodSync(file, 0o600);
    stage.options = ['--token-file', file, '--allow-actions',
                     '--audit-log', path.join(stage.folder, 'audit')];
    await stage.serve();
    await assert.rejects(stage.client.list(), (error) =>
        error.code === 'AUTH' && error.status === 401);
    await assert.rejects(async () => {
        for await (const event of stage.client.events())
            assert.fail(String(event));
    }, {code: 'AUTH'});
    await assert.rejects(new holdfast.Client({address: 'unix:/nowhere'}).events().next(),
                         {code: 'DOWN'});
    const client = new holdfast.Client({address: stage.address, token: secret});
    const lock = await client.lock('x', {ttl: 3});
    await until('it is seen', () => client.get('x'));
    const told = new Promise((resolve) => lock.on('lost', resolve));
    assert.equal((await client.steal('x')).void, lock.fence);
    await told;
});
