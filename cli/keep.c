/* SPDX-License-Identifier: MIT
 *
 * keep.c - holding without a command to run. */
#include "keep.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "../view/kind.h"
#include "moment.h"
#include "notify.h"
#include "status.h"

static bool was_lost(grant *g) {
    grant_news news;
    while (grant_news_next(g, &news))
        if (news.kind == NEWS_STATE && news.state == HF_STATE_LOST) {
            complain("lost the %s '%s': %s", kind_title(g->wish->kind),
                     grant_lost_name(g), hf_strerror(news.why));
            return true;
        }
    return false;
}

static int ending_signal(const signals *s) {
    bool terminal;
    int sig;
    while ((sig = signals_next(s, &terminal)) != 0) {
        if (sig == SIGTSTP)
            kill(getpid(), SIGSTOP);
        if (signals_ends(sig))
            return sig;
    }
    return 0;
}

/* What comes in is thrown away; the end of it is what we wait for. */
static bool has_ended(int input) {
    char buf[4096];
    ssize_t n = read(input, buf, sizeof(buf));
    return n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
}

int keep(grant *g, const signals *s, int input) {
    struct pollfd fds[] = {{.fd = s->fd, .events = POLLIN},
                           {.fd = g->news, .events = POLLIN},
                           {.fd = input, .events = POLLIN}};
    int64_t beat = 0;
    int sig;
    for (;;) {
        beat = notify_beat(beat);
        poll(fds, 3, moment_timeout(beat));
        if (was_lost(g))
            return EXIT_LOST;
        if ((sig = ending_signal(s)) != 0)
            return EXIT_SIGNAL + sig;
        if (fds[2].revents && has_ended(input))
            return 0;
    }
}
