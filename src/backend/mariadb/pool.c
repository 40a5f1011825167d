/* SPDX-License-Identifier: MIT
 *
 * pool.c - a few connections, lent to whoever asks.
 *
 * One that was not used for a while may have been hung up on by the server; it
 * is looked at before it is lent, so that a request is not lost on it. */
#include "mariadb.h"

#include <stdlib.h>

#include "../../err.h"
#include "../../log.h"
#include "../../world.h"

/* mu held. */
static hf_session *take_idle(hf_maria *m) {
    hf_session *s = m->idle;

    if (!s)
        return NULL;
    m->idle = s->next;
    s->next = m->lent;
    m->lent = s;
    return s;
}

/* mu held. */
static void forget(hf_maria *m, const hf_session *s) {
    hf_session **at = &m->lent;

    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
}

static void drop(hf_maria *m, hf_session *s) {
    pthread_mutex_lock(&m->mu);
    forget(m, s);
    m->open--;
    pthread_cond_signal(&m->freed);
    pthread_mutex_unlock(&m->mu);
    s->ruined = true;
    hf__maria_hang_up(s, false);
}

/* HF_ECROWDED while we have others means that so many must do. */
static int add(hf_session **ret, hf_maria *m, hf_time by, hf_error *err) {
    hf_session *s = NULL;
    int rc = hf__maria_connect(&s, &m->at, by, err);

    if (rc == HF_OK)
        hf__log_connected(m->host->host, m->at.where);
    else
        hf__log_unreached(m->host->host, &m->pace, m->at.where, err);
    pthread_mutex_lock(&m->mu);
    if (rc == HF_OK) {
        s->db = m;
        s->next = m->lent;
        m->lent = s;
    } else {
        m->open--;
        if (rc == HF_ECROWDED && m->open > 0) {
            m->room = m->open;
            rc = HF_BUSY;
        }
        pthread_cond_signal(&m->freed);
    }
    pthread_mutex_unlock(&m->mu);
    *ret = s;
    return rc;
}

/* One that is there, or HF_BUSY: there is room for one more. */
static int wait_for_one(hf_session **ret, hf_maria *m, hf_time by,
                        hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_lock(&m->mu);
    while (!(*ret = take_idle(m)) && m->open >= m->room && rc == HF_OK)
        if (hf__world->wait(&m->freed, &m->mu, by) != 0 && hf__now() >= by)
            rc = hf__fail(err, HF_ECROWDED,
                          "%s: all %d connections of this client are in use",
                          m->at.where, m->room);
    if (rc == HF_OK && !*ret) {
        m->open++;
        rc = HF_BUSY;
    }
    pthread_mutex_unlock(&m->mu);
    return rc;
}

int hf__maria_borrow(hf_session **ret, hf_maria *m, hf_time by, hf_error *err) {
    for (;;) {
        int rc = wait_for_one(ret, m, by, err);

        if (rc == HF_BUSY)
            rc = add(ret, m, by, err);
        else if (rc == HF_OK && hf__maria_is_gone(*ret)) {
            hf__log_broke(m->host->host, m->at.where,
                          "the server ended it while it was idle");
            drop(m, *ret);
            rc = HF_BUSY;
        }
        if (rc != HF_BUSY)
            return rc;
    }
}

/* Whatever the borrower says, what is in a transaction is not lent again. */
void hf__maria_give_back(hf_session *s, bool ruined) {
    hf_maria *m = s->db;

    if (s->ruined)
        hf__log_broke(m->host->host, m->at.where, "it broke in use");
    if (ruined || s->ruined || s->my.server_status & SERVER_STATUS_IN_TRANS) {
        drop(m, s);
        return;
    }
    pthread_mutex_lock(&m->mu);
    forget(m, s);
    s->next = m->idle;
    m->idle = s;
    if (m->room < HF_MARIADB_SESSIONS && !m->lent)
        m->room = HF_MARIADB_SESSIONS; /* it may bear more again */
    pthread_cond_signal(&m->freed);
    pthread_mutex_unlock(&m->mu);
}

static void close_chain(hf_session *s, bool forked) {
    while (s) {
        hf_session *next = s->next;

        hf__maria_hang_up(s, forked);
        s = next;
    }
}

void hf__maria_close_all(hf_maria *m, bool forked) {
    close_chain(m->idle, forked);
    close_chain(m->lent, forked); /* only in a forked child are there any */
    m->idle = m->lent = NULL;
}
