// SPDX-License-Identifier: MIT
//
// redlock.js PORT COMMAND - Node's redlock on one server, for the tests that
// share a lock with it.
//
//   hold NAME             takes it, says "held", releases when its input ends
//   late NAME MS          the same, but for MS only, and releases all the same;
//                         says then whether there was something to release
//   try NAME MS           takes it for MS and ends, or says "busy"
//   add NAME FILE TIMES   TIMES times takes it and adds one to the number in
//                         FILE, in two steps that only the lock keeps together
"use strict";
const fs = require("fs");
const Redis = require("ioredis");
const Redlock = require("redlock");

const [port, command, name, ...rest] = process.argv.slice(2);
const client = new Redis(Number(port));
const patient = new Redlock([client],
    { retryCount: -1, retryDelay: 10, retryJitter: 10 });
const hasty = new Redlock([client], { retryCount: 0 });

function endOfInput() {
    return new Promise((resolve) => process.stdin.resume().on("end", resolve));
}

const commands = {
    async hold() {
        const lock = await patient.lock(name, 120000);
        console.log("held");
        await endOfInput();
        await lock.unlock();
    },
    async late() {
        const lock = await patient.lock(name, Number(rest[0]));
        console.log("held");
        await endOfInput();
        await lock.unlock().then(() => console.log("released"),
            () => console.log("too late"));
    },
    async try() {
        await hasty.lock(name, Number(rest[0])).then(
            () => console.log("held"), () => console.log("busy"));
    },
    async add() {
        const [file, times] = rest;
        for (let i = 0; i < Number(times); i++) {
            const lock = await patient.lock(name, 120000);
            const number = Number(fs.readFileSync(file));
            fs.writeFileSync(file, String(number + 1));
            await lock.unlock();
        }
    },
};

commands[command]().then(() => client.quit());
