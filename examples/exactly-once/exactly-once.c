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
 * than one it has seen.  Twice, because a worker looks before it works: whoever
 * has looked behind the guard knows that nobody before it writes any more.
 * look(), finish() and do_job() are what you came for.
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
    LEASE_MS = 300, /* so long a worker that sleeps keeps others out */
    WAIT_MS = 20000
};

/* Where a worker stands still for its director, to be killed or stopped. */
typedef enum moment { NOWHERE, IN_WORK, IN_TRANSACTION, COMMITTED } moment;

/* Where the guard is passed; all but the last are for the show. */
typedef enum guarding { NOT_AT_ALL, AT_WRITE, AT_LOOK_AND_WRITE } guarding;

typedef struct scene {
    const char *store; /* the locks'    */
    const db_sort *sort;
    const char *where; /* the database */
    guarding guarding;
    int news[2], go[2]; /* pipes, from and to who stands still */
    atomic_int *refused;
} scene;

typedef struct news {
    int job;
    uint64_t token;
} news;

typedef struct worker {
    const scene *scene;
    moment pause; /* stands still there, and ends behind it */
    hf_client *client;
    db *db;
} worker;

typedef struct task {
    int job;
    char id[16];      /* the same, for the database      */
    const char *lock; /* its name                        */
    uint64_t token;   /* as it was when it was granted   */
} task;

/* ---- a worker ---------------------------------------------------------- */

/* Only for the show. */
static void pause_at(worker *w, moment here, int job, uint64_t token) {
    news n = {.job = job, .token = token};
    char byte;
    if (w->pause != here)
        return;
    stage_tell(w->scene->news[1], &n, sizeof n);
    stage_need(read(w->scene->go[0], &byte, 1) == 1, "go");
}

static db_answer ask(worker *w, const char *sql, const char *one,
                     const char *two, int64_t *cell) {
    return w->scene->sort->ask(w->db, sql, (const char *[2]){one, two}, cell);
}

/* A transaction that begins with the guard: from there to its end nobody with
 * another token gets in.  The resource is the lock's name. */
static db_answer begin(worker *w, const task *t, bool guarded) {
    char token[24];
    db_answer answer = w->scene->sort->script(w->db, w->scene->sort->begin);
    snprintf(token, sizeof token, "%" PRIu64, t->token);
    if (answer == DB_OK && guarded)
        answer = ask(w, w->scene->sort->pass, t->lock, token, NULL);
    return answer;
}

/* To be refused is in order, and told: another one has the job. */
static db_answer end(worker *w, const task *t, db_answer answer) {
    if (answer == DB_OK)
        answer = w->scene->sort->script(w->db, "COMMIT");
    if (answer == DB_OK)
        return DB_OK;
    const char *said = w->scene->sort->said(w->db);
    printf("    job %d %s: %.*s\n", t->job,
           answer == DB_REFUSED ? "is refused" : "failed",
           (int)strcspn(said, "\n"), said);
    w->scene->sort->script(w->db, "ROLLBACK");
    if (answer == DB_REFUSED)
        atomic_fetch_add(w->scene->refused, 1);
    return answer;
}

/* Is it still to be done?  Behind the guard, or one that was here before us may
 * write after we have looked. */
static db_answer look(worker *w, const task *t, int64_t *open) {
    static const char sql[] =
        "SELECT count(*) FROM job WHERE id = $1 AND done = 0";
    db_answer answer = begin(w, t, w->scene->guarding == AT_LOOK_AND_WRITE);
    if (answer == DB_OK)
        answer = ask(w, sql, t->id, NULL, open);
    return end(w, t, answer);
}

static db_answer finish(worker *w, const task *t) {
    char token[24];
    db_answer answer = begin(w, t, w->scene->guarding != NOT_AT_ALL);
    snprintf(token, sizeof token, "%" PRIu64, t->token);
    if (answer == DB_OK)
        answer =
            ask(w, "INSERT INTO effect VALUES ($1, $2)", t->id, token, NULL);
    if (answer == DB_OK)
        pause_at(w, IN_TRANSACTION, t->job, t->token);
    if (answer == DB_OK)
        answer =
            ask(w, "UPDATE job SET done = 1 WHERE id = $1", t->id, NULL, NULL);
    return end(w, t, answer);
}

/* With the lock held. */
static db_answer work_on(worker *w, const task *t) {
    int64_t open = 0;
    db_answer answer = look(w, t, &open);
    if (answer != DB_OK || !open)
        return answer;
    stage_sleep_us(WORK_US);
    pause_at(w, IN_WORK, t->job, t->token);
    /* hf_lock_is_held would say no to who overslept.  But to ask and to write
     * are two steps, and one may fall asleep between them. */
    answer = finish(w, t);
    if (answer == DB_OK)
        pause_at(w, COMMITTED, t->job, t->token);
    return answer;
}

/* False: something is broken.  That another one works on it, or that we were
 * too late, is in order. */
