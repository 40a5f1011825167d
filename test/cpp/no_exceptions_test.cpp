/* SPDX-License-Identifier: MIT
 *
 * no_exceptions_test.cpp - a program without exceptions and without RTTI: every
 * error comes back in an outcome or a code. */
#include "check.hpp"

#include <mutex>
#include <poll.h>

using namespace check;
using holdfast::errc;

#ifdef __cpp_exceptions
#error "this is for programs without"
#endif

TEST(everything_goes_without_exceptions) {
    const auto store = fresh_store();
    std::error_code code;
    holdfast::outcome how;
    holdfast::client one(store, {}, how), two(store, {}, code);
    CHECK(how && !code);
    holdfast::lock_options with;
    with.owner_handle = true;
    holdfast::lock a(one, "x", with, code), b(two, "x", with, code);
    CHECK(a && b && !code);
    {
        std::lock_guard<holdfast::lock> inside(a);
        CHECK(!b.try_acquire({}, how) && how.busy());
        CHECK(!b.acquire(20ms, code) && code == errc::timeout);
        CHECK(!b.acquire(20ms, how) && how.code() == errc::timeout);
        CHECK(std::string(how.what()).find("'x'") != std::string::npos);
    }
    auto hold = b.acquire(5s, code);
    CHECK(hold && !code);
    int told = 0;
    a.acquire_async(
        20s, [&](holdfast::hold, const holdfast::outcome &) { told++; }, how);
    CHECK(bool(how));
    hold.release(code);
    CHECK(!code);
    for (pollfd p{one.fd(), POLLIN, 0}; told == 0 && poll(&p, 1, 20000) > 0;)
        one.process(how);
    CHECK_EQUAL(told, 1);
    one.list(
        "", [](const hf_place &) {}, how);
    CHECK(bool(how));
    hold.release(code);
    CHECK(code == errc::usage);
}
