// SPDX-License-Identifier: MIT
//
// stage.js - what the tests of the Node client stand on: a server of their own
// over an embedded store, on a Unix socket, and the command beside it.  Nothing
// is timed: a test waits until what it wants is there.
'use strict';

const {execFileSync, spawn} = require('node:child_process');
const {existsSync, mkdtempSync, rmSync} = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {setTimeout: pause} = require('node:timers/promises');

const source = path.resolve(__dirname, '../..');
const holdfast = require(path.join(source, 'node'));
const command = process.env.HOLDFAST || 'holdfast';
const DEADLINE_MS = 20000;

async function until(what, condition) {
    const by = Date.now() + DEADLINE_MS;
    for (;;) {
        const got = await condition();
        if (got)
            return got;
        if (Date.now() > by)
            throw new Error(`waited in vain until ${what}`);
        await pause(10);
    }
}

class Stage {
    static async open(t, ...options) {
        const stage = new Stage();
        stage.folder = mkdtempSync(path.join(process.env.HF_TEST_DIR || os.tmpdir(), 'n-'));
        stage.socket = path.join(stage.folder, 's');
        stage.address = `unix:${stage.socket}`;
        stage.options = options;
        stage.environment = {
            ...process.env,
            HOME: stage.folder,
            XDG_CONFIG_HOME: stage.folder,
            HOLDFAST_STORE: `sqlite:${stage.folder}/locks.db`,
            HOLDFAST_SERVER: stage.address,
        };
        t.after(() => stage.close());
        await stage.serve();
        stage.client = new holdfast.Client({address: stage.address});
        return stage;
    }

    async serve() {
        this.server = spawn(command, ['serve', '--listen', this.address, ...this.options],
                            {env: this.environment, stdio: ['ignore', 'inherit', 'pipe']});
        let said = '';
        this.server.stderr.setEncoding('utf8').on('data', (text) => { said += text; });
        await until('the server serves', () => {
            if (this.server.exitCode !== null)
                throw new Error(`the server has ended: ${said}`);
            return said.includes('serving ') && existsSync(this.socket);
        });
    }

    async stop(signal = 'SIGKILL') {
        const {server} = this;
        if (server.exitCode !== null || server.signalCode !== null)
            return;
        const ended = new Promise((resolve) => server.once('exit', resolve));
        server.kill('SIGCONT');
        server.kill(signal);
        await ended;
    }

    async close() {
        await this.stop();
        rmSync(this.folder, {recursive: true, force: true});
    }

    // What the command says.
    run(...args) {
        return execFileSync(command, args, {
            env: this.environment, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']});
    }

    shows(name) {
        return JSON.parse(this.run('show', '--json', name));
    }

    isFree(name) {
        return this.shows(name).state === 'free';
    }

    freed(name) {
        return until(`${name} is free`, () => this.isFree(name));
    }

    waiting(name, n = 1) {
        return until(`${n} wait for ${name}`, () => this.shows(name).waiters.length === n);
    }
}

module.exports = {DEADLINE_MS, Stage, holdfast, source, until};
