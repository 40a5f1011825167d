// SPDX-License-Identifier: MIT
//
// redlock.js PORT,PORT,… COMMAND - Node's redlock on those servers, or on one,
// for the tests that share a lock with it.
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

const [ports, command, name, ...rest] = process.argv.slice(2);
const clients = ports.split(",").map(
    (port) => new Redis(Number(port), { maxRetriesPerRequest: 1 }));
const patient = new Redlock(clients,
    { retryCount: -1, retryDelay: 10, retryJitter: 10 });
const hasty = new Redlock(clients, { retryCount: 0 });

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

// One that is away is complained of by every command.
clients.forEach((client) => client.on("error", () => {}));

// What is still under way, such as the undoing of a lock that was not had, is
// waited for: to break it off would count as an error of this program.
commands[command]().then(async () => {
    await Promise.allSettled(clients.map((client) => client.quit()));
    clients.forEach((client) => client.disconnect());
});
