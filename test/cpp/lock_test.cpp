/* SPDX-License-Identifier: MIT
 *
 * lock_test.cpp - locks under the standard's hands, and holds. */
#include "check.hpp"

#include <future>
#include <mutex>
#include <shared_mutex>

using namespace check;
using holdfast::errc;

/* A lock that another client holds, as far as others can see. */
static bool taken(const std::string &store, const char *name,
                  holdfast::kind kind = holdfast::kind::lock) {
    holdfast::client client(store);
    holdfast::lock_options with;
    with.kind = kind;
    return !holdfast::lock(client, name, with).try_acquire();
}

/* ---- the standard's locks ---------------------------------------------- */

TEST(a_lock_guard_holds_and_releases) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x");
    {
        std::lock_guard<holdfast::lock> inside(lock);
        CHECK(lock.is_held());
        CHECK(taken(store, "x"));
    }
    CHECK(!lock.is_held());
    CHECK(!taken(store, "x"));
}

TEST(a_unique_lock_tries_waits_and_gives_up) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::lock a(one, "x"), b(two, "x");
    std::unique_lock<holdfast::lock> first(a);
    CHECK(first.owns_lock());
    std::unique_lock<holdfast::lock> second(b, std::try_to_lock);
    CHECK(!second.owns_lock());

    const auto begun = std::chrono::steady_clock::now();
    CHECK(!second.try_lock_for(50ms));
    CHECK(std::chrono::steady_clock::now() - begun >= 50ms);
    CHECK(!second.try_lock_until(std::chrono::steady_clock::now() + 20ms));
    CHECK(!second.try_lock_until(std::chrono::system_clock::now() - 1h));

    first.unlock();
    CHECK(second.try_lock_until(std::chrono::system_clock::now() + 20s));
    second.unlock();
    CHECK(second.try_lock_for(std::chrono::hours::max()));
    first.release();
    second.release()->unlock();
    CHECK(!taken(store, "x"));
}

struct set_back { /* the first time it is looked at after a wait */
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<set_back>;
    static inline int asked = 0;
    static time_point now() {
        return time_point(duration(++asked < 4 ? 80 : 101));
    }
};

TEST(a_clock_that_was_set_back_makes_it_wait_on) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::lock a(one, "x"), b(two, "x");
    std::lock_guard<holdfast::lock> inside(a);
    CHECK(!b.try_lock_until(set_back::time_point(100ms)));
    CHECK_EQUAL(set_back::asked, 4);
}

TEST(a_scoped_lock_takes_two_in_any_order) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    int inside = 0, most = 0, rounds = 0;
    std::mutex counted;
    const auto work = [&](holdfast::client &client, bool turned) {
        holdfast::lock a(client, "a"), b(client, "b");
        for (int i = 0; i < 10; i++) {
            std::scoped_lock both(turned ? b : a, turned ? a : b);
            {
                std::lock_guard<std::mutex> here(counted);
                most = std::max(most, ++inside);
            }
            std::this_thread::yield();
            std::lock_guard<std::mutex> here(counted);
            inside--, rounds++;
        }
    };
    std::thread other(work, std::ref(two), true);
    work(one, false);
    other.join();
    CHECK_EQUAL(rounds, 20);
    CHECK_EQUAL(most, 1);
}

TEST(a_shared_lock_lets_readers_in_and_no_writer) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store), three(store);
    holdfast::shared_mutex a(one, "pages"), b(two, "pages"), c(three, "pages");
    {
        std::shared_lock<holdfast::shared_mutex> reads(a);
        std::shared_lock<holdfast::shared_mutex> as_well(b, 5s);
        CHECK(reads.owns_lock() && as_well.owns_lock());
        CHECK(!c.try_lock());
        CHECK(!c.try_lock_for(20ms));
    }
    std::unique_lock<holdfast::shared_mutex> writes(a, 5s);
    CHECK(writes.owns_lock());
    std::shared_lock<holdfast::shared_mutex> reads(b, std::try_to_lock);
    CHECK(!reads.owns_lock());
    CHECK(!reads.try_lock_for(20ms));
    CHECK(!reads.try_lock_until(std::chrono::steady_clock::now() + 20ms));
    writes.unlock();
    CHECK(reads.try_lock_for(20s));
    CHECK(b.reader().is_held() && !b.writer().is_held());
    CHECK(b.reader().token() > 0);
}

