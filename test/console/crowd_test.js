// SPDX-License-Identifier: MIT
//
// crowd_test.js - 100 000 names, of which 1 000 are held.
'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const {spawn} = require('node:child_process');
const {Stage, row, says, until} = require('./stage');

const ALL = 100000;
const HELD = 1000;
const number = (i) => String(i).padStart(6, '0');

// Semaphores with a permit left, and locks of other clients, as they lie in
// Redis: so many processes would be another test.
async function fill(port) {
    const pipe = spawn('redis-cli', ['-p', port, '--pipe'],
                       {stdio: ['pipe', 'ignore', 'inherit']});
    const put = (...words) => pipe.stdin.write(`*${words.length}\r\n` +
        words.map((w) => `$${Buffer.byteLength(w)}\r\n${w}\r\n`).join(''));
    for (let i = 0; i < ALL - HELD; i++) {
        put('SET', `free:${number(i)}`, '1');
        put('SET', `holdfast_counter:{free:${number(i)}}`, 'semaphore');
    }
    for (let i = 0; i < HELD; i++) {
        const name = `held:${number(i)}`;
        put('HSET', name, `00000000-0000-4000-8000-000000${number(i)}:1`, '1');
        put('PEXPIRE', name, '3600000');
    }
    pipe.stdin.end();
    assert.equal(await new Promise((done) => pipe.once('close', done)), 0);
}

const shape = (page) => page.evaluate(() => ({
    rows: document.querySelectorAll('#rows tr').length,
    elements: document.getElementsByTagName('*').length,
    first: document.querySelector('#rows tr')?.dataset.name,
}));

test('among 100 000 locks the held ones come first, a page at a time',
     async (t) => {
    const s = new Stage(t);
    await s.redis();
    await fill(s.redisPort);
    await s.serve();
    const page = await s.open();
    await says(row(page, 'held:000000'), 'held');
    await says(page.locator('#span'), `1 to 200 of ${HELD}`);
    let seen = await shape(page);
    assert.equal(seen.rows, 200);
    assert.ok(seen.elements < 6000, `${seen.elements} elements`);

    await page.getByRole('button', {name: 'Next'}).click();
    await says(row(page, 'held:000200'), 'held');
    await says(page.locator('#span'), `201 to 400 of ${HELD}`);
    assert.equal((await shape(page)).rows, 200);
    await page.getByRole('button', {name: 'Previous'}).click();
    await says(row(page, 'held:000000'), 'held');

    const find = page.getByLabel('Find');
    await find.focus();
    await page.keyboard.type('000777');
    await page.waitForFunction(() =>
        document.body.dataset.query.includes('q=000777'));
    seen = await shape(page);
    assert.deepEqual([seen.rows, seen.first], [1, 'held:000777']);
    await page.getByLabel('Show').selectOption('all');
    await says(row(page, 'free:000777'), 'free');
    assert.equal((await shape(page)).rows, 2);

    await find.fill('');
    await says(page.locator('#span'), `1 to 200 of ${ALL}`);
    await page.getByLabel('Begins with').fill('free:09');
    await says(row(page, 'free:090000'), 'free');
    assert.equal((await shape(page)).rows, 200);

    await page.getByLabel('Begins with').fill('');
    await page.getByLabel('Show').selectOption('in use');
    const holder = s.run('among-them');
    await says(row(page, 'among-them'), `:${holder.pid}`);
    await s.stop(holder);
    await row(page, 'among-them').waitFor({state: 'detached'});
    await until('the document is bounded', async () =>
        (await shape(page)).rows === 200);
    assert.deepEqual(s.faults, []);
});
