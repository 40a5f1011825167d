/* SPDX-License-Identifier: MIT
 *
 * link.c - one connection to the server, over libmariadb.
 *
 * Everything that waits is started and continued (mysql_…_start, _cont), and we
 * wait in between, so that every call ends by its deadline.  What is not done
 * by then is continued once more with the news that its time is over: the
 * library then fails by itself and frees what it has.
 *
 * What the library does otherwise than a library should: it ignores SIGPIPE for
 * the whole program when it is first used, and writes through OpenSSL without
 * regard for that signal; its sockets are inherited by programs that are
 * started; it looks names up without a deadline.  So the disposition is put
 * back, the signal is blocked around what TLS writes, descriptors are marked as
 * soon as we see them, and names are looked up before. */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../alloc.h"
#include "../../err.h"
#include "../../world.h"
#include "../net/resolve.h"
#include "errors.h"
#include "mariadb.gen.h"

/* ---- the library ------------------------------------------------------- */

static void start_library(void) {
    struct sigaction before;

    sigaction(SIGPIPE, NULL, &before);
    mysql_library_init(0, NULL, NULL);
    sigaction(SIGPIPE, &before, NULL);
}

static void need_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, start_library);
}

/* Around everything that may write by TLS.  A signal that was already pending
 * is somebody else's and stays. */
typedef struct hush {
    bool on, pending;
    sigset_t before;
} hush;

static void hush_begin(hush *h, const hf_session *s) {
    sigset_t pipe, now;

    h->on = s->at->secure;
    if (!h->on)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&now);
    h->pending = sigismember(&now, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe, &h->before);
}

static void hush_end(const hush *h) {
    static const struct timespec at_once = {0};
    sigset_t pipe;

    if (!h->on)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (!h->pending && sigtimedwait(&pipe, NULL, &at_once) < 0 &&
           errno == EINTR)
        ;
    pthread_sigmask(SIG_SETMASK, &h->before, NULL);
}

/* ---- waiting ----------------------------------------------------------- */

/* The library only reads. */
int hf__maria_descriptor(const hf_session *s) {
    return (int)mysql_get_socket((MYSQL *)&s->my);
}

