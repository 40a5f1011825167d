// SPDX-License-Identifier: MIT
//
// Locks that many processes on many machines share: a client of
// `holdfast serve`, which runs on the same host.
'use strict';

const {Client} = require('./lib/client.js');
const {HoldfastError} = require('./lib/errors.js');
const {Lock} = require('./lib/lock.js');

module.exports = {Client, HoldfastError, Lock};
