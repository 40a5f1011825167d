// SPDX-License-Identifier: MIT
//
// Durations: seconds, or texts as the command has them.
'use strict';

const {HoldfastError} = require('./errors.js');

const UNITS = {ms: 1, s: 1000, m: 60e3, h: 3600e3, d: 86400e3};

// In milliseconds; nothing, null and Infinity are Infinity.
function milliseconds(duration, what) {
    if (duration === undefined || duration === null || duration === Infinity)
        return Infinity;
    if (typeof duration === 'number' && duration >= 0)
        return duration * 1000;
    const found = /^(\d+)(ms|s|m|h|d)$/.exec(duration);
    if (typeof duration !== 'string' || !found)
        throw new HoldfastError('USAGE', `${what} ${duration} is not a duration: give seconds, ` +
                                "or a text as '1500ms', '30s', '5m', '2h', '1d'");
    return Number(found[1]) * UNITS[found[2]];
}

// As the server reads it: whole milliseconds, rounded up.
function written(ms) {
    return `${Math.ceil(ms)}ms`;
}

module.exports = {milliseconds, written};
