/* SPDX-License-Identifier: MIT
 *
 * loop.c - hf_fd, hf_process, and the queue behind them. */
#include "loop.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "acquire.h"
#include "alloc.h"
#include "client.h"
#include "err.h"
#include "uncancelled.h"

enum { MOST_EVENTS = 10000 }; /* that nobody has fetched */

struct hf_loop {
    hf_client *client;
    pthread_mutex_t mu;
    pthread_cond_t quiet; /* a ticket is over, or somebody was told */
    hf_item *first, *last;
    size_t n, n_events;
    int fd;            /* -1: nobody has asked for it */
    hf_runner *runner; /* NULL: nothing was ever begun */
    int refs;          /* the client's, and that of hf_process */
    bool closed;
    const void *telling; /* of whom somebody is being told… */
    pthread_t teller;    /* …by that thread */
};

/* ---- the queue (mu) ---------------------------------------------------- */

static void signal_fd(int fd) {
    uint64_t one = 1;

    if (fd >= 0)
        while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
            ;
}

static void calm_fd(int fd) {
    uint64_t was;

    if (fd >= 0)
        while (read(fd, &was, sizeof was) < 0 && errno == EINTR)
            ;
}

static void append(hf_loop *loop, hf_item *item) {
    item->next = NULL;
    item->prev = loop->last;
    *(loop->last ? &loop->last->next : &loop->first) = item;
    loop->last = item;
    item->queued = true;
    if (loop->n++ == 0)
        signal_fd(loop->fd);
}

static void unlink_item(hf_loop *loop, hf_item *item) {
    *(item->prev ? &item->prev->next : &loop->first) = item->next;
    *(item->next ? &item->next->prev : &loop->last) = item->prev;
    item->queued = false;
    if (--loop->n == 0)
        calm_fd(loop->fd);
}

static bool tells_myself(const hf_loop *loop) {
    return loop->telling && pthread_equal(loop->teller, pthread_self());
}

/* Until nobody is being told of it by another thread. */
static void await_quiet(hf_loop *loop, const void *via) {
    while (loop->telling == via && !tells_myself(loop))
        hf__world->wait(&loop->quiet, &loop->mu, HF_NEVER);
}

/* ---- tickets ----------------------------------------------------------- */

static hf_ticket *ticket_of(hf_item *item) {
    return (hf_ticket *)((char *)item - offsetof(hf_ticket, item));
}

/* mu. */
static void leave_object(hf_ticket *ticket) {
    *(ticket->prev ? &ticket->prev->next : &ticket->of->first) = ticket->next;
    if (ticket->next)
        ticket->next->prev = ticket->prev;
}

static void tell_ticket(hf_loop *loop, hf_item *item) {
    hf_ticket *ticket = ticket_of(item);

    leave_object(ticket);
    pthread_mutex_unlock(&loop->mu);
    if (ticket->fn)
        ticket->fn(ticket->arg, ticket->rc, &ticket->err);
    hf__free(ticket);
    pthread_mutex_lock(&loop->mu);
}

/* Nobody hears of it. */
static void bury(hf_ticket *ticket) {
    if (ticket->undo && ticket->rc == HF_OK)
        ticket->undo(ticket);
    hf__free(ticket);
}

static void drop_ticket(hf_item *item) {
    hf__free(ticket_of(item));
}

static void be_over(hf_ticket *ticket, int rc) {
    hf_loop *loop = ticket->loop;
    bool dropped;

    ticket->rc = ticket->err.code = rc;
    if (rc >= 0)
        ticket->err.text[0] = 0;
    pthread_mutex_lock(&loop->mu);
    dropped = ticket->dropped;
    if (dropped) {
        leave_object(ticket);
        pthread_cond_broadcast(&loop->quiet);
    } else {
        append(loop, &ticket->item);
    }
    pthread_mutex_unlock(&loop->mu);
    if (dropped)
        bury(ticket);
}

static bool step_ticket(hf_task *task) {
    hf_ticket *ticket = (hf_ticket *)((char *)task - offsetof(hf_ticket, task));
    int rc = ticket->run(ticket);

    if (rc == HF_SLEEPS && !ticket->once)
        return true;
    be_over(ticket, rc);
    return false;
}