static void mark(const hf_session *s) {
    int fd = hf__maria_descriptor(s);

    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int events_of(int revents, int status) {
    int ready = 0;

    if (revents & (POLLIN | POLLHUP | POLLERR))
        ready |= status & MYSQL_WAIT_READ;
    if (revents & (POLLOUT | POLLHUP | POLLERR))
        ready |= status & MYSQL_WAIT_WRITE;
    if (revents & POLLPRI)
        ready |= status & MYSQL_WAIT_EXCEPT;
    return ready ? ready : status & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
}

/* Waits for what the library waits for; what it is to be told. */
static int ready(hf_session *s, int status, hf_time by) {
    struct pollfd pfd = {
        .fd = hf__maria_descriptor(s),
        .events = (short)((status & MYSQL_WAIT_READ ? POLLIN : 0) |
                          (status & MYSQL_WAIT_WRITE ? POLLOUT : 0) |
                          (status & MYSQL_WAIT_EXCEPT ? POLLPRI : 0))};
    int rc;

    if (s->late)
        return MYSQL_WAIT_TIMEOUT;
    do
        rc = hf__world->poll(&pfd, 1, by);
    while (rc < 0 && errno == EINTR);
    if (rc > 0)
        return events_of(pfd.revents, status);
    s->late = true;
    return MYSQL_WAIT_TIMEOUT;
}

/* A connection that broke must not be made anew behind our back, in the middle
 * of a transaction; not even if an option file, read just now, says so. */
static bool connect_by(hf_session *s, const char *host, hf_time by) {
    const hf_maria_address *at = s->at;
    my_bool no = 0;
    MYSQL *done = NULL;
    int status = mysql_real_connect_start(
        &done, &s->my, host, at->user, at->password, at->database,
        (unsigned)at->port, at->socket, CLIENT_MULTI_STATEMENTS);

    mark(s);
    while (status) {
        int how = ready(s, status, by);

        status = mysql_real_connect_cont(&done, &s->my, how);
        mark(s);
    }
    mysql_options(&s->my, MYSQL_OPT_RECONNECT, &no);
    return done != NULL;
}

static bool query_by(hf_session *s, const char *script, hf_time by) {
    int failed = 1;
    int status = mysql_real_query_start(&failed, &s->my, script,
                                        (unsigned long)strlen(script));

    while (status)
        status = mysql_real_query_cont(&failed, &s->my, ready(s, status, by));
    return failed == 0;
}

static MYSQL_RES *result_by(hf_session *s, hf_time by) {
    MYSQL_RES *result = NULL;
    int status = mysql_store_result_start(&result, &s->my);

    while (status)
        status = mysql_store_result_cont(&result, &s->my, ready(s, status, by));
    return result;
}

/* 0: there is one more; -1: there is none; else it failed. */
static int next_by(hf_session *s, hf_time by) {
    int rc = 1;
    int status = mysql_next_result_start(&rc, &s->my);

    while (status)
        status = mysql_next_result_cont(&rc, &s->my, ready(s, status, by));
    return rc;
}

/* ---- asking ------------------------------------------------------------ */

static int failed(hf_session *s, hf_maria_stage stage, hf_error *err) {
    unsigned number = mysql_errno(&s->my);
    int rc;

    if (s->late) {
        s->ruined = true;
        return hf__fail(err,
                        stage == HF_MARIA_CONNECTING ? HF_EDOWN : HF_EDOUBT,
                        "%s: no answer in time", s->at->where);
    }
    rc = hf__maria_error(err, s->at->where, stage, number, mysql_error(&s->my));
    if (rc == HF_EDOUBT || rc == HF_EDOWN || rc == HF_ESTARTING)
        s->ruined = true;
    return rc;
}

static bool copy_rows(hf_rows *to, MYSQL_RES *from) {
    size_t columns = mysql_num_fields(from), n = mysql_num_rows(from);
    char **cell;
    MYSQL_ROW row;

    to->columns = (int)columns;
    if (n == 0)
        return true;
    to->cells = cell = hf__calloc(n * columns, sizeof *cell);
    if (!cell)
        return false;
    to->n = n;
    while ((row = mysql_fetch_row(from)))
        for (size_t i = 0; i < columns; i++, cell++) {
            *cell = row[i] ? hf__strdup(row[i]) : NULL;
            if (row[i] && !*cell)
                return false;
        }
    return true;
}

static int keep(hf_session *s, MYSQL_RES *result, hf_answers *ret,
                hf_error *err) {
    hf_rows *all = hf__realloc(ret->all, (ret->n + 1) * sizeof *all);
    bool ok = all != NULL;

    if (ok) {
        ret->all = all;
        all[ret->n] =
            (hf_rows){.changed = (int64_t)mysql_affected_rows(&s->my)};
        ok = !result || copy_rows(&all[ret->n], result);
        ret->n++;
    }
    mysql_free_result(result);
    return ok ? HF_OK : hf__fail_plain(err, HF_ENO_MEMORY);
}

static int read_answers(hf_session *s, hf_answers *ret, hf_time by,
                        hf_error *err) {
    for (;;) {
        MYSQL_RES *result = result_by(s, by);
        int rc;

        if (!result && mysql_errno(&s->my))
            return failed(s, HF_MARIA_READING, err);
        rc = keep(s, result, ret, err);
        if (rc != HF_OK)
            return rc;
        rc = next_by(s, by);
        if (rc != 0)
            return rc < 0 ? HF_OK : failed(s, HF_MARIA_READING, err);
    }
}

int hf__maria_ask(hf_session *s, const char *script, hf_answers *ret,
                  hf_time by, hf_error *err) {
    hush h;
    int rc;

    *ret = (hf_answers){0};
    hush_begin(&h, s);
    rc = query_by(s, script, by) ? read_answers(s, ret, by, err) :
                                   failed(s, HF_MARIA_SENDING, err);
    hush_end(&h);
    if (rc != HF_OK) {
        hf__answers_clear(ret);
        /* What is left of the script's answers would be the next one's. */
        s->ruined = s->ruined || rc == HF_ENO_MEMORY;
    }
    return rc;
}

/* ---- life -------------------------------------------------------------- */

static void set_tls(MYSQL *my, const hf_tls_rules *tls) {
    my_bool yes = 1, check = (my_bool)(tls->verify == HF_VERIFY_FULL);

    mysql_options(my, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &check);
    if (tls->ca && tls->verify != HF_VERIFY_NONE)
        mysql_options(my, MYSQL_OPT_SSL_CA, tls->ca);
    if (tls->cert)
        mysql_options(my, MYSQL_OPT_SSL_CERT, tls->cert);
    if (tls->cert)
        mysql_options(my, MYSQL_OPT_SSL_KEY, tls->key ? tls->key : tls->cert);
}

/* A server must not ask for files of ours. */
static void set_options(MYSQL *my, const hf_maria_address *at) {
    unsigned off = 0;
    unsigned protocol = at->socket ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;

    mysql_options(my, MYSQL_OPT_NONBLOCK, NULL);
    mysql_options(my, MYSQL_READ_DEFAULT_GROUP, "holdfast");
    if (at->option_file)
        mysql_options(my, MYSQL_READ_DEFAULT_FILE, at->option_file);
    mysql_options(my, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_options(my, MYSQL_OPT_LOCAL_INFILE, &off);
    mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(my, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "holdfast");
    if (at->secure)
        set_tls(my, &at->tls);
}

static int dial(hf_session **ret, const hf_maria_address *at, const char *host,
                hf_time by, hf_error *err) {
    hf_session *s = hf__calloc(1, sizeof *s);
    hush h;
    int rc = HF_OK;

    if (!s || !mysql_init(&s->my)) {
        hf__free(s);
        return hf__fail_plain(err, HF_ENO_MEMORY);
    }
    s->at = at;
    set_options(&s->my, at);
    hush_begin(&h, s);
    if (!connect_by(s, host, by))
        rc = failed(s, HF_MARIA_CONNECTING, err);
    else if (at->secure && !mysql_get_ssl_cipher(&s->my))
        rc = hf__fail(err, HF_ETLS,
                      "%s: the server speaks plain text: write mariadb://",
                      at->where);
    hush_end(&h);
    if (rc == HF_OK)
        *ret = s;
    else
        hf__maria_hang_up(s, false);
    return rc;
}

/* One that is silent leaves time for the others.  The library compares the
 * certificate with the host it was given, so then it gets the name. */
static int dial_host(hf_session **ret, const hf_maria_address *at, hf_time by,
                     hf_error *err) {
    bool by_name = at->secure && at->tls.verify == HF_VERIFY_FULL;
    struct addrinfo *all, *ai;
    char number[NI_MAXHOST];
    int left = 0;
    int rc = hf__resolve(&all, at->host, at->port, by, err);

    if (rc != HF_OK)
        return rc;
    for (ai = all; ai; ai = ai->ai_next)
        left++;
    rc = HF_EDOWN;
    for (ai = all; ai && rc == HF_EDOWN; ai = ai->ai_next, left--) {
        hf_time until = hf__now() + (by - hf__now()) / left;

        if (getnameinfo(ai->ai_addr, ai->ai_addrlen, number, sizeof number,
                        NULL, 0, NI_NUMERICHOST) != 0)
            continue;
        if (by_name) {
            rc = dial(ret, at, at->host, by, err);
            break;
        }
        rc = dial(ret, at, number, until, err);
    }
    freeaddrinfo(all);
    return rc;
}

/* Who answers?  A server whose SYSDATE stands still during a statement cannot
 * be used: a renewal would look at the clock before it waits for its row. */
static int look_at(hf_session *s, const hf_rows *seen, hf_error *err) {
    if (seen->n != 1 || seen->columns != 6 || !seen->cells[0] ||
        !seen->cells[3] || !seen->cells[5])
        return hf__fail(err, HF_ESTORE,
                        "%s: it does not answer as MariaDB does", s->at->where);
    snprintf(s->version, sizeof s->version, "%s", seen->cells[0]);
    s->read_only = seen->cells[1] && strcmp(seen->cells[1], "0") != 0;
    if (strcmp(seen->cells[3], seen->cells[5]) == 0)
        return hf__fail(err, HF_ECANNOT,
                        "%s: the server was started with sysdate-is-now: "
                        "holdfast needs the time of the call",
                        s->at->where);
    return HF_OK;
}

static int set_up(hf_session *s, hf_time by, hf_error *err) {
    hf_answers seen;
    int rc = hf__maria_ask(s, hf_mariadb_session, &seen, by, err);

    if (rc == HF_EDOUBT) /* nothing that would matter */
        rc = err->code = HF_EDOWN;
    if (rc == HF_OK)
        rc = look_at(s, &seen.all[seen.n - 1], err);
    hf__answers_clear(&seen);
    return rc > 0 ? HF_EDOWN : rc;
}

int hf__maria_connect(hf_session **ret, const hf_maria_address *at, hf_time by,
                      hf_error *err) {
    hf_session *s = NULL;
    int rc;

    need_library();
    rc = at->socket ? dial(&s, at, NULL, by, err) : dial_host(&s, at, by, err);
    if (rc == HF_OK)
        rc = set_up(s, by, err);
    if (rc == HF_OK)
        *ret = s;
    else
        hf__maria_hang_up(s, false);
    return rc;
}

bool hf__maria_is_gone(const hf_session *s) {
    struct pollfd pfd = {.fd = hf__maria_descriptor(s), .events = POLLIN};

    return pfd.fd < 0 || hf__world->poll(&pfd, 1, 0) != 0;
}

/* The library says goodbye on the socket; shut down, that cannot wait. */
void hf__maria_hang_up(hf_session *s, bool forked) {
    int fd;
    hush h;

    if (!s)
        return;
    fd = hf__maria_descriptor(s);
    if (forked) {
        if (fd >= 0)
            close(fd);
        return;
    }
    hush_begin(&h, s);
    if (fd >= 0 && s->ruined)
        shutdown(fd, SHUT_RDWR);
    mysql_close(&s->my);
    hush_end(&h);
    hf__free(s);
}
