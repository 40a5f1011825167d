// SPDX-License-Identifier: MIT
//
// picture.js FILE - makes docs/console.png anew: `make picture`.
//
// What is seen there is real: a private Redis, and processes that hold, wait,
// sleep and block each other.
'use strict';

const {Stage, row, says} = require('./stage');

const file = process.argv[2];

// on(HOST, NAME, OPTION…): held there, as others see it.
function on(s, host, ...words) {
    s.environment.HOLDFAST_HOST = host;
    return s.run(...words);
}

async function waits(page, name, n) {
    await says(row(page, name).locator('td').nth(4), String(n));
}

async function scene(s, page) {
    on(s, 'db1', 'nightly-backup', '--why', 'full dump of the orders database');
    on(s, 'web2', 'orders:eu-west:reindex', '--why', 'new analyser');
    on(s, 'db2', 'invoices/2026-11', '--fair', '--why', 'close of the month');
    on(s, 'batch1', 'api-quota', '--limit', '3', '--why', 'rates of today');
    const asleep = on(s, 'batch3', 'search-index', '--lease', '20s',
                      '--why', 'merge of the segments');
    for (const name of ['nightly-backup', 'orders:eu-west:reindex',
                        'invoices/2026-11', 'api-quota', 'search-index'])
        await says(row(page, name), 'held');
    on(s, 'batch2', 'api-quota', '--limit', '3');
    on(s, 'web1', 'nightly-backup', '--wait', '10m');
    on(s, 'web2', 'nightly-backup', '--wait', '10m');
    on(s, 'web3', 'invoices/2026-11', '--fair', '--wait', '10m');
    const names = ['stock', 'ledger'];
    for (const [i, as] of ['host=shop1 why=inventory',
                           'host=shop2 why=booking'].entries()) {
        const peer = s.peer();
        await peer.ask(`open ${s.store} ${as}`);
        await peer.ask(`lock 0 ${names[i]}`);
        await peer.ask(`lock 1 ${names[1 - i]}`);
        await peer.ask('acquire 0 60000');
        peer.second = () => peer.tell('acquire 1 600000');
        names.push(peer);
    }
    names[2].second();
    names[3].second();
    await waits(page, 'nightly-backup', 2);
    await waits(page, 'invoices/2026-11', 1);
    await says(row(page, 'stock'), 'deadlock');
    await says(row(page, 'api-quota'), 'and 1 more');
    asleep.kill('SIGSTOP');
    await says(row(page, 'search-index'), 'renewing late');
}

(async () => {
    const ends = [];
    const s = new Stage({after: (end) => ends.push(end)});
    try {
        await s.redis();
        await s.serve();
        const page = await s.open({viewport: {width: 1200, height: 600},
                                   colorScheme: 'light'});
        await scene(s, page);
        await page.evaluate(() => document.activeElement.blur());
        await page.screenshot({path: file, fullPage: true});
    } finally {
        for (const end of ends)
            await end();
    }
})();
