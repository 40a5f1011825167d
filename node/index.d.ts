// SPDX-License-Identifier: MIT
//
// With TypeScript 5.2 or newer, whose libraries know AsyncDisposable.
/// <reference types="node" />
/// <reference lib="esnext.disposable" />
import {EventEmitter} from 'node:events';
import {SecureContextOptions} from 'node:tls';

/** Seconds, or a text: '1500ms', '30s', '5m', '2h', '1d'. */
export type Duration = number | string;

export type Code =
    | 'BUSY' | 'TIMEOUT' | 'CANCELLED' | 'DOWN' | 'STARTING' | 'READ_ONLY' | 'FULL' | 'CROWDED'
    | 'AUTH' | 'FORBIDDEN' | 'TLS' | 'STORE' | 'NO_MEMORY' | 'SYSTEM' | 'REPLICAS' | 'MINORITY'
    | 'DEADLOCK' | 'DOUBT' | 'LOST' | 'NOT_OWNER' | 'FREE' | 'USAGE' | 'NAME' | 'URI'
    | 'NO_STORE' | 'CANNOT' | 'FORKED';

export class HoldfastError extends Error {
    readonly code: Code;
    /** Certainly without effect; done or not; held no more; the program must change. */
    readonly certainty: 'not-done' | 'doubt' | 'not-held' | 'misuse';
    /** Of HTTP, if that said so. */
    readonly status?: number;
    /** The name of the lock. */
    readonly lock?: string;
}

export interface LockOptions {
    /** How long to wait at most; 0 only tries. Default: for ever. */
    wait?: Duration | null;
    /** The lease. Default: the server's. */
    ttl?: Duration;
    mode?: 'lock' | 'fair' | 'read' | 'write' | 'permit' | 'simple';
    /** How many, with mode 'permit'. */
    permits?: number;
    /** Held while this process is connected, or for `ttl` and renewed from here. */
    by?: 'connection' | 'token';
    /** Ends the wait. */
    signal?: AbortSignal;
}

/** What the server says of it now and then. */
export interface Word {
    event: 'held' | 'doubt';
    name: string;
    fence: bigint;
    ttl: number;
    left: number;
    expires: string;
}

/** A lock that is held; it tells 'lost' once, and 'held' and 'doubt' in between. */
export class Lock extends EventEmitter implements AsyncDisposable {
    private constructor();
    readonly name: string;
    /** Grows with every grant: give it to what you change. */
    readonly fence: bigint;
    /** In seconds. */
    readonly ttl: number;
    /** Aborted when it is lost, with the error as its reason. */
    readonly signal: AbortSignal;
    readonly held: boolean;
    readonly lost: boolean;
    /** Of its time, in seconds. */
    readonly remaining: number;
    /** With by: 'token', what may renew and release it elsewhere. */
    readonly token?: string;
    /** Throws unless it is held. */
    check(): void;
    /** Rejects with LOST if it was lost before. */
    release(): Promise<void>;
    /** With by: 'token', sets its time anew. */
    renew?(ttl?: Duration): Promise<void>;
    on(event: 'lost', listener: (error: HoldfastError) => void): this;
    on(event: 'held' | 'doubt', listener: (word: Word | Error) => void): this;
    [Symbol.asyncDispose](): Promise<void>;
}

export interface Claim {
    kind: string;
    owner: string;
    foreign: boolean;
    user: string | null;
    host: string | null;
    pid: number | null;
    program: string | null;
    why: string | null;
    since: string | null;
    seconds: number | null;
    permits?: number;
    lease: number | null;
    token: bigint | null;
}

export interface LockState {
    name: string;
    kind: string | null;
    state: 'free' | 'held' | 'renewing late' | 'lost';
    count: number | null;
    holder: Claim | null;
    holders: Claim[];
    waiters: Claim[];
    lost?: Claim[];
    stuck?: boolean;
}

export interface Filter {
    prefix?: string;
    /** Any part of the name. */
    q?: string;
    host?: string;
    state?: 'busy' | 'held' | 'waited' | 'late' | 'lost' | 'free';
    sort?: 'name' | 'held' | 'lease' | 'waiters';
    limit?: number;
    signal?: AbortSignal;
}

export interface StoreEvent {
    event: 'granted' | 'released' | 'lost' | 'expired' | 'stolen' | 'waits' | 'gave-up'
        | 'deadlock' | 'store-down' | 'store-up' | 'missed';
    id?: number;
    at?: string;
    name?: string | null;
    kind?: string | null;
    owner?: string | null;
    user?: string | null;
    host?: string | null;
    pid?: number | null;
    why?: string | null;
    token?: bigint | null;
    text?: string | null;
}

interface Interruptible {
    signal?: AbortSignal;
}

export interface ClientOptions {
    /** unix:PATH, http://HOST:PORT or https://HOST:PORT. Default: HOLDFAST_SERVER. */
    address?: string;
    /** Where the server wants one. */
    token?: string;
    tls?: SecureContextOptions & {rejectUnauthorized?: boolean; servername?: string};
}

export class Client {
    constructor(options?: ClientOptions);
    readonly address: string;
    lock(name: string, options?: LockOptions): Promise<Lock>;
    /** null if somebody else has it. */
    tryLock(name: string, options?: LockOptions): Promise<Lock | null>;
    withLock<T>(name: string, fn: (lock: Lock) => T | Promise<T>): Promise<T>;
    withLock<T>(name: string, options: LockOptions,
                fn: (lock: Lock) => T | Promise<T>): Promise<T>;
    list(filter?: Filter): Promise<LockState[]>;
    /** null if nothing is known of it. */
    get(name: string, options?: Interruptible): Promise<LockState | null>;
    leader(name: string, options?: Interruptible & {candidate?: string}): Promise<boolean>;
    events(options?: Interruptible & {after?: number}): AsyncGenerator<StoreEvent, void, void>;
    deadlocks(options?: Interruptible): Promise<unknown>;
    clients(options?: Interruptible): Promise<unknown>;
    store(options?: Interruptible): Promise<unknown>;
    version(options?: Interruptible): Promise<unknown>;
    steal(name: string, options?: Interruptible & {owner?: string}): Promise<unknown>;
}