TEST(two_clients_exclude_each_other_and_one_wakes_the_other) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::lock a(one, "x"), b(two, "x");
    auto hold = a.acquire();
    auto waits = std::async(std::launch::async, [&] {
        return b.acquire(20s).token(); /* and gives it back */
    });
    CHECK(eventually([&] {
        int waiters = 0;
        one.list("x", [&](const hf_place &p) { waiters += !p.holds; });
        return waiters == 1;
    }));
    const auto token = hold.token();
    hold.release();
    CHECK(waits.get() > token);
}

TEST(a_wait_is_cancelled_from_another_thread) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::lock a(one, "x"), b(two, "x");
    std::lock_guard<holdfast::lock> inside(a);
    std::atomic<bool> ended{false};
    std::error_code code;
    std::thread waits([&] {
        b.lock(code);
        ended = true;
    });
    CHECK(eventually([&] {
        b.cancel();
        return ended.load();
    }));
    waits.join();
    CHECK(code == errc::cancelled);
    CHECK(code == std::errc::operation_canceled);
}

/* ---- holds ------------------------------------------------------------- */

TEST(a_hold_releases_when_its_life_ends) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x");
    {
        auto hold = lock.acquire(5s);
        CHECK(hold && hold.valid());
        CHECK(hold.token() > 0 && hold.token() == lock.token());
        CHECK(hold.remaining() > 0ms && hold.remaining() <= 30s);
        CHECK(taken(store, "x"));
    }
    CHECK(!taken(store, "x"));
    try {
        auto hold = lock.acquire(5s);
        throw 1;
    } catch (int) {
    }
    CHECK(!taken(store, "x"));
}

TEST(time_that_runs_out_is_thrown_or_an_empty_hold) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::lock a(one, "x"), b(two, "x");
    const auto hold = a.acquire();
    const auto e = thrown([&] { b.acquire(20ms); });
    CHECK(e.code() == errc::timeout);
    CHECK(e.get_class() == holdfast::error_class::not_done);
    CHECK(std::string(e.what()).find("'x'") != std::string::npos);
    CHECK(!b.try_acquire());
    CHECK(!b.try_acquire(20ms));
    holdfast::outcome how;
    CHECK(!b.try_acquire(20ms, how) && how.busy());
    CHECK(!b.acquire(20ms, how) && how.code() == errc::timeout);
    CHECK(!b.acquire(0s, how) && how.busy());
}

TEST(holds_are_moved_and_moved_to_themselves) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock x(client, "x"), y(client, "y");
    auto a = x.acquire();
    const auto token = a.token();
    holdfast::hold b(std::move(a));
    CHECK(!a && b.token() == token);
    holdfast::hold &same = b;
    b = std::move(same);
    CHECK(b && b.token() == token && taken(store, "x"));
    b = y.acquire(); /* which gives x back */
    CHECK(!taken(store, "x") && taken(store, "y"));
    b = {};
    CHECK(!b && !taken(store, "y"));
}

TEST(locks_are_moved_while_they_are_held) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock a(client, "x");
    auto hold = a.acquire();
    std::vector<holdfast::lock> list;
    list.push_back(std::move(a));
    list.emplace_back(client, "y");
    holdfast::client moved(std::move(client));
    CHECK(!client && !a);
    CHECK(hold.valid() && list[0].is_held());
    holdfast::lock &same = list[0];
    list[0] = std::move(same);
    CHECK(list[0].is_held());
    hold.release();
    CHECK(!taken(store, "x"));
}

TEST(a_hold_keeps_its_lock_and_the_lock_its_client) {
    const auto store = fresh_store();
    holdfast::hold hold = [&] {
        holdfast::client client(store);
        return holdfast::lock(client, "x").acquire();
    }();
    CHECK(hold.valid());
    CHECK(taken(store, "x"));
    hold.release();
    CHECK(!taken(store, "x"));
}

TEST(each_hold_of_a_reentrant_lock_is_given_back) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x");
    auto outer = lock.acquire();
    {
        auto inner = lock.acquire(0s);
        CHECK_EQUAL(lock.holds(), 2);
        CHECK_EQUAL(inner.token(), outer.token());
    }
    CHECK_EQUAL(lock.holds(), 1);
    CHECK(taken(store, "x"));
    outer.release();
    CHECK(!taken(store, "x"));
    CHECK(thrown([&] { outer.release(); }).code() == errc::usage);

    holdfast::lock_options once;
    once.no_reentry = true;
    holdfast::lock strict(client, "y", once);
    const auto hold = strict.acquire();
    CHECK(thrown([&] { strict.acquire(0s); }).code() == errc::usage);
}

