// SPDX-License-Identifier: MIT
//
// access_test.js - for everybody: by keyboard, on a narrow screen, in the dark,
// by ear, and without JavaScript.
'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const {Stage, barriers, picture, row, says, show, showLock,
       until} = require('./stage');

const VIEWS = ['now', 'lock/nightly', 'blocking', 'timeline', 'store'];

// A store with a bit of everything.
async function begin(t) {
    const s = new Stage(t);
    await s.redis();
    await s.serve('--allow-actions');
    s.run('nightly', '--why', 'the report of the month');
    s.run('a/rather:long/name-that.somebody_has/given-to-one-of-his-locks/2026',
          '--fair');
    s.run('permits', '--limit', '3');
    const looks = await s.open();
    await says(row(looks, 'nightly'), 'held');
    s.run('nightly', '--wait', '10m');
    await says(row(looks, 'nightly').locator('td').nth(4), '1');
    await says(row(looks, 'permits'), 'permit');
    await looks.close();
    return s;
}

async function go(page, view) {
    if (view.startsWith('lock/'))
        await showLock(page, view.slice(5));
    else
        await show(page, view);
}

for (const options of [
    {colorScheme: 'light'}, {colorScheme: 'dark'},
    {forcedColors: 'active', reducedMotion: 'reduce'},
    {viewport: {width: 360, height: 740}}])
    test(`nothing stands in the way: ${JSON.stringify(options)}`, async (t) => {
        const s = await begin(t);
        const page = await s.open(options);
        const name = options.viewport ? 'narrow'
                                      : options.colorScheme || 'forced';
        for (const view of VIEWS) {
            await go(page, view);
            assert.deepEqual(await barriers(page), [], view);
            const [whole, seen] = await page.evaluate(() =>
                [document.documentElement.scrollWidth, innerWidth]);
            assert.ok(whole <= seen, `${view} is ${whole} wide of ${seen}`);
            await picture(page, `${name}-${view.split('/')[0]}`);
        }
        await go(page, 'lock/nightly');
        await page.getByRole('button', {name: 'Steal from'}).click();
        assert.deepEqual(await barriers(page), [], 'dialog');
        assert.deepEqual(s.faults, []);
    });

const focused = (page) => page.evaluate(() => {
    const e = document.activeElement;
    return e.getAttribute('href') || e.id || e.tagName;
});

// Presses Tab until it stands on what is wanted.
async function tabTo(page, wanted) {
    const passed = [];
    for (let i = 0; i < 60; i++) {
        await page.keyboard.press('Tab');
        const at = await focused(page);
        if (at === wanted)
            return;
        passed.push(at);
    }
    assert.fail(`Tab never came to ${wanted}, only to ${passed.join(' ')}`);
}

test('the keyboard is enough', async (t) => {
    const s = await begin(t);
    const page = await s.open();
    await page.keyboard.press('Tab');
    assert.equal(await focused(page), '#main', 'the skip link comes first');
    await page.keyboard.press('Enter');
    assert.equal(await focused(page), 'main');
    assert.equal(await page.evaluate(() => document.body.dataset.view), 'now');
    await tabTo(page, 'find');
    await page.keyboard.type('night');
    await page.waitForFunction(() =>
        document.querySelectorAll('#rows tr').length === 1);
    assert.equal(await focused(page), 'find');
    await tabTo(page, '#/lock/nightly');
    await page.keyboard.press('Enter');
    await page.waitForSelector('body[data-view="lock nightly"]');
    await until('the title has the focus', async () =>
        await focused(page) === 'title-lock');
    await tabTo(page, 'BUTTON');
    await page.keyboard.press('Enter');
    await until('the field has the focus', async () =>
        await focused(page) === 'steal-name');
    await page.keyboard.type('nightly');
    await tabTo(page, 'steal-cancel');
    await page.keyboard.press('Enter');
    assert.equal(await focused(page), 'BUTTON', 'the focus returns');
    await page.keyboard.press('Shift+Tab');
    assert.equal(await focused(page), '#/now');
    await page.keyboard.press('Shift+Tab');
    assert.equal(await focused(page), '#/store');
    await page.keyboard.press('Enter');
    await page.waitForSelector('body[data-view="store"]');
    assert.deepEqual(s.faults, []);
});

test('focus survives what changes around it', async (t) => {
    const s = await begin(t);
    const page = await s.open();
    const link = row(page, 'nightly').getByRole('link');
    await link.focus();
    const before = s.run('aaa-first');
    await says(row(page, 'aaa-first'), 'held');
    s.run('zzz-last');
    await says(row(page, 'zzz-last'), 'held');
    await s.stop(before);
    await row(page, 'aaa-first').waitFor({state: 'detached'});
    assert.equal(await focused(page), '#/lock/nightly');
    assert.deepEqual(s.faults, []);
});

test('changes are announced, and ticking numbers are not', async (t) => {
    const s = await begin(t);
    const page = await s.open();
    await page.evaluate(() => {
        window.heard = [];
        new MutationObserver(() => window.heard.push(
            document.getElementById('news').textContent))
            .observe(document.getElementById('news'),
                     {childList: true, characterData: true, subtree: true});
    });
    const holder = s.run('spoken');
    await says(row(page, 'spoken'), 'held');
    await says(page.locator('#news'), 'spoken granted');
    await s.stop(holder);
    await says(page.locator('#news'), 'spoken released');
    for (const words of await page.evaluate(() => window.heard))
        assert.match(words, /granted|released|waits|more change/);
    assert.deepEqual(s.faults, []);
});

test('the structure is one that can be read aloud', async (t) => {
    const s = await begin(t);
    const page = await s.open();
    const table = page.getByRole('table', {name: 'Who holds what'});
    assert.deepEqual(await table.getByRole('columnheader').allTextContents(),
        ['Lock', 'Kind', 'Holder', 'Held for', 'Lease left', 'Waiters', 'Token',
         'State']);
    await table.getByRole('rowheader', {name: 'nightly'}).waitFor();
    await row(page, 'nightly').getByRole('meter', {name: 'lease left'})
        .waitFor();
    await page.getByRole('navigation', {name: 'Views'})
        .getByRole('link', {name: 'Now'}).waitFor();
});

test('without JavaScript there is the table', async (t) => {
    const s = await begin(t);
    const page = await s.open({javaScriptEnabled: false});
    const line = page.locator('#rows tr').filter({hasText: 'nightly'});
    await says(line, 'held');
    await says(line, 'the report of the month');
    await says(page.locator('#address'), s.store);
    await page.getByText('reload it to look again').waitFor();
    assert.equal(await page.locator('#filter').isVisible(), false);
    assert.equal(await page.locator('nav').isVisible(), false);
    await picture(page, 'scriptless');
});
