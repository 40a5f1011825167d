/* SPDX-License-Identifier: MIT
 *
 * scripts.h - the scripts in lua/, by number.
 *
 * They are loaded when a connection opens and called by their hash from then
 * on; a server that lost them is sent the text once more. */
#ifndef HF_REDIS_SCRIPTS_H
#define HF_REDIS_SCRIPTS_H

#include "../../../include/holdfast.h"

/* A number, a kind's verb, the constant made of its file. */
#define HF_SCRIPTS(X)                                                          \
    X(LOCK_ATTEMPT, hf_lock_attempt_lua)                                       \
    X(LOCK_ALONE, hf_lock_alone_lua)                                           \
    X(LOCK_RELEASE, hf_lock_release_lua)                                       \
    X(LOCK_AFTER, hf_lock_after_lua)                                           \
    X(LOCK_FORCE, hf_lock_force_lua)                                           \
    X(LOCK_RENEW, hf_lock_renew_lua)                                           \
    X(SIMPLE_ATTEMPT, hf_simple_attempt_lua)                                   \
    X(SIMPLE_ALONE, hf_simple_alone_lua)                                       \
    X(TOKEN_RAISE, hf_token_raise_lua)                                         \
    X(SIMPLE_RELEASE, hf_simple_release_lua)                                   \
    X(SIMPLE_AFTER, hf_simple_after_lua)                                       \
    X(SIMPLE_FORCE, hf_simple_force_lua)                                       \
    X(SIMPLE_RENEW, hf_simple_renew_lua)                                       \
    X(SPIN_RELEASE, hf_spin_release_lua)                                       \
    X(FAIR_ATTEMPT, hf_fair_attempt_lua)                                       \
    X(FAIR_RELEASE, hf_fair_release_lua)                                       \
    X(FAIR_AFTER, hf_fair_after_lua)                                           \
    X(FAIR_FORCE, hf_fair_force_lua)                                           \
    X(FAIR_RENEW, hf_fair_renew_lua)                                           \
    X(READ_ATTEMPT, hf_read_attempt_lua)                                       \
    X(READ_RELEASE, hf_read_release_lua)                                       \
    X(READ_FORCE, hf_read_force_lua)                                           \
    X(READ_RENEW, hf_read_renew_lua)                                           \
    X(WRITE_ATTEMPT, hf_write_attempt_lua)                                     \
    X(WRITE_RELEASE, hf_write_release_lua)                                     \
    X(WRITE_AFTER, hf_write_after_lua)                                         \
    X(WRITE_FORCE, hf_write_force_lua)                                         \
    X(WRITE_RENEW, hf_write_renew_lua)                                         \
    X(PERMIT_ATTEMPT, hf_permit_attempt_lua)                                   \
    X(PERMIT_RELEASE, hf_permit_release_lua)                                   \
    X(PERMIT_FORCE, hf_permit_force_lua)                                       \
    X(PERMIT_RENEW, hf_permit_renew_lua)                                       \
    X(SEM_ATTEMPT, hf_sem_attempt_lua)                                         \
    X(SEM_RELEASE, hf_sem_release_lua)                                         \
    X(SEM_COUNT, hf_sem_count_lua)                                             \
    X(SEM_ADD, hf_sem_add_lua)                                                 \
    X(SEM_RESIZE, hf_sem_resize_lua)                                           \
    X(SEM_DRAIN, hf_sem_drain_lua)                                             \
    X(LATCH_COUNT, hf_latch_count_lua)                                         \
    X(LATCH_DOWN, hf_latch_down_lua)                                           \
    X(COUNT_SET, hf_count_set_lua)                                             \
    X(COUNT_DELETE, hf_count_delete_lua)                                       \
    X(REDLOCK_ATTEMPT, hf_redlock_attempt_lua)                                 \
    X(REDLOCK_CONFIRM, hf_redlock_confirm_lua)                                 \
    X(REDLOCK_SIMPLE_ATTEMPT, hf_redlock_simple_attempt_lua)                   \
    X(REDLOCK_SIMPLE_CONFIRM, hf_redlock_simple_confirm_lua)                   \
    X(ANNOUNCE, hf_announce_lua)                                               \
    X(TAKE_LEAVE, hf_take_leave_lua)                                           \
    X(CLIENTS, hf_clients_lua)                                                 \
    X(SCAN, hf_scan_lua)                                                       \
    X(LIST, hf_list_lua)

typedef enum hf_script {
#define HF_X(name, text) HF_SCRIPT_##name,
    HF_SCRIPTS(HF_X)
#undef HF_X
        HF_N_SCRIPTS
} hf_script;

/* How the scripts of a client behave. */
typedef struct hf_manner {
    bool sharded;   /* messages stay in the shard: SPUBLISH              */
    int lock_delay; /* ms in which a new master grants nothing; 0: none  */
} hf_manner;

/* The scripts as a client runs them, and the hashes under which Redis knows
 * them. */
typedef struct hf_scripts {
    char *text[HF_N_SCRIPTS];
    char hash[HF_N_SCRIPTS][41];

    /* One that is loaded behind all of these, and says which they are: a
     * server that knows it knows them all. */
    char mark[64], mark_hash[41];
} hf_scripts;

int hf__scripts_init(hf_scripts *ret, const hf_manner *manner, hf_error *err);
void hf__scripts_clear(hf_scripts *s);

/* Does a lock delay concern it?  Then its last key is that of the era. */
bool hf__script_grants(hf_script script);

typedef struct hf_call {
    hf_script script;
    const char *name; /* the lock it is about, or NULL: of several       */
    int n_keys, argc; /* keys first, then arguments                      */
    const char *const *argv;
    const size_t *lens; /* of the argv; NULL: they are texts             */
    int replicas;       /* that must confirm it, or HF_MAJORITY, HF_ALL  */
    bool *confirmed;    /* replicas: whether as many did                 */
    bool *cut_short;    /* if not NULL: set if it ended in the middle before
                           it was asked again and answered               */
    bool *torn;         /* if not NULL: set, and given up soon, if its keys
                           are apart because their slot is half moved    */
} hf_call;

/* The command for a call, by its hash or (`whole`) with the text.  NULL: out
 * of memory; else it is yours to free. */
char *hf__script_command(const hf_scripts *scripts, const hf_call *call,
                         bool whole, size_t *len);

#endif
