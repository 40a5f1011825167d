/* SPDX-License-Identifier: MIT
 *
 * counting_test.cpp - semaphores, latches, jobs, and the guard of a file. */
#include "check.hpp"

#include <filesystem>
#include <future>

using namespace check;
using holdfast::errc;

TEST(a_semaphore_counts) {
    holdfast::client client(fresh_store());
    holdfast::semaphore sem(client, "s");
    CHECK(sem.set(3));
    CHECK(!sem.set(5));
    sem.acquire();
    sem.acquire(2, 5s);
    CHECK(!sem.try_acquire());
    CHECK(!sem.try_acquire(1, 20ms));
    CHECK(thrown([&] { sem.acquire(1, 20ms); }).code() == errc::timeout);
    sem.release(3);
    CHECK_EQUAL(sem.count().available, 3);
    sem.add(2);
    CHECK_EQUAL(sem.drain(), 5);
    sem.resize(1);
    CHECK(sem.try_acquire());
    sem.remove();
    CHECK(thrown([&] { sem.remove(); }).code() == errc::free);
    CHECK(thrown([&] { sem.release_if_set(); }).code() == errc::free);
    CHECK_EQUAL(sem.name(), "s");
}

TEST(leased_permits_are_locks) {
    holdfast::client client(fresh_store());
    holdfast::semaphore sem(client, "api");
    sem.set(2);
    holdfast::lock_options with;
    with.kind = holdfast::kind::permit;
    holdfast::lock a(client, "api", with), b(client, "api", with),
        c(client, "api", with);
    const auto one = a.acquire();
    {
        const auto two = b.acquire();
        CHECK_EQUAL(sem.count().leased, 2);
        CHECK(!c.try_acquire());
    }
    CHECK(c.try_acquire());
}

TEST(a_latch_opens) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::latch latch(client, "ready");
    CHECK(latch.try_wait()); /* one that was never set is open */
    CHECK(latch.set(2) && !latch.set(2));
    CHECK(!latch.try_wait() && !latch.try_wait(20ms));
    CHECK(thrown([&] { latch.wait(20ms); }).code() == errc::timeout);
    auto waits = std::async(std::launch::async, [&] {
        holdfast::client other(store);
        holdfast::latch(other, "ready").wait();
    });
    latch.count_down();
    CHECK_EQUAL(latch.count(), 1);
    latch.count_down();
    waits.get();
    latch.wait();
    latch.set(1);
    latch.remove();
    CHECK(latch.try_wait());
    CHECK_EQUAL(latch.name(), "ready");
}

/* ---- jobs -------------------------------------------------------------- */

TEST(a_job_runs_on_one_host_and_is_skipped_on_others) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::job_options with;
    with.at_least = 1min;
    holdfast::job mine(one, "nightly", with);
    CHECK(mine && mine.valid() && mine.token() > 0);
    CHECK(!holdfast::job(two, "nightly", with));
    mine.end();
    CHECK(!mine);
    CHECK(!holdfast::job(two, "nightly", with)); /* it has just been done */
    holdfast::outcome how;
    CHECK(!holdfast::job(two, "nightly", with, how) && how.busy());
}

TEST(a_job_ends_with_its_life_and_is_moved) {
    holdfast::client client(fresh_store());
    {
        holdfast::job job(client, "nightly");
        CHECK(bool(job));
        holdfast::job other(std::move(job));
        CHECK(!job && other.valid());
        holdfast::job &same = other;
        other = std::move(same);
        CHECK(other.valid());
        job = std::move(other);
        CHECK(job.valid());
    }
    holdfast::job again(client, "nightly");
    CHECK(bool(again));
    again = {};
    CHECK(bool(holdfast::job(client, "nightly")));
}

TEST(a_job_that_took_too_long_is_told) {
    holdfast::client client(fresh_store());
    holdfast::job_options with;
    with.at_most = 50ms;
    holdfast::job job(client, "nightly", with);
    const auto stop = job.get_stop_flag();
    CHECK(eventually([&] { return stop.stop_requested(); }));
    CHECK(thrown([&] { job.end(); }).code() == errc::lost);
}

TEST(a_job_that_is_taken_away_is_told) {
    const auto store = fresh_store();
    holdfast::options renewed_often;
    renewed_often.lease = 2s;
    renewed_often.renew = 20ms;
    holdfast::client client(store, renewed_often), operator_(store);
    holdfast::job job(client, "nightly");
    std::atomic<int> lost{0};
    job.on_state([&](holdfast::state now, std::error_code) {
        lost += now == holdfast::state::lost;
    });
    const auto stop = job.get_stop_flag();
    holdfast::lock(operator_, "nightly").force_release();
    CHECK(eventually([&] { return lost == 1 && stop.stop_requested(); }));
}

/* ---- the guard --------------------------------------------------------- */

TEST(a_guard_refuses_an_older_token) {
    const std::filesystem::path path = fresh_path("report.csv");
    holdfast::guard newer(path, 8);
    CHECK(newer && newer.fd() >= 0);
    newer.check();
    CHECK(thrown([&] { holdfast::guard(path, 7); }).code() == errc::lost);
    CHECK(!holdfast::guard(path, 9, 0s)); /* the one inside has to leave */
    CHECK(thrown([&] { newer.check(); }).code() == errc::lost);
    newer.leave();
    CHECK(!newer);
    holdfast::guard newest(path, 9);
    holdfast::guard moved(std::move(newest));
    CHECK(moved && !newest);
    std::error_code code;
    newest.check(code);
    CHECK(code == errc::usage);
}
