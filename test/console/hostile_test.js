// SPDX-License-Identifier: MIT
//
// hostile_test.js - names and reasons are written by strangers.
'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const {Stage, row, says, show, showLock} = require('./stage');

const HOSTILE = [
    '<img src=x onerror="document.title=\'pwned\';alert(1)">',
    '"><script>alert(1)</script>',
    '</bdi></td><svg onload=alert(1)>',
    '../../%2e%2e/a?b=c#d&e',
    'שלום \u{1f512} ünïcödé',
];

async function harmless(page) {
    assert.equal(await page.locator(
        'img[src="x"], main script, svg[onload], [onerror], [onload]').count(),
        0);
    assert.doesNotMatch(await page.title(), /^pwned/);
}

test('whatever a lock is called, it is text', async (t) => {
    const s = new Stage(t);
    await s.redis();
    await s.serve('--allow-actions');
    const page = await s.open();
    for (const name of HOSTILE) {
        const holder = s.run(name, '--why', HOSTILE[0]);
        await says(row(page, name), `:${holder.pid}`);
        await says(row(page, name), HOSTILE[0]);
        assert.equal(await row(page, name).getByRole('rowheader').textContent(),
                     name);
        const waiter = s.run(name, '--wait', '10m', '--why', HOSTILE[0]);
        await harmless(page);

        await showLock(page, name);
        await says(page.locator('#view-lock dl'), `:${holder.pid}`);
        await says(page.locator('#view-lock'), `:${waiter.pid}`);
        assert.equal(await page.locator('#title-lock').textContent(), name);
        await harmless(page);
        await page.getByRole('button', {name: 'Steal from'}).click();
        await says(page.locator('#steal-who'), name);
        await harmless(page);
        await page.keyboard.press('Escape');

        await show(page, 'blocking');
        await says(page.locator('.tree'), `:${waiter.pid} waits`);
        await harmless(page);
        await show(page, 'timeline');
        await page.locator('.bars a').filter({hasText: name}).waitFor();
        await harmless(page);
        await show(page, 'now');
    }
    assert.deepEqual(s.faults, []);
});

test('the table made by the server is text, too', async (t) => {
    const s = new Stage(t);
    await s.redis();
    await s.serve();
    const looks = await s.open();
    for (const name of HOSTILE) {
        s.run(name, '--why', HOSTILE[0]);
        await says(row(looks, name), 'held');
    }
    const page = await s.open({javaScriptEnabled: false});
    for (const name of HOSTILE)
        await page.locator('#rows th').filter({hasText: name}).first()
            .waitFor();
    await page.locator('img[src="x"], main script, main svg')
        .waitFor({state: 'detached'});
    assert.deepEqual(s.faults, []);
});