static int open_runner(hf_loop *loop, hf_error *err) {
    int rc = HF_OK;

    pthread_mutex_lock(&loop->mu);
    if (!loop->runner)
        rc = hf__runner_new(&loop->runner, err);
    pthread_mutex_unlock(&loop->mu);
    if (rc == HF_OK && (rc = hf__runner_reserve(loop->runner)) < 0)
        hf__fail_plain(err, rc);
    return rc;
}

hf_ticket *hf__ticket_new(size_t size, hf_loop *loop, hf_tickets *of,
                          int (*run)(hf_ticket *), hf_done_fn *fn, void *arg,
                          hf_error *err) {
    hf_ticket *ticket;

    if (open_runner(loop, err) < 0)
        return NULL;
    ticket = hf__calloc(1, size);
    if (!ticket) {
        hf__runner_settle(loop->runner);
        hf__fail_plain(err, HF_ENO_MEMORY);
        return NULL;
    }
    ticket->item.tell = tell_ticket;
    ticket->item.drop = drop_ticket;
    ticket->item.via = of;
    ticket->task.step = step_ticket;
    ticket->task.by = HF_NEVER;
    ticket->task.runner = loop->runner;
    ticket->loop = loop;
    ticket->of = of;
    ticket->run = run;
    ticket->fn = fn;
    ticket->arg = arg;
    pthread_mutex_lock(&loop->mu);
    ticket->next = of->first;
    if (of->first)
        of->first->prev = ticket;
    of->first = ticket;
    pthread_mutex_unlock(&loop->mu);
    return ticket;
}

void hf__ticket_start(hf_ticket *ticket) {
    hf__runner_start(&ticket->task);
}

void hf__ticket_skip(hf_ticket *ticket, int rc) {
    hf_runner *runner = ticket->task.runner;

    be_over(ticket, rc);
    hf__runner_settle(runner);
}

bool hf__tickets_drop(hf_loop *loop, hf_tickets *tickets) {
    hf_ticket *over = NULL, *next;
    bool left;

    pthread_mutex_lock(&loop->mu);
    await_quiet(loop, tickets);
    for (hf_ticket *ticket = tickets->first; ticket; ticket = next) {
        next = ticket->next;
        ticket->dropped = true;
        if (!ticket->item.queued)
            continue;
        unlink_item(loop, &ticket->item);
        leave_object(ticket);
        ticket->next = over;
        over = ticket;
    }
    left = tickets->first != NULL;
    pthread_mutex_unlock(&loop->mu);
    for (; over; over = next) {
        next = over->next;
        bury(over);
    }
    return left;
}

void hf__tickets_await(hf_loop *loop, hf_tickets *tickets) {
    pthread_mutex_lock(&loop->mu);
    while (tickets->first)
        hf__world->wait(&loop->quiet, &loop->mu, HF_NEVER);
    pthread_mutex_unlock(&loop->mu);
}

/* ---- states and events ------------------------------------------------- */

static void tell_change(hf_loop *loop, hf_item *item) {
    hf_change told = *(hf_change *)((char *)item - offsetof(hf_change, item));

    pthread_mutex_unlock(&loop->mu);
    told.fn(told.arg, told.lock, told.state, told.why);
    pthread_mutex_lock(&loop->mu);
}

void hf__loop_state(hf_loop *loop, hf_change *change, hf_lock *lock,
                    hf_state_fn *fn, void *arg, hf_state state, int why) {
    pthread_mutex_lock(&loop->mu);
    change->lock = lock;
    change->fn = fn;
    change->arg = arg;
    change->state = state;
    change->why = why;
    change->item.tell = tell_change;
    change->item.via = change;
    if (!change->item.queued)
        append(loop, &change->item);
    pthread_mutex_unlock(&loop->mu);
}

void hf__loop_redirect(hf_loop *loop, hf_change *change, hf_state_fn *fn,
                       void *arg) {
    pthread_mutex_lock(&loop->mu);
    change->fn = fn;
    change->arg = arg;
    if (!fn && change->item.queued)
        unlink_item(loop, &change->item);
    await_quiet(loop, change);
    pthread_mutex_unlock(&loop->mu);
}

typedef struct event_item {
    hf_item item;
    hf_event event;
    char text[]; /* name and store */
} event_item;

static void drop_event(hf_item *item) {
    hf__free((char *)item - offsetof(event_item, item));
}

static void tell_event(hf_loop *loop, hf_item *item) {
    event_item *it = (event_item *)((char *)item - offsetof(event_item, item));
    const hf_client *client = loop->client;

    loop->n_events--;
    pthread_mutex_unlock(&loop->mu);
    client->on_event(client->event_arg, &it->event);
    hf__free(it);
    pthread_mutex_lock(&loop->mu);
}

