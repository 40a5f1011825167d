// SPDX-License-Identifier: MIT
'use strict';

const assert = require('node:assert/strict');
const {execFileSync, spawnSync} = require('node:child_process');
const {cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync} = require('node:fs');
const path = require('node:path');
const test = require('node:test');

const {DEADLINE_MS, Stage, holdfast, source} = require('./stage.js');

const folder = path.join(source, 'node');
const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json')));
const types = readFileSync(path.join(folder, 'index.d.ts'), 'utf8');

function skip(t, reason) {
    console.log(`skipped: ${reason}`);
    t.skip(reason);
}

for (const page of ['docs/node.md', 'node/README.md']) {
    test(`the examples of ${page} run`, async (t) => {
        const stage = await Stage.open(t);
        const text = readFileSync(path.join(source, page), 'utf8');
        const blocks = [...text.matchAll(/^```js\n(.*?)^```/gms)].map((found) => found[1]);
        assert.ok(blocks.length > 0);
        mkdirSync(path.join(stage.folder, 'node_modules'));
        symlinkSync(folder, path.join(stage.folder, 'node_modules/holdfast'));
        const program = path.join(stage.folder, 'page.mjs');
        writeFileSync(program, [
            "import {createRequire} from 'node:module';",
            'const require = createRequire(import.meta.url);',
            ...blocks].join('\n'));
        const out = execFileSync(process.execPath, [program], {
            env: stage.environment, encoding: 'utf8', timeout: DEADLINE_MS});
        assert.match(out, /ours, with fence \d+/);
    });
}

test('the types name what there is', () => {
    for (const name of Object.keys(holdfast))
        assert.match(types, new RegExp(`export class ${name}\\b`));
    const named = (type) => {
        const body = new RegExp(`export class ${type} .*?^}`, 'ms').exec(types)[0];
        return new Set([...body.matchAll(/^ {4}(?:readonly )?(\w+)\??[(<:]/gm)].map((m) => m[1]));
    };
    for (const type of ['Client', 'Lock']) {
        const there = Object.getOwnPropertyNames(holdfast[type].prototype)
            .filter((name) => name !== 'constructor' && !name.startsWith('_'));
        for (const name of there)
            assert.ok(named(type).has(name), `${type}.${name} is not in index.d.ts`);
    }
    const errors = readFileSync(path.join(source, 'include/holdfast.h'), 'utf8');
    for (const [, name, sure] of errors.matchAll(/X\(\d+, (\w+), (\w+), "/g)) {
        assert.match(types, new RegExp(`'${name}'`));
        assert.equal(new holdfast.HoldfastError(name, '').certainty,
                     sure.toLowerCase().replace('_', '-'));
    }
});

test('TypeScript accepts who uses it, and refuses who misuses it', async (t) => {
    const found = spawnSync('tsc', ['--version'], {encoding: 'utf8'});
    const [major, minor] = /\d+\.\d+/.exec(found.stdout || '0.0')[0].split('.').map(Number);
    if (major * 100 + minor < 502)
        return skip(t, 'tsc 5.2 or newer is not installed');
    const stage = await Stage.open(t);
    cpSync(folder, path.join(stage.folder, 'node_modules/holdfast'), {recursive: true});
    const check = (text) => {
        writeFileSync(path.join(stage.folder, 'user.ts'), text);
        return spawnSync('tsc', ['--noEmit', '--strict', '--target', 'es2022', '--module',
                                 'node16', 'user.ts'], {cwd: stage.folder, encoding: 'utf8'});
    };
    const good = `import {Client} from 'holdfast';
        export async function work(client: Client): Promise<bigint> {
            await using lock = await client.lock('x', {wait: '5s'});
            return await client.withLock('y', (other) => lock.fence + other.fence);
        }`;
    const said = check(good);
    if (/TS2688|TS2307.*node:/.test(said.stdout))
        return skip(t, 'the types of Node are not installed');
    assert.equal(said.status, 0, said.stdout);
    assert.notEqual(check(good.replace('wait', 'wiat')).status, 0);
});

test('it is small, runs nothing when it is installed, and has the version', (t) => {
    assert.equal(manifest.scripts, undefined);
    assert.equal(manifest.dependencies, undefined);
    assert.equal(manifest.private, false);
    const header = readFileSync(path.join(source, 'include/holdfast.h'), 'utf8');
    assert.equal(manifest.version, /HF_VERSION\s+"(.*?)"/.exec(header)[1]);
    const npm = spawnSync('npm', ['pack', '--dry-run', '--json', '--offline'],
                          {cwd: folder, encoding: 'utf8'});
    if (npm.error)
        return skip(t, 'npm is not installed');
    assert.equal(npm.status, 0, npm.stderr);
    const packed = JSON.parse(npm.stdout)[0].files.map((file) => file.path).sort();
    assert.deepEqual(packed, ['README.md', 'index.d.ts', 'index.js', 'lib/client.js',
                              'lib/duration.js', 'lib/errors.js', 'lib/events.js', 'lib/http.js',
                              'lib/lock.js', 'package.json']);
});
