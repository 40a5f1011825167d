// SPDX-License-Identifier: MIT
//
// A lock that is held: by a connection that lives, or by a token that is
// renewed.
//
// Either way it is ours until a moment that we know by our own clock, and each
// word of the server moves that moment.  When it passes, or the server says so,
// the lock is lost: `signal` is aborted and 'lost' is emitted, once.
'use strict';

const {EventEmitter} = require('node:events');

const {milliseconds, written} = require('./duration.js');
const {HoldfastError} = require('./errors.js');
const {parse} = require('./http.js');

const LONGEST_TIMER_MS = 2 ** 31 - 1;
const HANG_UP_MS = 2000;

class Lock extends EventEmitter {
    #controller = new AbortController();
    #until = 0;         // by performance.now()
    #expires = 0;       // by Date.now(), which a program that slept finds right
    #timer;
    #over = false;      // released, or lost

    constructor(name, answer) {
        super();
        this.name = name;
        this.fence = answer.fence;
        this.ttl = answer.ttl;
    }

    // Aborted when it is lost, with the error as its reason.
    get signal() {
        return this.#controller.signal;
    }

    get lost() {
        return this.#controller.signal.aborted;
    }

    // Whether it is ours now, by our own clock.
    get held() {
        return !this.#over && this.remaining > 0;
    }

    // Of its time, in seconds.
    get remaining() {
        if (this.#over)
            return 0;
        const ms = Math.min(this.#until - performance.now(), this.#expires - Date.now());
        return Math.max(0, ms / 1000);
    }

    // Throws unless it is held.
    check() {
        if (this.lost)
            throw this.signal.reason;
        if (!this.held)
            throw this._error(this.#over ? 'NOT_OWNER' : 'LOST', 'it is not held any more');
    }

    _error(code, text, cause) {
        return new HoldfastError(code, `${this.name}: ${text}`, {lock: this.name, cause});
    }

    // It is ours for so long from that moment on.
    _extend(from, answer) {
        this.ttl = answer.ttl;
        this.#until = from + answer.left * 1000;
        this.#expires = Date.parse(answer.expires);
        this._watch();
    }

    _watch() {
        clearTimeout(this.#timer);
        const ms = Math.max(0, this.remaining * 1000);
        this.#timer = setTimeout(() => {
            if (this.remaining > 0)
                this._watch();
            else
                this._lose('its time is over and nobody renewed it');
        }, Math.min(ms, LONGEST_TIMER_MS));
    }

    _lose(text, cause) {
        if (this.#over)
            return;
        this._end();
        const error = this._error('LOST', text, cause);
        this.#controller.abort(error);
        this.emit('lost', error);
    }

    // It is over, the one way or the other; false if it was before.
    _end() {
        if (this.#over)
            return false;
        this.#over = true;
        clearTimeout(this.#timer);
        return true;
    }

    // Gives it back.  Rejects with LOST if it was lost before.
    async release() {
        if (this.lost)
            throw this.signal.reason;
        if (!this._end())
            throw this._error('NOT_OWNER', 'it was released before');
        await this._giveBack();
    }

    // What `await using` calls: at the end, unless it was released before.
    async _dispose() {
        if (this.lost || !this.#over)
            await this.release();
    }
}

if (Symbol.asyncDispose)
    Lock.prototype[Symbol.asyncDispose] = Lock.prototype._dispose;

// Held as long as we listen: a line of JSON for everything that happens.
class HeldByConnection extends Lock {
    #response;

    static async begin(name, response) {
        const lines = linesOf(response);
        const first = await lines.next().catch((cause) => ({done: true, cause}));
        if (first.done)
            throw new HoldfastError('DOUBT', `${name}: the server hung up: it is given back`,
                                    {lock: name, cause: first.cause});
        const lock = new HeldByConnection(name, first.value);
        lock.#response = response;
        lock._extend(performance.now(), first.value);
        lock.#listen(lines);
        return lock;
    }

    async #listen(lines) {
        try {
            for await (const line of lines) {
                if (line.event === 'lost') {
                    this._lose('its lease ended, or somebody took it away');
                    break;
                }
                this._extend(performance.now(), line);
                this.emit(line.event, line);
            }
        } catch (cause) {
            this._lose('the connection to the server ended', cause);
        }
        this._lose('the connection to the server ended');
        this.#response.destroy();
    }

    // By hanging up.  The server closes its side when it has noticed.
    async _giveBack() {
        const {socket} = this.#response;
        if (socket.destroyed)
            return;
        await new Promise((resolve) => {
            const timer = setTimeout(resolve, HANG_UP_MS);
            socket.once('close', () => {
                clearTimeout(timer);
                resolve();
            });
            socket.end();
            this.#response.resume();
        });
        socket.destroy();
    }
}

async function* linesOf(response) {
    let rest = '';
    response.setEncoding('utf8');
    for await (const part of response) {
        const lines = (rest + part).split('\n');
        rest = lines.pop();
        for (const line of lines)
            yield parse(line);
    }
}

// Held by a token: for its time, and longer while we renew it.
class HeldByToken extends Lock {
    #connection;
    #path;
    #token;
    #renewal;

    static async begin(name, response, connection, path) {
        const answer = parse(await connection.text(response));
        const lock = new HeldByToken(name, answer);
        lock.#connection = connection;
        lock.#path = path;
        lock.#token = answer.token;
        lock._extend(performance.now(), answer);
        lock.#plan(lock.ttl * 1000 / 3);
        return lock;
    }

    // What may be given to another process: it can renew and release.
    get token() {
        return this.#token;
    }

    #plan(ms) {
        this.#renewal = setTimeout(() => this.#renew(), Math.min(ms, LONGEST_TIMER_MS));
    }

    async #renew() {
        try {
            await this.renew();
            this.#plan(this.ttl * 1000 / 3);
        } catch (error) {
            if (this.held) { // not the last word
                this.emit('doubt', error);
                this.#plan(Math.min(1000, this.ttl * 1000 / 10));
            }
        }
    }

    // Sets its time anew, to `ttl` or what it was.
    async renew(ttl) {
        this.check();
        const from = performance.now();
        try {
            const answer = await this.#connection.ask('POST', `${this.#path}/renew`, {
                body: {
                    token: this.#token,
                    ...(ttl === undefined ? {} :
                        {ttl: written(milliseconds(ttl, 'a ttl of'))}),
                },
                signal: AbortSignal.timeout(Math.max(1, Math.ceil(this.remaining * 1000))),
            });
            if (this.held)
                this._extend(from, answer);
        } catch (error) {
            if (error.code === 'LOST' || error.code === 'NOT_OWNER')
                this._lose('its time was over, or somebody took it away', error);
            throw error;
        }
    }

    _end() {
        clearTimeout(this.#renewal);
        return super._end();
    }

    async _giveBack() {
        await this.#connection.ask('DELETE', `${this.#path}?token=${this.#token}`);
    }
}

module.exports = {Lock, HeldByConnection, HeldByToken};
