/* SPDX-License-Identifier: MIT
 *
 * peer.c - two pipes and a pid. */
#include "peer.h"

#include "process.h"
#include "wait.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct hf_test_peer {
    pid_t pid;
    int in, out;
    char line[1024];
    size_t heard; /* of a line that is not complete */
};

static const char *program(void) {
    static char beside[512];
    const char *given = getenv("HF_PEER");
    if (given != NULL)
        return given;
    ssize_t n = readlink("/proc/self/exe", beside, sizeof beside - 16);
    if (n < 0)
        n = 0;
    while (n > 0 && beside[n - 1] != '/')
        n--;
    snprintf(beside + n, sizeof beside - (size_t)n, "hf-peer");
    return beside;
}

hf_test_peer *hf_test_peer_start(const char *uri) {
    char *argv[] = {(char *)program(), NULL};
    hf_test_need(access(argv[0], X_OK) == 0, "hf-peer was not built");
    return hf_test_peer_start_as(argv, uri);
}

hf_test_peer *hf_test_peer_start_as(char *const argv[], const char *uri) {
    int in[2], out[2];
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    hf_test_peer *peer = calloc(1, sizeof *peer);
    assert_non_null(peer);
    peer->pid = hf_test_spawn(argv, in[0], out[1], -1);
    peer->in = in[1];
    peer->out = out[0];
    close(in[0]);
    close(out[1]);
    assert_string_equal(hf_test_peer_ask(peer, "open %s", uri), "OK");
    return peer;
}

void hf_test_peer_stop(hf_test_peer *peer) {
    if (peer == NULL)
        return;
    hf_test_kill(peer->pid);
    if (peer->in >= 0)
        close(peer->in);
    close(peer->out);
    free(peer);
}

__attribute__((format(printf, 2, 0))) static void
send_line(hf_test_peer *peer, const char *format, va_list ap) {
    char line[2048];
    int n = vsnprintf(line, sizeof line - 1, format, ap);
    line[n++] = '\n';
    assert_int_equal(write(peer->in, line, (size_t)n), n);
}

void hf_test_peer_send(hf_test_peer *peer, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    send_line(peer, format, ap);
    va_end(ap);
}

/* Byte by byte: answers are short and rare.  What came of a line before the
 * time was over stays for the next call. */
const char *hf_test_peer_answer(hf_test_peer *peer, int ms) {
    int64_t by = hf_test_now_ms() + ms;
    while (peer->heard < sizeof peer->line - 1) {
        char *at = &peer->line[peer->heard];
        int64_t left = by - hf_test_now_ms();
        struct pollfd p = {.fd = peer->out, .events = POLLIN};
        if (left < 0 || poll(&p, 1, (int)left) <= 0 ||
            read(peer->out, at, 1) != 1)
            return NULL;
        if (*at == '\n') {
            *at = 0;
            peer->heard = 0;
            return peer->line;
        }
        peer->heard++;
    }
    return NULL;
}

const char *hf_test_peer_ask(hf_test_peer *peer, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    send_line(peer, format, ap);
    va_end(ap);
    const char *answer = hf_test_peer_answer(peer, 3 * HF_TEST_LONG);
    if (answer == NULL)
        fail_msg("the peer did not answer: %s", format);
    return answer;
}

void hf_test_peer_signal(hf_test_peer *peer, int sig) {
    if (sig != SIGKILL) {
        hf_test_signal(peer->pid, sig);
        return;
    }
    hf_test_kill(peer->pid);
    peer->pid = 0;
}

void hf_test_peer_hang_up(hf_test_peer *peer) {
    close(peer->in);
    peer->in = -1;
    assert_null(hf_test_peer_answer(peer, HF_TEST_LONG));
    assert_int_equal(waitpid(peer->pid, NULL, 0), peer->pid);
    peer->pid = 0;
}

int hf_test_peer_exited(hf_test_peer *peer) {
    int status;
    assert_null(hf_test_peer_answer(peer, HF_TEST_LONG));
    assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
    peer->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

pid_t hf_test_peer_pid(const hf_test_peer *peer) {
    return peer->pid;
}
