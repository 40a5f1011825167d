// SPDX-License-Identifier: MIT
//
// stage.js - what the browser tests stand on: a private Redis, the console
// before it, processes that hold and wait, and a browser that looks.
//
// Everything is started for one test and ended after it, by its process id.
// Nothing is timed: a test waits until what it wants to see is there, and only
// what never comes runs into the deadline.
'use strict';

const {spawn} = require('node:child_process');
const {createRequire} = require('node:module');
const {mkdtempSync, mkdirSync, readFileSync, rmSync, existsSync,
       openSync} = require('node:fs');
const net = require('node:net');
const path = require('node:path');

const DEADLINE_MS = Number(process.env.HF_DEADLINE_MS || 90000);
const build = process.env.HF_BUILD;
const fetched = process.env.HF_BROWSER;
const pictures = path.join(fetched || '.', 'pictures');

function skip(reason) {
    console.log(`skipped: ${reason}`);
    process.exit(77);
}

if (!build || !fetched)
    skip('HF_BUILD and HF_BROWSER are not set: run it through ctest');
if (!existsSync(path.join(fetched, 'complete')))
    skip(`playwright-core and axe-core are not in ${fetched}`);

const chromiumPath = process.env.PATH.split(':')
    .map((folder) => path.join(folder, 'chromium')).find(existsSync);
if (!chromiumPath)
    skip('chromium is not installed');

const from = createRequire(path.join(fetched, 'package.json'));
const {chromium} = from('playwright-core');
const axeSource = readFileSync(from.resolve('axe-core/axe.min.js'), 'utf8');

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// until(what, fn): the first true thing that fn gives.
async function until(what, fn) {
    const by = Date.now() + DEADLINE_MS;
    for (;;) {
        const got = await fn();
        if (got)
            return got;
        if (Date.now() > by)
            throw new Error(`waited in vain until ${what}`);
        await pause(50);
    }
}

// Below the range from which the kernel takes ports by itself.
function freePort() {
    const port = 12000 + Math.floor(Math.random() * 20000);
    return new Promise((done) => {
        const probe = net.createServer();
        probe.once('error', () => done(freePort()));
        probe.listen(port, '127.0.0.1', () => probe.close(() => done(port)));
    });
}

class Stage {
    constructor(t) {
        const base = process.env.HF_TEST_DIR || '/tmp';
        this.dir = mkdtempSync(path.join(base, 'page-'));
        this.children = [];
        this.faults = [];
        this.wires = [];
        this.environment = {...process.env, HOME: this.dir,
            XDG_CONFIG_HOME: this.dir, XDG_STATE_HOME: this.dir};
        for (const name of Object.keys(this.environment))
            if (/^(HOLDFAST_|NOTIFY_SOCKET)/.test(name))
                delete this.environment[name];
        t.after(() => this.end());
    }

    // Starts a program; what it says is kept in a file of its name.
    start(program, args, options) {
        const log = openSync(path.join(this.dir, path.basename(program)), 'a');
        const child = spawn(program, args, {cwd: this.dir,
            env: this.environment, stdio: ['pipe', log, log], ...options});
        child.gone = new Promise((done) => child.once('close', done));
        child.on('error', (e) => this.faults.push(`${program}: ${e.message}`));
        child.stdin.on('error', () => {}); // it may be dead
        this.children.push(child);
        return child;
    }

    said(program) {
        return readFileSync(path.join(this.dir, program), 'utf8');
    }

    async redis() {
        const port = await freePort();
        this.start('redis-server', ['--port', port, '--bind', '127.0.0.1',
            '--save', '', '--appendonly', 'no', '--dir', this.dir]);
        await until('redis-server serves', () =>
            this.said('redis-server').includes('Ready to accept'));
        this.redisPort = port;
        this.store = `redis://127.0.0.1:${port}`;
    }

    // The console, again on the same port if it was there before.
    async serve(...options) {
        this.port = this.port || await freePort();
        this.url = `http://127.0.0.1:${this.port}/`;
        this.server = this.start(path.join(build, 'holdfast'), ['serve',
            '--store', this.store, '--listen', `127.0.0.1:${this.port}`,
            ...options]);
        await until('the console answers', async () => {
            if (this.server.exitCode !== null || this.server.signalCode)
                throw new Error(`it ended: ${this.said('holdfast')}`);
            return fetch(this.url + 'readyz').then((r) => r.ok, () => false);
        });
    }

