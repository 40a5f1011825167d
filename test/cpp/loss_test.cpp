/* SPDX-License-Identifier: MIT
 *
 * loss_test.cpp - a holder that no longer holds is told, in C++'s ways.
 *
 * Loss comes by an operator's hand: the holder learns it at its next renewal. */
#include "check.hpp"

using namespace check;
using holdfast::errc;
using holdfast::state;

static holdfast::lock_options renewed_often() {
    holdfast::lock_options with;
    with.watchdog = 2s;
    with.renew = 20ms;
    with.owner_handle = true; /* so that any thread may look */
    return with;
}

static void take_away(const std::string &store, const char *name) {
    holdfast::client client(store);
    holdfast::lock(client, name).force_release();
}

TEST(a_loss_is_told_to_callback_hold_and_release) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", renewed_often());
    std::atomic<int> told{0};
    std::error_code heard;
    lock.on_lost([&](std::error_code why) {
        heard = why;
        told++;
    });
    auto hold = lock.acquire();
    CHECK(hold.valid());
    take_away(store, "x");
    CHECK(eventually([&] { return told == 1; }));
    CHECK(heard == errc::lost);
    CHECK(hold && !hold.valid());
    const auto e = thrown([&] { hold.release(); });
    CHECK(e.code() == errc::lost);
    CHECK(e.get_class() == holdfast::error_class::not_held);
    CHECK(!hold);
    CHECK(lock.try_acquire());
    CHECK_EQUAL(told.load(), 1);
}

TEST(a_destructor_forgives_a_loss) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", renewed_often());
    {
        const auto hold = lock.acquire();
        take_away(store, "x");
        CHECK(eventually([&] { return !hold.valid(); }));
    }
    CHECK(lock.try_lock());
}

TEST(a_work_loop_in_another_thread_stops_when_it_is_lost) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", renewed_often());
    auto hold = lock.acquire();
    std::atomic<int> rounds{0};
    std::thread worker([&, stop = hold.get_stop_flag()] {
        while (!stop.stop_requested()) {
            rounds++;
            std::this_thread::yield();
        }
    });
    CHECK(eventually([&] { return rounds > 10; }));
    take_away(store, "x");
    worker.join();
    CHECK(hold.get_stop_flag().stop_requested());
    hold = {};
    hold = lock.acquire();
    CHECK(!hold.get_stop_flag().stop_requested());
}

TEST(a_hold_that_was_given_back_is_not_stopped_by_the_next_ones_loss) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", renewed_often());
    auto hold = lock.acquire();
    const auto before = hold.get_stop_flag();
    hold.release();
    hold = lock.acquire();
    const auto now = hold.get_stop_flag();
    take_away(store, "x");
    CHECK(eventually([&] { return now.stop_requested(); }));
    CHECK(!before.stop_requested());
}

TEST(a_flag_asked_for_after_the_loss_is_set) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", renewed_often());
    auto hold = lock.acquire();
    take_away(store, "x");
    CHECK(eventually([&] { return !hold.valid(); }));
    CHECK(hold.get_stop_flag().stop_requested());
}

TEST(a_callback_is_replaced_and_taken_away_from_within_too) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", renewed_often());
    std::atomic<int> first{0}, second{0};
    const auto life = std::make_shared<int>();
    lock.on_state([&, life](state now, std::error_code) {
        if (now != state::lost)
            return;
        lock.on_lost([&, life](std::error_code) {
            lock.on_state({});
            second++;
        });
        first++;
    });
    for (int i = 0; i < 3; i++) {
        auto hold = lock.acquire();
        take_away(store, "x");
        CHECK(eventually([&] { return !hold.valid(); }));
        CHECK(eventually(
            [&] { return first == 1 && second == (i > 0 ? 1 : 0); }));
    }
    CHECK(eventually([&] { return life.use_count() == 1; }));
}

TEST(taking_a_callback_away_or_replacing_it_waits_until_it_has_ended) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", renewed_often());
    for (const bool replaced : {false, true}) {
        std::atomic<bool> inside{false}, go_on{false}, over{false};
        lock.on_lost([&](std::error_code) {
            inside = true;
            eventually([&] { return go_on.load(); });
            over = true;
        });
        const auto hold = lock.acquire();
        take_away(store, "x");
        CHECK(eventually([&] { return inside.load(); }));
        std::thread later([&] { go_on = true; });
        if (replaced)
            lock.on_state([](state, std::error_code) {});
        else
            lock.on_state({});
        CHECK(over.load());
        later.join();
    }
}

TEST(a_multi_lock_is_lost_with_one_member_and_returns_their_callbacks) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock a(client, "a", renewed_often());
    holdfast::lock b(client, "b", renewed_often());
    std::atomic<int> of_a{0}, of_both{0};
    a.on_lost([&](std::error_code) { of_a++; });
    {
        holdfast::multi both(a, b);
        both.on_lost([&](std::error_code) { of_both++; });
        auto hold = both.acquire();
        take_away(store, "b");
        CHECK(eventually([&] { return of_both == 1; }));
        CHECK(!hold.valid() && of_a == 0);
    }
    const auto hold = a.acquire();
    take_away(store, "a");
    CHECK(eventually([&] { return of_a == 1; }));
}

TEST(a_lost_descriptor_is_a_descriptor) {
    holdfast::client client(fresh_store());
    holdfast::lock lock(client, "x");
    CHECK(lock.lost_fd() >= 0);
}

TEST(what_is_thrown_on_the_librarys_thread_ends_the_program) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", renewed_often());
    lock.on_lost([](std::error_code) { throw std::runtime_error("why not"); });
    std::set_terminate([] {
        try {
            std::rethrow_exception(std::current_exception());
        } catch (const std::exception &e) {
            std::_Exit(std::string(e.what()) == "why not" ? 0 : 1);
        }
    });
    const auto hold = lock.acquire();
    take_away(store, "x");
    eventually([] { return false; });
    CHECK(!"the program has ended");
}
