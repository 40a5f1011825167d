/* SPDX-License-Identifier: MIT
 *
 * units_test.cpp - one program of two units: this one is C++17, the other
 * C++20.  What one makes the other can use, throw and catch. */
#include "units.hpp"

static_assert(__cplusplus == 201703L, "the older one");

using namespace check;

TEST(both_units_mean_the_same_category) {
    CHECK(&holdfast::category() == &other_category());
    CHECK(&holdfast::class_category() == &other_class_category());
}

TEST(what_one_unit_throws_the_other_catches) {
    holdfast::client client(fresh_store());
    const auto e = thrown([&] { throw_by_other(client); });
    CHECK(e.code() == holdfast::errc::name);
}

TEST(a_stop_token_is_stopped_when_the_lock_is_lost) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock_options with;
    with.watchdog = 2s;
    with.renew = 20ms;
    with.owner_handle = true;
    holdfast::lock lock(client, "x", with);
    auto hold = lock.acquire();
    const auto flag = hold.get_stop_flag();
    stops_with(hold, [&] {
        holdfast::client operator_(store);
        holdfast::lock(operator_, "x").force_release();
    });
    CHECK(eventually([&] { return flag.stop_requested(); }));
}

TEST(options_may_be_named_from_20_on) {
    holdfast::client client(fresh_store());
    fair_by_other(client);
}
