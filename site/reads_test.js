// SPDX-License-Identifier: MIT
//
// reads_test.js - the site in a real browser: nothing stands in the way of a
// reader, on a phone and in the dark; nothing is fetched from elsewhere.
// HF_SITE is the site, HF_BROWSER what test/console/fetch.sh brought.
'use strict';

const assert = require('node:assert/strict');
const {createRequire} = require('node:module');
const {existsSync, mkdirSync, readFileSync, readdirSync} = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const {pathToFileURL} = require('node:url');

const site = process.env.HF_SITE;
const fetched = process.env.HF_BROWSER;

function skip(reason) {
    console.log(`skipped: ${reason}`);
    process.exit(77);
}

if (!site || !fetched)
    skip('HF_SITE and HF_BROWSER are not set: run it through ctest');
if (!existsSync(path.join(fetched, 'complete')))
    skip(`playwright-core and axe-core are not in ${fetched}`);
const chromiumPath = process.env.PATH.split(':')
    .map((folder) => path.join(folder, 'chromium')).find(existsSync);
if (!chromiumPath)
    skip('chromium is not installed');

const from = createRequire(path.join(fetched, 'package.json'));
const {chromium} = from('playwright-core');
const axe = readFileSync(from.resolve('axe-core/axe.min.js'), 'utf8');

// One of each sort is judged by axe; all are looked at for their width.
const JUDGED = ['index.html', 'docs/guarantees.html', 'man/holdfast-run.1.html',
                'man/holdfast-guarantees.7.html', 'README.html',
                'include/holdfast.h.html'];

function allPages() {
    return readdirSync(site, {recursive: true})
        .filter((name) => name.endsWith('.html')).sort();
}

// The browser refuses the site programs, so axe comes from outside of it.
async function open(t, options) {
    const browser = await chromium.launch({executablePath: chromiumPath,
                                           args: ['--no-sandbox']});
    t.after(() => browser.close());
    const context = await browser.newContext({bypassCSP: true, ...options});
    const page = await context.newPage();
    page.strangers = [];
    page.on('request', (request) => {
        if (!request.url().startsWith(pathToFileURL(site).href))
            page.strangers.push(request.url());
    });
    return page;
}

async function go(page, name) {
    await page.goto(pathToFileURL(path.join(site, name)).href);
}

async function barriers(page) {
    await page.evaluate(axe);
    const {violations} = await page.evaluate(() => window.axe.run());
    return violations.map((v) =>
        `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html).join(' ')}`);
}

for (const [name, judged, options] of [
    ['dark, on a phone', JUDGED,
     {colorScheme: 'dark', viewport: {width: 360, height: 740}}],
    ['light', JUDGED.slice(0, 2), {colorScheme: 'light'}]])
    test(`nothing stands in the way: ${name}`, async (t) => {
        const page = await open(t, options);
        for (const name of judged) {
            await go(page, name);
            assert.deepEqual(await barriers(page), [], name);
            if (process.env.HF_PICTURES) {
                mkdirSync(process.env.HF_PICTURES, {recursive: true});
                const file = `${name.replace(/\W/g, '-')}-${
                    options.colorScheme}.png`;
                await page.screenshot(
                    {path: path.join(process.env.HF_PICTURES, file)});
            }
        }
        assert.deepEqual(page.strangers, []);
    });

test('no page is wider than a phone', async (t) => {
    const page = await open(t, {viewport: {width: 360, height: 740}});
    const pages = allPages();
    assert.ok(pages.length > 50, `${pages.length} pages`);
    for (const name of pages) {
        await go(page, name);
        const wide = await page.evaluate(
            () => document.documentElement.scrollWidth);
        assert.ok(wide <= 360, `${name} is ${wide} wide`);
    }
    assert.deepEqual(page.strangers, []);
});
