/* SPDX-License-Identifier: MIT
 *
 * exactly-once.c - workers take jobs from a table; what a job does is there once,
 * whoever is killed, and whoever sleeps through the end of its lease.
 *
 *     cc *.c $(pkg-config --cflags --libs holdfast libpq sqlite3) -o exactly-once
 *     ./exactly-once [CONNINFO [STORE]]
 *
 * CONNINFO is libpq's, "host=db1 dbname=app"; the tables live in a schema of
 * their own there, holdfast_example, which is dropped at the end.  Without it
 * they live in a file of SQLite's.
 *
 * A lock for each job keeps the workers apart.  It cannot stop one that was
 * asleep, and writes late: that the database does, which refuses a token older
 * than one it has seen.  do_job() and finish() are what you came for.
 *
 * Where the effect can be made conditional by itself, as by a unique key, do
 * that: it is better than any lock.  Here it cannot: it is a row like others. */
#include "../stage.h"

#include <holdfast.h>
#include <inttypes.h>

#include "database.h"

enum {
    JOBS = 12,
    WORKERS = 4,
    WORK_US = 3000,
    LEASE_MS = 1000, /* so long a worker that sleeps keeps others out */
    WAIT_MS = 20000
};

/* Where a worker stands still for its director, to be killed or stopped. */
typedef enum moment { NOWHERE, IN_WORK, IN_TRANSACTION, COMMITTED } moment;

typedef struct scene {
    const char *store; /* the locks'    */
    const db_sort *sort;
    const char *where;  /* the database */
    bool guarded;       /* writes pass the guard */
    int news[2], go[2]; /* pipes, from and to who stands still */
    atomic_int *refused;
} scene;

typedef struct news {
    int job;
    uint64_t token;
} news;

typedef struct worker {
    const scene *scene;
    moment pause; /* stands still there, the first time */
    hf_client *client;
    db *db;
} worker;

/* ---- a worker ---------------------------------------------------------- */

/* Only for the show. */
static void pause_at(worker *w, moment here, int job, uint64_t token) {
    news n = {.job = job, .token = token};
    char byte;
    if (w->pause != here)
        return;
    w->pause = NOWHERE;
    stage_tell(w->scene->news[1], &n, sizeof n);
    stage_need(read(w->scene->go[0], &byte, 1) == 1, "go");
}

static db_answer ask(worker *w, const char *sql, const char *one,
                     const char *two, int64_t *cell) {
    return w->scene->sort->ask(w->db, sql, (const char *[2]){one, two}, cell);
}

/* The guard first, then the effect, in one transaction: from the guard to the
 * end nobody with another token gets in.  `resource` is the lock's name. */
static db_answer write_all(worker *w, const char *resource, uint64_t token,
                           int job) {
    char id[16], number[24];
    snprintf(id, sizeof id, "%d", job);
    snprintf(number, sizeof number, "%" PRIu64, token);
    db_answer answer = DB_OK;
    if (w->scene->guarded)
        answer = ask(w, w->scene->sort->pass, resource, number, NULL);
    if (answer == DB_OK)
        answer = ask(w, "INSERT INTO effect VALUES ($1, $2)", id, number, NULL);
    pause_at(w, IN_TRANSACTION, job, token);
    if (answer == DB_OK)
        answer =
            ask(w, "UPDATE job SET done = 1 WHERE id = $1", id, NULL, NULL);
    return answer;
}

static db_answer finish(worker *w, const char *resource, uint64_t token,
                        int job) {
    db_answer answer = w->scene->sort->script(w->db, w->scene->sort->begin);
    if (answer == DB_OK)
        answer = write_all(w, resource, token, job);
    if (answer == DB_OK)
        answer = w->scene->sort->script(w->db, "COMMIT");
    if (answer == DB_OK)
        return DB_OK;
    printf("    job %d %s: %.*s\n", job,
           answer == DB_REFUSED ? "is refused" : "failed",
           (int)strcspn(w->scene->sort->said(w->db), "\n"),
           w->scene->sort->said(w->db));
    w->scene->sort->script(w->db, "ROLLBACK");
    if (answer == DB_REFUSED)
        atomic_fetch_add(w->scene->refused, 1);
    return answer;
}

