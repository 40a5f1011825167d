// SPDX-License-Identifier: MIT
//
// What can go wrong, and how sure it is.  The codes are the library's.
'use strict';

const SURE = {
    'not-done': ['BUSY', 'TIMEOUT', 'CANCELLED', 'DOWN', 'STARTING', 'READ_ONLY', 'FULL',
                 'CROWDED', 'AUTH', 'FORBIDDEN', 'TLS', 'STORE', 'NO_MEMORY', 'SYSTEM',
                 'REPLICAS', 'MINORITY', 'DEADLOCK'],
    'doubt': ['DOUBT'],
    'not-held': ['LOST', 'NOT_OWNER', 'FREE'],
    'misuse': ['USAGE', 'NAME', 'URI', 'NO_STORE', 'CANNOT', 'FORKED'],
};

const certainties = new Map();
for (const [certainty, codes] of Object.entries(SURE))
    for (const code of codes)
        certainties.set(code, certainty);

class HoldfastError extends Error {
    constructor(code, text, more = {}) {
        super(text, more.cause ? {cause: more.cause} : undefined);
        this.name = 'HoldfastError';
        this.code = code;
        this.certainty = certainties.get(code) || 'doubt';
        this.status = more.status;      // of HTTP, if that said so
        this.lock = more.lock;          // its name
    }
}

module.exports = {HoldfastError};
