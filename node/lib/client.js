// SPDX-License-Identifier: MIT
//
// The client of a server, `holdfast serve`, on this host.
'use strict';

const {setTimeout: pause} = require('node:timers/promises');

const {milliseconds, written} = require('./duration.js');
const {HoldfastError} = require('./errors.js');
const {events} = require('./events.js');
const {Connection} = require('./http.js');
const {HeldByConnection, HeldByToken} = require('./lock.js');

const LONGEST_WAIT_MS = 3600e3; // the server's
const SHORTEST_HOLD_MS = 3000;  // it speaks once a second at most

const KNOWN = new Set(['wait', 'ttl', 'mode', 'permits', 'by', 'signal']);

function pathOf(name) {
    return `/api/v1/locks/${encodeURIComponent(name)}`;
}

function query(values) {
    const given = Object.entries(values).filter(([, value]) => value !== undefined);
    return given.length ? `?${new URLSearchParams(given)}` : '';
}

class Client {
    #connection;

    // address  unix:PATH, http://HOST:PORT; HOLDFAST_SERVER, or else the port
    //          on which the server listens if it is told nothing
    // token    where the server wants one (--token-file)
    // tls      for https://, as node:tls has it: {ca: …}
    constructor({address, token, tls} = {}) {
        this.address = address || process.env.HOLDFAST_SERVER || 'http://127.0.0.1:8765';
        this.#connection = new Connection({address: this.address, token, tls});
    }

    // ---- taking --------------------------------------------------------------

    // Takes a lock.
    //
    // wait     how long at most: seconds, or '5s'; 0 only tries.  Default: for
    //          ever
    // ttl      the lease; default: the server's
    // mode     lock, fair, read, write, permit, simple;  permits: how many
    // by       'connection': held while this process lives and is connected;
    //          'token': held for `ttl`, and renewed from here
    // signal   an AbortSignal that ends the wait
    async lock(name, options = {}) {
        for (const key of Object.keys(options))
            if (!KNOWN.has(key))
                throw new HoldfastError('USAGE', `there is no option ${key}`);
        const ms = milliseconds(options.wait, 'a wait of');
        const by = performance.now() + ms;
        for (;;) {
            options.signal?.throwIfAborted();
            const left = ms === 0 ? 0 : Math.max(1, by - performance.now());
            try {
                return await this.#take(name, options, Math.min(left, LONGEST_WAIT_MS));
            } catch (error) {
                const again = left - (error.retryAfter || 0) * 1000 > 0 && ms > 0;
                if (error.code === 'CROWDED' && again)
                    await pause(error.retryAfter * 1000, undefined, {signal: options.signal});
                else if (error.code !== 'TIMEOUT' || left <= LONGEST_WAIT_MS)
                    throw error;
            }
        }
    }

    async #take(name, {ttl, mode, permits, by = 'connection', signal}, waitMs) {
        if (by !== 'connection' && by !== 'token')
            throw new HoldfastError('USAGE', `by ${by}: it is 'connection' or 'token'`);
        const ttlMs = ttl === undefined ? undefined : milliseconds(ttl, 'a ttl of');
        if (by === 'connection' && ttlMs < SHORTEST_HOLD_MS)
            throw new HoldfastError('USAGE', `a ttl of ${ttl}: by a connection it is 3 s at least`);
        const body = {
            wait: written(waitMs),
            ...(ttlMs === undefined ? {} : {ttl: written(ttlMs)}),
            ...(mode === undefined ? {} : {mode}),
            ...(permits === undefined ? {} : {permits}),
        };
        const path = pathOf(name);
        const verb = by === 'token' ? 'acquire' : 'hold';
        const response = await this.#connection.open('POST', `${path}/${verb}`,
                                                     {body, signal, early: true});
        if (response.statusCode >= 400)
            throw await this.#connection.problem(response);
        return by === 'token' ?
            HeldByToken.begin(name, response, this.#connection, path) :
            HeldByConnection.begin(name, response);
    }

    // The same, but null if somebody else has it.
    async tryLock(name, options = {}) {
        try {
            return await this.lock(name, {...options, wait: 0});
        } catch (error) {
            if (error.code === 'BUSY')
                return null;
            throw error;
        }
    }

    // Runs fn(lock) under it, and releases it.  Rejects with LOST if it was lost
    // meanwhile, unless fn itself failed.
    async withLock(name, options, fn) {
        if (typeof options === 'function')
            [options, fn] = [{}, options];
        const lock = await this.lock(name, options);
        let result;
        try {
            result = await fn(lock);
        } catch (error) {
            await lock._dispose().catch(() => {});
            throw error;
        }
        await lock._dispose();
        return result;
    }

    // ---- looking -------------------------------------------------------------

    #get(path, signal) {
        return this.#connection.ask('GET', path, {signal});
    }

    // Every lock that fits: prefix, q (any part), host, state, sort, limit (of
    // a page; all pages are read).
    async list({signal, ...filter} = {}) {
        const found = [];
        let cursor;
        do {
            const page = await this.#get(`/api/v1/locks${query({...filter, cursor})}`, signal);
            found.push(...page.locks);
            cursor = page.next === null ? undefined : page.next;
        } while (cursor !== undefined);
        return found;
    }

    // One of them, or null if nothing is known of it.
    async get(name, {signal} = {}) {
        try {
            return await this.#get(pathOf(name), signal);
        } catch (error) {
            if (error.code === 'FREE')
                return null;
            throw error;
        }
    }

    // Whether the candidate (a host, HOST:PID, …; default: the server's host)
    // holds the lock; false as well when that is not known.
    async leader(name, {candidate, signal} = {}) {
        const path = `/leader/${encodeURIComponent(name)}${query({candidate})}`;
        const response = await this.#connection.open('GET', path, {signal});
        if (response.statusCode !== 200 && response.statusCode !== 503)
            throw await this.#connection.problem(response);
        response.resume();
        return response.statusCode === 200;
    }

    // What happens from now on, or behind the event `after`: for await (…).
    events(options) {
        return events(this.#connection, options);
    }

    deadlocks({signal} = {}) {
        return this.#get('/api/v1/deadlocks', signal);
    }

    clients({signal} = {}) {
        return this.#get('/api/v1/clients', signal);
    }

    store({signal} = {}) {
        return this.#get('/api/v1/store', signal);
    }

    version({signal} = {}) {
        return this.#get('/version', signal);
    }

    // Takes a lock away from who holds it, where the server allows actions.
    steal(name, {owner, signal} = {}) {
        return this.#connection.ask('POST', `${pathOf(name)}/steal`, {
            body: {confirm: name, ...(owner === undefined ? {} : {owner})},
            signal,
        });
    }
}

module.exports = {Client};