/* With the lock held.  It may have been done while we waited for it. */
static db_answer work_on(worker *w, hf_lock *lock, int job) {
    int64_t open = 0;
    char id[16];
    snprintf(id, sizeof id, "%d", job);
    db_answer answer =
        ask(w, "SELECT count(*) FROM job WHERE id = $1 AND done = 0", id, NULL,
            &open);
    if (answer != DB_OK || !open)
        return answer;
    uint64_t token = hf_lock_token(lock); /* 0 when it is lost: keep it */
    stage_sleep_us(WORK_US);
    pause_at(w, IN_WORK, job, token);
    /* hf_lock_is_held would say no to who overslept.  But to look and to write
     * are two steps, and one may fall asleep between them. */
    answer = finish(w, hf_lock_name(lock), token, job);
    if (answer == DB_OK)
        pause_at(w, COMMITTED, job, token);
    return answer;
}

/* False: something is broken.  That another one works on it, or that we were
 * too late, is in order. */
static bool do_job(worker *w, int job, int wait_ms) {
    hf_lock *lock = NULL;
    hf_error err;
    char name[32];
    db_answer answer = DB_OK;
    snprintf(name, sizeof name, "job:%d", job);
    int rc = hf_lock_new(&lock, w->client, name, NULL, &err);
    if (rc == HF_OK)
        rc = hf_lock_acquire(lock, wait_ms, &err);
    if (rc == HF_OK)
        answer = work_on(w, lock, job);
    else if (rc != HF_BUSY)
        fprintf(stderr, "job %d: %s\n", job, err.text);
    hf_lock_free(lock); /* which releases it */
    return rc >= HF_OK && answer != DB_FAILED;
}

/* The first round takes what is free, the second waits for the rest: whoever
 * works on that may die. */
static bool do_all(worker *w) {
    static const char next[] =
        "SELECT coalesce(min(id), 0) FROM job WHERE done = 0 AND id > $1";
    for (int round = 0; round < 2; round++) {
        int64_t job = 0;
        for (int i = 0; i <= JOBS; i++) {
            char last[24];
            snprintf(last, sizeof last, "%" PRId64, job);
            if (ask(w, next, last, NULL, &job) != DB_OK)
                return false;
            if (!job)
                break;
            if (!do_job(w, (int)job, round == 0 ? 0 : WAIT_MS))
                return false;
        }
    }
    return true;
}

static int work(void *arg) {
    worker *w = arg;
    hf_options options = HF_OPTIONS_INIT;
    hf_error err;
    bool ok = false;
    options.lease_ms = LEASE_MS;
    w->db = w->scene->sort->open(w->scene->where);
    if (hf_open(&w->client, w->scene->store, &options, &err) != HF_OK)
        fprintf(stderr, "%s\n", err.text);
    else
        ok = w->db && do_all(w);
    hf_close(w->client);
    w->scene->sort->close(w->db);
    return ok ? 0 : 1;
}

/* ---- the show ---------------------------------------------------------- */

static const char tables[] =
    "CREATE TABLE job (id INTEGER PRIMARY KEY, done INTEGER NOT NULL);"
    "CREATE TABLE effect (job INTEGER NOT NULL, token BIGINT NOT NULL);";

/* Empty tables, the guard, and jobs.  Not across fork: the connection is opened
 * for it, and again for what is counted. */
static bool fill(const scene *s) {
    char job[64];
    db *d = s->sort->open(s->where);
    if (!d)
        return false;
    bool ok = s->sort->script(d, s->sort->make_room) == DB_OK &&
              s->sort->script(d, tables) == DB_OK &&
              s->sort->script(d, hf_guard_text(s->sort->name)) == DB_OK;
    for (int i = 1; ok && i <= JOBS; i++) {
        snprintf(job, sizeof job, "INSERT INTO job VALUES (%d, 0)", i);
        ok = s->sort->script(d, job) == DB_OK;
    }
    if (!ok)
        fprintf(stderr, "%s\n", s->sort->said(d));
    s->sort->close(d);
    return ok;
}