    // A wire to the console that can be cut and mended; it keeps what was asked
    // through it.
    async wire() {
        const port = await freePort();
        const wire = {asked: '', whole: true, ends: new Set()};
        const server = net.createServer((near) => {
            if (!wire.whole) {
                near.destroy();
                return;
            }
            const far = net.connect(this.port, '127.0.0.1');
            near.on('data', (bytes) => { wire.asked += bytes; });
            for (const [one, other] of [[near, far], [far, near]]) {
                wire.ends.add(one);
                one.on('error', () => other.destroy());
                one.on('close', () => {
                    wire.ends.delete(one);
                    other.destroy();
                });
                one.pipe(other);
            }
        });
        await new Promise((done) => server.listen(port, '127.0.0.1', done));
        this.wires.push(server);
        wire.url = `http://127.0.0.1:${port}/`;
        wire.cut = () => {
            wire.whole = false;
            for (const end of wire.ends)
                end.destroy();
        };
        wire.mend = () => { wire.whole = true; };
        return wire;
    }

    // A real holder or waiter: `holdfast run … -- tail -f /dev/null`.
    run(name, ...options) {
        return this.start(path.join(build, 'holdfast'), ['run', '--store',
            this.store, ...options, name, '--', 'tail', '-f', '/dev/null']);
    }

    // A process that takes several locks, told line by line: test/peer/peer.c.
    peer() {
        const child = this.start(path.join(build, 'test', 'hf-peer'), [],
                                 {stdio: ['pipe', 'pipe', 'inherit']});
        const lines = require('node:readline')
            .createInterface({input: child.stdout})[Symbol.asyncIterator]();
        child.tell = (line) => child.stdin.write(line + '\n');
        child.ask = async (line) => {
            child.tell(line);
            return (await lines.next()).value;
        };
        return child;
    }

    async stop(child, signal) {
        child.kill(signal || 'SIGTERM');
        await child.gone;
    }

    async browse(options) {
        this.browser = this.browser || await chromium.launch(
            {executablePath: chromiumPath});
        const context = await this.browser.newContext(options);
        context.setDefaultTimeout(DEADLINE_MS);
        return context;
    }

    // A page that has shown its first list.  What goes wrong in it, a breach
    // of its security policy among that, fails the test at its end.
    async open(options, where) {
        const context = options && options.newPage ? options
                                                   : await this.browse(options);
        const page = await context.newPage();
        page.on('pageerror', (e) => this.faults.push(String(e.stack || e)));
        page.on('dialog', (d) => {
            this.faults.push(`a dialog: ${d.message()}`);
            d.dismiss();
        });
        page.on('console', (m) => {
            if (m.type() === 'error' && !/net::ERR_|status of 404/.test(m.text()))
                this.faults.push(m.text());
        });
        await page.goto(this.url + (where || ''));
        if (!options || options.javaScriptEnabled !== false)
            await page.waitForSelector(
                'body[data-ready][data-view][data-link="live"]');
        return page;
    }

    async end() {
        if (this.browser)
            await this.browser.close();
        for (const wire of this.wires)
            wire.close();
        for (const child of this.children) {
            if (child.exitCode !== null || child.signalCode !== null)
                continue;
            child.kill('SIGCONT');
            child.kill('SIGKILL');
            await child.gone;
        }
        rmSync(this.dir, {recursive: true, force: true, maxRetries: 5});
    }
}

// The row of a lock in the table of all.
const row = (page, name) => page.locator(`#rows tr[data-name=${quote(name)}]`);
const quote = (name) => `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

// Goes to a view by its address, and waits until it is complete.
async function show(page, where, mark) {
    await page.evaluate((to) => { location.hash = to; }, '#/' + where);
    await page.waitForFunction((wanted) => document.body.dataset.view === wanted,
                               mark || where);
}

const showLock = (page, name) =>
    show(page, 'lock/' + encodeURIComponent(name), 'lock ' + name);

// Until the text of what is located contains `wanted`.
async function says(locator, wanted) {
    await locator.filter({hasText: wanted}).first().waitFor();
}

// What axe finds serious or critical, in words.
async function barriers(page) {
    if (!await page.evaluate(() => 'axe' in window))
        await page.evaluate(axeSource);
    const found = await page.evaluate(() => window.axe.run());
    return found.violations
        .filter((v) => v.impact === 'serious' || v.impact === 'critical')
        .map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`);
}

async function picture(page, name) {
    mkdirSync(pictures, {recursive: true});
    await page.screenshot({path: path.join(pictures, name + '.png')});
}

module.exports = {Stage, barriers, picture, row, says, show, showLock, until,
                  build};
