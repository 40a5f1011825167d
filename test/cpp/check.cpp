/* SPDX-License-Identifier: MIT
 *
 * check.cpp - runs the tests of one program: see check.hpp. */
#include "check.hpp"

#include <cstring>

extern "C" {
#include "support/dir.h"
}

namespace check {

static test *&first() {
    static test *list = nullptr;
    return list;
}

test::test(const char *name_, void (*body_)())
    : name(name_), body(body_), next(nullptr) {
    test **end = &first();
    while (*end)
        end = &(*end)->next;
    *end = this;
}

std::string fresh_path(const char *what) {
    char path[512];
    hf_test_fresh_path(path, sizeof path, what);
    return path;
}

std::string fresh_store() {
    return "sqlite:" + fresh_path("locks.db");
}

void fail(const char *file, int line, const std::string &what) {
    std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, what.c_str());
    std::_Exit(1); /* threads may be running: nothing is cleared up */
}

static void run(const test &t) {
    std::printf("[ RUN      ] %s\n", t.name);
    std::fflush(stdout);
    t.body();
    std::printf("[       OK ] %s\n", t.name);
}

static int main(int argc, char **argv) {
    int found = 0;
    for (const test *t = first(); t; t = t->next) {
        bool wanted = argc == 1;
        for (int i = 1; i < argc; i++)
            wanted = wanted || std::strcmp(argv[i], t->name) == 0;
        if (argc > 1 && std::strcmp(argv[1], "--list") == 0)
            found++, std::puts(t->name);
        else if (wanted)
            found++, run(*t);
    }
    return found ? 0 : 1;
}

} // namespace check

int main(int argc, char **argv) {
    return check::main(argc, argv);
}