static bool do_job(worker *w, int job, int wait_ms) {
    hf_lock *lock = NULL;
    hf_error err;
    char name[32];
    task t = {.job = job, .lock = name};
    db_answer answer = DB_OK;
    snprintf(t.id, sizeof t.id, "%d", job);
    snprintf(name, sizeof name, "job:%d", job);
    int rc = hf_lock_new(&lock, w->client, name, NULL, &err);
    if (rc == HF_OK)
        rc = hf_lock_acquire(lock, wait_ms, &err);
    if (rc == HF_OK)
        t.token = hf_lock_token(lock); /* kept: when it is lost this says 0 */
    if (t.token)
        answer = work_on(w, &t);
    if (rc < HF_OK)
        fprintf(stderr, "job %d: %s\n", job, err.text);
    hf_lock_free(lock); /* which releases it */
    return rc >= HF_OK && answer != DB_FAILED;
}

static bool next_job(worker *w, int *job) {
    static const char sql[] =
        "SELECT coalesce(min(id), 0) FROM job WHERE done = 0 AND id > $1";
    char last[16];
    int64_t next = 0;
    snprintf(last, sizeof last, "%d", *job);
    db_answer answer = ask(w, sql, last, NULL, &next);
    *job = (int)next;
    return answer == DB_OK;
}

/* All open jobs, once. */
static bool do_round(worker *w, int wait_ms) {
    int job = 0;
    do {
        if (!next_job(w, &job) || (job && !do_job(w, job, wait_ms)))
            return false;
    } while (job && w->pause == NOWHERE);
    return true;
}

/* The first round takes what is free, the second waits for the rest: whoever
 * works on that may die.  Who stands still for the show does one job, the first
 * that is open, and waits for it. */
static bool do_all(worker *w) {
    return (w->pause != NOWHERE || do_round(w, 0)) && do_round(w, WAIT_MS);
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

/* Starts a worker, and returns when it stands still there: stopped, so that it
 * does not renew its lease either. */
static pid_t start_until(const scene *s, worker w, const char *then) {
    news n;
    w.scene = s;
    pid_t pid = stage_start(work, &w);
    if (!stage_hear(s->news[0], &n, sizeof n, WAIT_MS)) {
        fprintf(stderr, "a worker did not come to its job\n");
        exit(1);
    }
    stage_stop(pid);
    printf("    job %d, token %" PRIu64 ": its worker %s\n", n.job, n.token,
           then);
    return pid;
}

/* The only one that stands still and is not stopped reads the byte. */
static bool wake(const scene *s, pid_t pid, const char *what) {
    printf("    %s\n", what);
    kill(pid, SIGCONT);
    stage_tell(s->go[1], "g", 1);
    return stage_ended_well(pid);
}

static void kill_three(const scene *s) {
    stage_kill(start_until(s, (worker){.pause = IN_WORK}, "is killed at work"));
    stage_kill(start_until(s, (worker){.pause = IN_TRANSACTION},
                           "is killed in its transaction"));
    stage_kill(start_until(s, (worker){.pause = COMMITTED},
                           "is killed before it releases"));
}

/* The sleeper wakes up when the next one has looked, and not yet written. */
static bool wake_between(const scene *s) {
    pid_t sleeper = start_until(s, (worker){.pause = IN_WORK}, "falls asleep");
    pid_t next = start_until(s, (worker){.pause = IN_WORK},
                             "is the next one, and works");
    bool ok = wake(s, sleeper, "the sleeper wakes up, and writes");
    return wake(s, next, "the next one writes") && ok;
}

/* The sleeper wakes up when all is done, by others. */
static bool wake_last(const scene *s) {
    pid_t pids[WORKERS];
    worker w = {.scene = s};
    bool ok = true;
    pid_t sleeper = start_until(s, (worker){.pause = IN_WORK}, "falls asleep");
    for (int i = 0; i < WORKERS; i++)
        pids[i] = stage_start(work, &w);
    for (int i = 0; i < WORKERS; i++)
        ok = stage_ended_well(pids[i]) && ok;
    return wake(s, sleeper, "all is done; the sleeper wakes up, and writes") &&
           ok;
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

/* Returns how many jobs have one effect; -1: it failed. */
static int64_t act(scene *s, guarding where, const char *how) {
    sum n;
    *s->refused = 0;
    s->guarding = where;
    printf("%s:\n", how);
    if (!fill(s))
        return -1;
    kill_three(s);
    if (!wake_between(s) || !wake_last(s) || !count(s, &n))
        return -1;
    printf("%s: %" PRId64 " of %d jobs done, %" PRId64 " effects, %" PRId64
           " jobs exactly once; late writes refused: %d\n",
           how, n.done, JOBS, n.effects, n.once, *s->refused);
    return n.done == JOBS ? n.once : -1;
}

/* True: only the last of them did it. */
static bool show(scene *s) {
    int64_t without = act(s, NOT_AT_ALL, "without the guard");
    int64_t half = act(s, AT_WRITE, "with the guard at the write alone");
    int64_t with = act(s, AT_LOOK_AND_WRITE, "with the guard");
    return without >= 0 && without < JOBS && half >= 0 && half < JOBS &&
           with == JOBS;
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
    bool ok = show(&s);
    stage_close(&here);
    return ok ? 0 : 1;
}