void hf__loop_event(hf_loop *loop, const hf_event *event) {
    size_t name = strlen(event->name) + 1, store = strlen(event->store) + 1;
    event_item *it = hf__malloc(sizeof *it + name + store);

    if (!it)
        return;
    *it = (event_item){.item = {.tell = tell_event, .drop = drop_event},
                       .event = *event};
    it->event.name = memcpy(it->text, event->name, name);
    it->event.store = memcpy(it->text + name, event->store, store);
    it->item.via = loop;
    pthread_mutex_lock(&loop->mu);
    if (loop->n_events < MOST_EVENTS) {
        loop->n_events++;
        append(loop, &it->item);
        it = NULL;
    }
    pthread_mutex_unlock(&loop->mu);
    hf__free(it);
}

/* ---- the loop itself --------------------------------------------------- */

int hf__loop_new(hf_loop **ret, hf_client *client) {
    hf_loop *loop = hf__calloc(1, sizeof *loop);

    if (!loop)
        return HF_ENO_MEMORY;
    loop->client = client;
    loop->fd = -1;
    loop->refs = 1;
    pthread_mutex_init(&loop->mu, NULL);
    pthread_cond_init(&loop->quiet, NULL);
    *ret = loop;
    return HF_OK;
}

/* mu, which it lets go; the last one frees it. */
static void put(hf_loop *loop) {
    bool last = --loop->refs == 0;

    pthread_mutex_unlock(&loop->mu);
    if (!last)
        return;
    pthread_mutex_destroy(&loop->mu);
    pthread_cond_destroy(&loop->quiet);
    hf__free(loop);
}

void hf__loop_stop(hf_loop *loop) {
    if (!loop)
        return;
    if (loop->runner) /* whoever forgot to free a lock shall not wait here */
        hf__spots_cancel_tasks(&loop->client->spots);
    hf__runner_free(loop->runner);
    loop->runner = NULL;
    hf__tickets_drop(loop, &loop->client->tickets);
}

void hf__loop_close(hf_loop *loop) {
    hf_item *item;

    if (!loop)
        return;
    pthread_mutex_lock(&loop->mu);
    while ((item = loop->first)) {
        unlink_item(loop, item);
        if (item->drop)
            item->drop(item);
    }
    if (loop->fd >= 0)
        close(loop->fd);
    loop->fd = -1;
    loop->closed = true;
    put(loop);
}

static int open_fd(hf_loop *loop) {
    if (loop->fd < 0) {
        loop->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (loop->n > 0)
            signal_fd(loop->fd);
    }
    return loop->fd < 0 ? HF_ESYSTEM : loop->fd;
}

int hf_fd(hf_client *client) {
    HF_UNCANCELLED;
    int rc;

    if (!client)
        return HF_EUSAGE;
    if ((rc = hf__check_process(client, NULL)))
        return rc;
    pthread_mutex_lock(&client->loop->mu);
    rc = open_fd(client->loop);
    pthread_mutex_unlock(&client->loop->mu);
    return rc;
}

/* mu on entry and exit, not between. */
static void tell_next(hf_loop *loop) {
    hf_item *item = loop->first;

    unlink_item(loop, item);
    loop->telling = item->via;
    loop->teller = pthread_self();
    item->tell(loop, item);
    loop->telling = NULL;
    pthread_cond_broadcast(&loop->quiet);
}

/* As many as there are now: what they add is for the next time, so that the
 * caller's other business has its turn. */
static int tell_all(hf_loop *loop) {
    size_t n = loop->n;
    int told = 0;

    while (n-- > 0 && loop->first && !loop->closed) {
        tell_next(loop);
        told++;
    }
    return told;
}

int hf_process(hf_client *client) {
    HF_UNCANCELLED;
    hf_loop *loop;
    int rc;

    if (!client)
        return HF_EUSAGE;
    if ((rc = hf__check_process(client, NULL)))
        return rc;
    loop = client->loop;
    pthread_mutex_lock(&loop->mu);
    loop->refs++; /* somebody who is told may close the client */
    if (tells_myself(loop))
        rc = HF_EUSAGE;
    else if (!loop->telling) /* else another thread is at it */
        rc = tell_all(loop);
    put(loop);
    return rc;
}