TEST(another_thread_releases_what_its_handle_owns_and_nothing_else) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock threads(client, "x");
    auto hold = threads.acquire();
    std::thread([&] {
        CHECK(thrown([&] { hold.release(); }).code() == errc::not_owner);
    }).join();
    CHECK(hold.valid());
    hold.release();

    holdfast::lock_options with;
    with.owner_handle = true;
    holdfast::lock handles(client, "x", with);
    hold = handles.acquire();
    std::thread([&, mine = std::move(hold)]() mutable {
        CHECK(mine.valid() && mine.token() == handles.token());
        holdfast::hold ends(std::move(mine));
    }).join();
    CHECK(!taken(store, "x"));
}

TEST(a_hold_is_extended_and_released_for_later) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock_options with;
    with.lease = 5s;
    holdfast::lock lock(client, "x", with);
    auto hold = lock.acquire();
    CHECK(hold.remaining() <= 5s);
    hold.extend(1min);
    CHECK(hold.remaining() > 30s);
    hold.release_after(1min);
    CHECK(!hold && taken(store, "x"));
    lock.force_release();
    CHECK(!taken(store, "x"));
    CHECK(thrown([&] { lock.force_release(); }).code() == errc::free);
    CHECK(lock.last_token() > 0);
}

TEST(a_lock_tells_its_name_owner_and_store) {
    const auto store = fresh_store();
    holdfast::options of;
    of.why = "to see it";
    of.program = "lock_test";
    holdfast::client client(store, of);
    holdfast::lock lock(client, "x");
    CHECK_EQUAL(lock.name(), "x");
    CHECK_EQUAL(lock.owner(), "");
    CHECK(!client.store().empty() && lock.store() == client.store());
    CHECK(client.can(holdfast::kind::fair) & HF_CAN_ORDER);
    const auto hold = lock.acquire();
    std::string owner, why, program;
    client.list("", [&](const hf_place &p) {
        owner = p.owner, why = p.why, program = p.program;
    });
    CHECK_EQUAL(owner, lock.owner());
    CHECK_EQUAL(why, "to see it");
    CHECK_EQUAL(program, "lock_test");
}

TEST(what_a_listener_throws_comes_out_of_list) {
    holdfast::client client(fresh_store());
    holdfast::lock x(client, "x"), y(client, "y");
    const auto one = x.acquire(), two = y.acquire();
    int told = 0;
    try {
        client.list("", [&](const hf_place &) { throw ++told; });
        CHECK(!"it was thrown");
    } catch (int first) {
        CHECK_EQUAL(first, 1);
    }
    CHECK_EQUAL(told, 2);
    client.stats([&](const hf_sample &s) {
        if (std::string(s.metric) == "holdfast_lock_held")
            told = static_cast<int>(s.value);
    });
    CHECK(told > 0);
}

TEST(events_are_heard) {
    const auto store = fresh_store();
    std::atomic<int> granted{0}, released{0};
    holdfast::options with;
    with.on_event = [&](const hf_event &e) {
        granted += e.kind == HF_EVENT_GRANTED && e.name == std::string("x");
        released += e.kind == HF_EVENT_RELEASED;
    };
    {
        holdfast::client client(store, with);
        holdfast::lock(client, "x").acquire();
    }
    CHECK_EQUAL(granted.load(), 1);
    CHECK_EQUAL(released.load(), 1);
}

/* ---- several at once --------------------------------------------------- */

TEST(a_multi_lock_is_all_or_nothing) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::lock a(one, "a"), b(one, "b"), other(two, "b");
    holdfast::multi both(a, b);
    auto in_the_way = other.acquire();
    CHECK(!both.try_acquire());
    CHECK(!taken(store, "a"));
    in_the_way.release();
    {
        std::lock_guard<holdfast::multi> inside(both);
        CHECK(taken(store, "a") && taken(store, "b"));
        CHECK(thrown([&] { a.lock(); }).code() == errc::usage);
    }
    auto hold = both.acquire(5s);
    CHECK(hold.valid() && a.token() > 0);
    hold.release();
    CHECK(!taken(store, "a") && !taken(store, "b"));
    CHECK_EQUAL(both.name(), "a + b");

    std::error_code code;
    holdfast::multi twice({&a, &a}, code);
    CHECK(!twice && code == errc::usage);
}

TEST(a_multi_lock_keeps_its_members_and_leaves_them_usable) {
    const auto store = fresh_store();
    holdfast::client client(store);
    auto a = std::make_unique<holdfast::lock>(client, "a");
    holdfast::lock b(client, "b");
    auto both = std::make_unique<holdfast::multi>(*a, b);
    a.reset();
    both->lock();
    CHECK(taken(store, "a"));
    both.reset();
    CHECK(!taken(store, "a") && !taken(store, "b"));
    CHECK(b.try_lock());
}
