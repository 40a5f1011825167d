/* SPDX-License-Identifier: MIT
 *
 * unit20.cpp - the other unit of units_test, in C++20. */
#include "units.hpp"

#include <condition_variable>

static_assert(__cplusplus >= 202002L, "the newer one");

using namespace check;

const std::error_category &other_category() {
    return holdfast::category();
}

const std::error_category &other_class_category() {
    return holdfast::class_category();
}

void throw_by_other(holdfast::client &client) {
    holdfast::lock nameless(client, "");
}

void stops_with(holdfast::hold &hold, const std::function<void()> &lose) {
    const std::stop_token token = hold.get_stop_token();
    CHECK(!token.stop_requested());
    CHECK(token == hold.get_stop_token());
    std::atomic<bool> woken{false};
    std::thread worker([&] { /* sleeps until it is told */
                             std::mutex mutex;
                             std::condition_variable_any never;
                             std::unique_lock<std::mutex> inside(mutex);
                             never.wait(inside, token, [] { return false; });
                             woken = true;
    });
    lose();
    CHECK(eventually([&] { return woken.load(); }));
    worker.join();
    CHECK(token.stop_requested());
}

void fair_by_other(holdfast::client &client) {
    holdfast::lock fair(client, "x",
                        {.kind = holdfast::kind::fair, .lease = 5s});
    const auto hold = fair.acquire();
    CHECK(hold.remaining() <= 5s);
    holdfast::job job(client, "nightly", {.at_least = 1min});
    CHECK(bool(job));
}
