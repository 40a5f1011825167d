// SPDX-License-Identifier: MIT
//
// steal_test.js - taking a lock away: only where it is allowed, and only by
// somebody who knows which one.
'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const {Stage, says, showLock, barriers, picture} = require('./stage');

async function begin(t, ...options) {
    const s = new Stage(t);
    await s.redis();
    await s.serve(...options);
    return s;
}

test('a lock is stolen after its name was typed, and not before', async (t) => {
    const s = await begin(t, '--allow-actions');
    const holder = s.run('nightly backup');
    const page = await s.open();
    await showLock(page, 'nightly backup');
    await says(page.locator('#view-lock dl'), `:${holder.pid}`);
    const steal = page.getByRole('button', {name: 'Steal from'});
    await steal.click();
    const dialog = page.getByRole('dialog', {name: 'Steal this lock?'});
    const name = dialog.getByLabel('Type the lock\'s name to confirm');
    await says(dialog, `:${holder.pid}`);
    await name.fill('nightly');
    await dialog.getByRole('button', {name: 'Steal it'}).click();
    await says(dialog.getByRole('alert'), 'not its name');
    await picture(page, 'steal');
    assert.deepEqual(await barriers(page), []);
    assert.equal(holder.exitCode, null);

    await page.keyboard.press('Escape');
    await dialog.waitFor({state: 'hidden'});
    assert.equal(await steal.evaluate((e) => e === document.activeElement),
                 true, 'the focus returns to the button');
    assert.equal(holder.exitCode, null);

    await steal.click();
    await name.fill('nightly backup');
    await page.keyboard.press('Enter');
    await dialog.waitFor({state: 'hidden'});
    assert.equal(await holder.gone, 76, 'its holder was told of the loss');
    await says(page.locator('#view-lock'), 'Nobody.');
    await says(page.getByRole('table', {name: 'Last events'}),
               /stolen|lost|released/);
    assert.deepEqual(s.faults, []);
});

test('a console that only looks offers nothing, and refuses it', async (t) => {
    const s = await begin(t);
    const holder = s.run('kept');
    const page = await s.open();
    await showLock(page, 'kept');
    await says(page.locator('#view-lock dl'), `:${holder.pid}`);
    assert.equal(await page.getByRole('button', {name: 'Steal from'}).count(), 0);
    const status = await page.evaluate(async () => (await fetch(
        '/api/v1/locks/kept/steal', {method: 'POST',
            headers: {'Content-Type': 'application/json', 'X-Holdfast': '1'},
            body: '{"confirm":"kept"}'})).status);
    assert.equal(status, 403);
    assert.equal(holder.exitCode, null);
});
