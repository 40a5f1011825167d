/* SPDX-License-Identifier: MIT
 *
 * check.hpp - how a file of C++ tests becomes a program.
 *
 *     TEST(a_held_lock_is_busy_for_others) { CHECK(!other.try_lock()); }
 *
 * Run as the C tests are: --list, names, or all; each by CTest in a process of
 * its own.  What fails ends the process at once, and says both sides. */
#ifndef HF_TEST_CHECK_HPP
#define HF_TEST_CHECK_HPP

#include "holdfast.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

namespace check {

using namespace std::chrono_literals;

struct test {
    test(const char *name, void (*body)());
    const char *name;
    void (*body)();
    test *next;
};

/* A fresh embedded store, of its own for each call. */
std::string fresh_store();
std::string fresh_path(const char *what);

[[noreturn]] void fail(const char *file, int line, const std::string &what);

/* Waits for an event, and never for a while. */
template <class Condition> bool eventually(Condition condition) {
    const auto by = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > by)
            return false;
        std::this_thread::sleep_for(2ms);
    }
    return true;
}

#ifdef __cpp_exceptions
/* What `call` throws, which must be a holdfast::error. */
template <class Call> holdfast::error thrown(Call call) {
    try {
        call();
    } catch (const holdfast::error &e) {
        return e;
    }
    fail(__FILE__, __LINE__, "nothing was thrown");
}
#endif

template <class A, class B>
void equal(const A &a, const B &b, const char *what, const char *file,
           int line) {
    if (a == b)
        return;
    std::ostringstream text;
    text << what << ": " << a << " is not " << b;
    fail(file, line, text.str());
}

} // namespace check

#define TEST(name)                                                             \
    static void name();                                                        \
    static const check::test name##_test(#name, name);                         \
    static void name()

#define CHECK(what) ((what) ? (void)0 : check::fail(__FILE__, __LINE__, #what))

#define CHECK_EQUAL(a, b)                                                      \
    check::equal((a), (b), #a " == " #b, __FILE__, __LINE__)

#endif