/* Starts a worker, and returns when it stands still there. */
static pid_t start_until(const scene *s, moment pause, const char *then) {
    worker w = {.scene = s, .pause = pause};
    news n;
    pid_t pid = stage_start(work, &w);
    if (!stage_hear(s->news[0], &n, sizeof n, WAIT_MS)) {
        fprintf(stderr, "a worker did not come to its job\n");
        exit(1);
    }
    printf("    job %d, token %" PRIu64 ": its worker %s\n", n.job, n.token,
           then);
    return pid;
}

/* Three are killed, one is stopped, the others do what there is to do; then the
 * stopped one goes on where it was.  False: one failed that was not killed. */
static bool play(const scene *s) {
    pid_t pids[WORKERS];
    worker w = {.scene = s};
    bool ok = true;
    stage_kill(start_until(s, IN_WORK, "is killed at work"));
    stage_kill(start_until(s, IN_TRANSACTION, "is killed in its transaction"));
    stage_kill(start_until(s, COMMITTED, "is killed before it releases"));
    pid_t sleeper = start_until(s, IN_WORK, "falls asleep");
    stage_stop(sleeper);
    for (int i = 0; i < WORKERS; i++)
        pids[i] = stage_start(work, &w);
    for (int i = 0; i < WORKERS; i++)
        ok = stage_ended_well(pids[i]) && ok;
    printf("    all is done; the sleeper wakes up, and writes\n");
    kill(sleeper, SIGCONT);
    stage_tell(s->go[1], "g", 1);
    return stage_ended_well(sleeper) && ok;
}

typedef struct sum {
    int64_t done, effects, once; /* once: jobs with one effect */
} sum;

static bool count(const scene *s, sum *ret) {
    static const char *const none[2] = {NULL, NULL};
    db *d = s->sort->open(s->where);
    if (!d)
        return false;
    bool ok = s->sort->ask(d, "SELECT count(*) FROM job WHERE done = 1", none,
                           &ret->done) == DB_OK &&
              s->sort->ask(d, "SELECT count(*) FROM effect", none,
                           &ret->effects) == DB_OK &&
              s->sort->ask(d,
                           "SELECT count(*) FROM (SELECT job FROM effect GROUP "
                           "BY job HAVING count(*) = 1) AS t",
                           none, &ret->once) == DB_OK &&
              s->sort->script(d, s->sort->clear_up) == DB_OK;
    if (!ok)
        fprintf(stderr, "%s\n", s->sort->said(d));
    s->sort->close(d);
    return ok;
}

/* True: with the guard each effect was there once, without it one was not. */
static bool act(scene *s, bool guarded) {
    const char *how = guarded ? "with the guard" : "without the guard";
    sum n;
    *s->refused = 0;
    s->guarded = guarded;
    printf("%s:\n", how);
    if (!fill(s) || !play(s) || !count(s, &n))
        return false;
    printf("%s: %" PRId64 " of %d jobs done, %" PRId64 " effects, %" PRId64
           " jobs exactly once; late writes refused: %d\n",
           how, n.done, JOBS, n.effects, n.once, *s->refused);
    return n.done == JOBS && (guarded ? n.effects == JOBS && n.once == JOBS :
                                        n.effects > JOBS && n.once < JOBS);
}

int main(int argc, char **argv) {
    stage here;
    char file[256];
    stage_open(&here, argc > 2 ? argv[2] : NULL);
    snprintf(file, sizeof file, "%s/jobs.db", here.folder);
    scene s = {.store = here.store,
               .sort = argc > 1 ? &db_postgres : &db_sqlite,
               .where = argc > 1 ? argv[1] : file,
               .refused = stage_share(sizeof *s.refused)};
    printf("jobs in %s\n",
           argc > 1 ? "PostgreSQL" : "SQLite: no PostgreSQL was named");
    stage_need(pipe2(s.news, O_CLOEXEC) == 0 && pipe2(s.go, O_CLOEXEC) == 0,
               "pipe");
    bool ok = act(&s, false);
    ok = act(&s, true) && ok;
    stage_close(&here);
    return ok ? 0 : 1;
}
