// SPDX-License-Identifier: MIT
//
// Requests to the server, and its answers.
//
// Fences and tokens of the library may be larger than what a number of
// JavaScript keeps exactly: they become BigInt, always, so that nobody is
// surprised late.
'use strict';

const http = require('node:http');
const https = require('node:https');

const {HoldfastError} = require('./errors.js');

// A quote inside of a text is escaped, so this finds names of members only.
function parse(text) {
    const marked = text.replace(/"(fence|token|void)":(\d+)/g, '"$1":{"":"$2"}');
    return JSON.parse(marked, (key, value) =>
        value !== null && typeof value === 'object' && typeof value[''] === 'string' &&
        Object.keys(value).length === 1 ? BigInt(value['']) : value);
}

// unix:PATH, http://HOST:PORT, https://…: what http.request wants of it.
function target(address) {
    if (address.startsWith('unix:'))
        return {module: http, options: {socketPath: address.slice('unix:'.length)}};
    let url;
    try {
        url = new URL(address);
    } catch {
        url = {};
    }
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
        throw new HoldfastError('URI', `${address} is no address of holdfast serve: ` +
                                'unix:PATH, http://HOST:PORT or https://HOST:PORT');
    return {
        module: url.protocol === 'https:' ? https : http,
        options: {host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port || undefined},
    };
}

class Connection {
    constructor({address, token, tls}) {
        const {module, options} = target(address);
        this.address = address;
        this.module = module;
        this.options = {...options, ...tls};
        this.headers = {'X-Holdfast': '1'};
        if (options.socketPath)
            this.headers.Host = 'localhost';
        if (token)
            this.headers.Authorization = `Bearer ${token}`;
    }

    // The answer, whatever its status, when its head is there; it goes on as a
    // stream.  A connection for each: one that is used again may be closed by
    // the server at that moment, and nobody would know what became of the
    // request.  `signal` ends it; with `early` only while there is no answer.
    open(method, path, {body, headers, signal, early} = {}) {
        const text = body === undefined ? undefined : JSON.stringify(body);
        const request = this.module.request({
            ...this.options,
            method,
            path,
            agent: false,
            headers: {
                ...this.headers,
                ...headers,
                ...(text === undefined ? {} : {
                    'Content-Type': 'application/json',
                    'Content-Length': Buffer.byteLength(text),
                }),
            },
        });
        const abort = () => request.destroy(signal.reason);
        let sent = false;
        if (signal?.aborted)
            abort();
        signal?.addEventListener('abort', abort, {once: true});
        request.on('close', () => signal?.removeEventListener('abort', abort));
        request.on('socket', (socket) => socket.once('connect', () => { sent = true; }));
        return new Promise((resolve, reject) => {
            request.on('response', (response) => {
                if (early)
                    signal?.removeEventListener('abort', abort);
                resolve(response);
            });
            request.on('error', (cause) => reject(
                signal?.aborted ? signal.reason : this.trouble(cause, sent)));
            request.end(text);
        });
    }

    trouble(cause, sent) {
        if (sent)
            return new HoldfastError('DOUBT', `${this.address} hung up before it answered: if ` +
                                     'something was granted, it is given back', {cause});
        return new HoldfastError('DOWN', `there is no holdfast serve at ${this.address} ` +
                                 `(${cause.code || cause.message}): start one there by ` +
                                 '"holdfast serve --listen …"', {cause});
    }

    // An answer's text, all of it.
    async text(response) {
        const parts = [];
        try {
            for await (const part of response)
                parts.push(part);
        } catch (cause) {
            throw this.trouble(cause, true);
        }
        return Buffer.concat(parts).toString();
    }

    // The error that a problem+json tells of.
    async problem(response) {
        const text = await this.text(response);
        let told = {};
        try {
            told = parse(text);
        } catch {
            // not one of the server's: a proxy's, perhaps
        }
        const error = new HoldfastError(
            told.code || 'STORE', told.detail || told.title || text || `status ${response.statusCode}`,
            {status: response.statusCode, lock: told.name});
        const pause = Number(response.headers['retry-after']);
        if (pause)
            error.retryAfter = pause;
        return error;
    }

    // What is answered, as an object; undefined if that is nothing.
    async ask(method, path, options) {
        const response = await this.open(method, path, options);
        if (response.statusCode >= 400)
            throw await this.problem(response);
        const text = await this.text(response);
        return text ? parse(text) : undefined;
    }
}

module.exports = {Connection, parse};
