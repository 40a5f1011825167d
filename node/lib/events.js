// SPDX-License-Identifier: MIT
//
// Server-sent events, on and on: after an interruption behind the last one.
'use strict';

const {setTimeout: pause} = require('node:timers/promises');

const {parse} = require('./http.js');

// The events of one connection: {id, type, data}, and {retry}.
async function* received(response) {
    let rest = '';
    let event = {};
    response.setEncoding('utf8');
    for await (const part of response) {
        const lines = (rest + part).split('\n');
        rest = lines.pop();
        for (const line of lines) {
            if (line === '') {
                yield event;
                event = {};
                continue;
            }
            const [, field, value] = /^([a-z]*): ?(.*)$/.exec(line) || [];
            if (field)
                event[field] = value;
        }
    }
}

// What happens in the store from now on, or behind the event `after`.  Ends
// when `signal` is aborted, or whoever reads leaves the loop.  Throws if it
// cannot begin, or is refused later.
async function* events(connection, {after, signal} = {}) {
    const stop = new AbortController();
    const abort = () => stop.abort(signal.reason);
    signal?.addEventListener('abort', abort, {once: true});
    let last = after;
    let retry = 2000;
    let begun = false;
    try {
        while (!signal?.aborted) {
            try {
                for await (const told of await once(connection, last, stop.signal)) {
                    begun = true;
                    retry = Number(told.retry) || retry;
                    last = told.id === undefined ? last : told.id;
                    if (told.data !== undefined)
                        yield told.event === 'missed' ? {event: 'missed'} : parse(told.data);
                }
            } catch (error) {
                if (!signal?.aborted && (!begun || error.status < 500))
                    throw error;
            }
            if (!signal?.aborted)
                await pause(retry, undefined, {signal: stop.signal}).catch(() => {});
        }
    } finally {
        signal?.removeEventListener('abort', abort);
        stop.abort();
    }
}

async function once(connection, last, signal) {
    const response = await connection.open('GET', '/api/v1/events', {
        signal,
        headers: {
            Accept: 'text/event-stream',
            ...(last === undefined ? {} : {'Last-Event-ID': String(last)}),
        },
    });
    if (response.statusCode >= 400)
        throw await connection.problem(response);
    return received(response);
}

module.exports = {events};
