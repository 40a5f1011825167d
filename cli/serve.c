/* SPDX-License-Identifier: MIT
 *
 * serve.c - `holdfast serve`: starts holdfast-serve, which is a program of its
 * own, and may be a package of its own: next to this one, or where programs
 * for programs are installed, or in $PATH. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "serve_options.h"
#include "status.h"

#ifndef HF_LIBEXEC
#define HF_LIBEXEC "../libexec/holdfast"
#endif

/* This program's folder, with a slash at its end; "" if it cannot be known. */
static void folder(char *buf, size_t size) {
    ssize_t n = readlink("/proc/self/exe", buf, size - 1);
    while (n > 0 && buf[n - 1] != '/')
        n--;
    buf[n > 0 ? n : 0] = '\0';
}

static void try(const char *where, const char *below, char **argv) {
    char path[5000];
    int n = snprintf(path, sizeof(path), "%s%sholdfast-serve", where, below);
    if (n > 0 && (size_t)n < sizeof(path) && access(path, X_OK) == 0)
        execv(path, argv);
}

/* The options are read there. */
static int run_serve(const command *cmd, int argc, char **argv) {
    char here[4096];
    (void)cmd, (void)argc;
    folder(here, sizeof(here));
    argv[0] = (char *)"holdfast-serve";
    if (*here) {
        try(here, "", argv);
        try(here, HF_LIBEXEC "/", argv);
    }
    execvp("holdfast-serve", argv);
    if (errno != ENOENT) {
        complain("holdfast-serve: %s", strerror(errno));
        return EXIT_NOT_EXECUTABLE;
    }
    complain("the console is not part of this installation: install "
             "holdfast-console (there is no holdfast-serve; it is built where "
             "libmicrohttpd-dev and libjansson-dev are installed)");
    return EXIT_NOT_FOUND;
}

const command serve_command = {
    .name = "serve",
    .operands = "",
    .summary = serve_summary,
    .about = serve_about,
    .options = serve_rows,
    .shared = serve_shared,
    .store = true,
    .run = run_serve,
};
