/* SPDX-License-Identifier: MIT
 *
 * clock.c - servers whose clocks the test sets: see skew.c. */
#include "clock.h"

#include "dir.h"
#include "wait.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct hf_test_clock {
    char path[160];
    _Atomic int64_t *off_ns;
};

hf_test_clock *hf_test_clock_new(void) {
    const char *library = getenv("HF_SKEW");
    hf_test_need(library != NULL && access(library, R_OK) == 0,
                 "the clock of test/support/skew.c was not built");
    hf_test_clock *clock = calloc(1, sizeof *clock);
    assert_non_null(clock);
    hf_test_fresh_path(clock->path, sizeof clock->path, "clock");
    int fd = open(clock->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    clock->off_ns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    assert_true(clock->off_ns != MAP_FAILED);
    return clock;
}

void hf_test_clock_set(hf_test_clock *clock, int off_ms) {
    atomic_store(clock->off_ns, off_ms * INT64_C(1000000));
}

/* The server inherits it, and nobody else. */
static void begin(const hf_test_clock *clock) {
    setenv("HF_SKEW_FILE", clock->path, 1);
    setenv("LD_PRELOAD", getenv("HF_SKEW"), 1);
}

static void end(void) {
    unsetenv("LD_PRELOAD");
    unsetenv("HF_SKEW_FILE");
}

hf_test_server *hf_test_clock_server(hf_test_clock *clock,
                                     const hf_test_server_options *options) {
    begin(clock);
    hf_test_server *server = hf_test_server_start(options);
    end();
    return server;
}

void hf_test_clock_restart(hf_test_clock *clock, hf_test_server *server) {
    begin(clock);
    hf_test_server_restart(server);
    end();
}
