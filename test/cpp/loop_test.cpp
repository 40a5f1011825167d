/* SPDX-License-Identifier: MIT
 *
 * loop_test.cpp - what is begun without waiting, in a loop that polls; above
 * all who owns the callbacks, and until when. */
#include "check.hpp"

#include <poll.h>

using namespace check;
using holdfast::errc;
using holdfast::outcome;

static holdfast::lock_options of_handle() {
    holdfast::lock_options with;
    with.owner_handle = true;
    return with;
}

/* A loop, until `condition`. */
template <class Condition>
static bool polls(const holdfast::client &client, Condition condition) {
    const auto by = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
        pollfd p{client.fd(), POLLIN, 0};
        if (poll(&p, 1, 1000) > 0)
            client.process();
        if (std::chrono::steady_clock::now() > by)
            return false;
    }
    return true;
}

/* Counts how often it is destroyed, copies and what was moved from apart. */
class witness {
  public:
    explicit witness(int &gone) : life_(&gone, [](int *n) { ++*n; }) {
    }

  private:
    std::shared_ptr<int> life_;
};

static bool taken(const std::string &store, const char *name) {
    holdfast::client client(store);
    return !holdfast::lock(client, name).try_acquire();
}

TEST(a_lock_is_acquired_and_released_in_a_loop) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", of_handle());
    holdfast::hold mine;
    int told = 0, gone = 0;
    lock.acquire_async(
        5s, [&, w = witness(gone)](holdfast::hold hold, const outcome &how) {
            CHECK(bool(how));
            mine = std::move(hold);
            told++;
        });
    CHECK_EQUAL(told, 0);
    CHECK(polls(client, [&] { return told == 1; }));
    CHECK_EQUAL(gone, 1);
    CHECK(mine.valid() && mine.token() > 0 && taken(store, "x"));

    mine.extend_async(1min, [&](const outcome &how) { told += bool(how); });
    CHECK(polls(client, [&] { return told == 2; }));
    CHECK(mine.remaining() > 40s);

    mine.release_async([&, w = witness(gone)](const outcome &how) {
        CHECK(bool(how));
        told++;
    });
    CHECK(!mine && !lock.is_held());
    CHECK(polls(client, [&] { return told == 3; }));
    CHECK_EQUAL(gone, 2);
    CHECK(!taken(store, "x"));
    CHECK(thrown([&] { mine.release_async({}); }).code() == errc::usage);
}

TEST(a_hold_that_came_in_a_loop_goes_without_waiting) {
    const auto store = fresh_store();
    holdfast::client client(store);
    holdfast::lock lock(client, "x", of_handle());
    int told = 0;
    lock.acquire_async(5s, [&](holdfast::hold hold, const outcome &) {
        CHECK(hold.valid());
        told++;
    });
    CHECK(polls(client, [&] { return told == 1; }));
    CHECK(!lock.is_held());
    CHECK(eventually([&] { return !taken(store, "x"); }));
}

TEST(a_busy_lock_and_time_that_is_over_are_told) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::lock a(one, "x", of_handle()), b(two, "x", of_handle());
    const auto hold = a.acquire();
    int busy = 0, late = 0, cancelled = 0;
    const auto hear = [&](holdfast::hold none, const outcome &how) {
        CHECK(!none && !how);
        busy += how.busy();
        late += how.code() == errc::timeout;
        cancelled += how.code() == errc::cancelled;
        CHECK(how.busy() || std::string(how.what()).find("'x'") + 1 != 0);
    };
    b.acquire_async(0s, hear);
    b.acquire_async(20ms, hear);
    CHECK(polls(two, [&] { return busy == 1 && late == 1; }));
    b.acquire_async(holdfast::forever, hear);
    CHECK(polls(two, [&] {
        b.cancel();
        return cancelled == 1;
    }));
}

TEST(a_waiter_is_granted_when_the_holder_lets_go) {
    const auto store = fresh_store();
    holdfast::client client(store);
    constexpr int crowd = 20;
    std::vector<holdfast::lock> locks;
    int inside = 0, done = 0;
    for (int i = 0; i < crowd; i++)
        locks.emplace_back(client, "x", of_handle());
    for (auto &lock : locks)
        lock.acquire_async(holdfast::forever,
                           [&](holdfast::hold hold, const outcome &how) {
                               CHECK(bool(how) && hold.valid());
                               CHECK_EQUAL(++inside, 1);
                               inside--;
                               done++;
                           });
    CHECK(polls(client, [&] { return done == crowd; }));
}

/* ---- who owns the callback --------------------------------------------- */

TEST(a_callback_dies_once_and_untold_when_its_lock_goes_first) {
    const auto store = fresh_store();
    holdfast::client one(store), two(store);
    holdfast::lock in_the_way(one, "x");
    const auto hold = in_the_way.acquire();
    int told = 0, gone = 0;
    {
        holdfast::lock lock(two, "x", of_handle());
        lock.acquire_async(holdfast::forever,
                           [&, w = witness(gone)](holdfast::hold,
                                                  const outcome &) { told++; });
        lock.acquire_async(holdfast::forever,
                           [&, w = witness(gone)](holdfast::hold,
                                                  const outcome &) { told++; });
        CHECK_EQUAL(gone, 0);
        holdfast::lock moved(std::move(lock)); /* which ends nothing */
        CHECK_EQUAL(gone, 0);
    }
    CHECK_EQUAL(gone, 2);
    two.process();
    CHECK_EQUAL(told, 0);
}

TEST(a_grant_that_was_not_told_goes_back_with_its_lock) {
    const auto store = fresh_store();
    holdfast::client client(store);
    int told = 0, gone = 0;
    {
        holdfast::lock lock(client, "x", of_handle());
        lock.acquire_async(5s,
                           [&, w = witness(gone)](holdfast::hold,
                                                  const outcome &) { told++; });
        CHECK(eventually([&] { return taken(store, "x"); }));
    }
    CHECK_EQUAL(gone, 1);
    CHECK(!taken(store, "x"));
    client.process();
    CHECK_EQUAL(told, 0);
}

TEST(callbacks_of_all_others_die_with_their_objects_too) {
    holdfast::client client(fresh_store());
    int told = 0;
    const auto life = std::make_shared<int>();
    {
        const auto hear = [&, life](const outcome &) { told++; };
        holdfast::semaphore sem(client, "s");
        holdfast::latch latch(client, "l");
        latch.set(1);
        sem.acquire_async(1, holdfast::forever, hear);
        latch.wait_async(holdfast::forever, hear);
        CHECK_EQUAL(life.use_count(), 4);
    }
    CHECK_EQUAL(life.use_count(), 1);
    client.process();
    CHECK_EQUAL(told, 0);
}

TEST(a_callback_that_could_not_be_given_dies_at_once) {
    holdfast::client client(fresh_store());
    holdfast::lock threads(client, "x");
    int gone = 0;
    std::error_code code;
    threads.acquire_async(
        5s, [w = witness(gone)](holdfast::hold, const outcome &) {}, code);
    CHECK(code == errc::usage); /* it belongs to a thread */
    CHECK_EQUAL(gone, 1);
}

TEST(a_callback_may_destroy_its_lock_and_its_client) {
    const auto store = fresh_store();
    int gone = 0, told = 0;
    auto client = std::make_unique<holdfast::client>(store);
    auto lock = std::make_unique<holdfast::lock>(*client, "x", of_handle());
    lock->acquire_async(
        5s, [&, w = witness(gone)](holdfast::hold hold, const outcome &) {
            lock.reset();
            hold = {};
            client.reset();
            CHECK_EQUAL(gone, 0);
            told++;
        });
    const holdfast::client *loops = client.get();
    for (pollfd p{loops->fd(), POLLIN, 0}; told == 0 && poll(&p, 1, 20000) > 0;)
        loops->process();
    CHECK_EQUAL(told, 1);
    CHECK_EQUAL(gone, 1);
    CHECK(!taken(store, "x"));
}

/* ---- exceptions -------------------------------------------------------- */

TEST(what_a_callback_throws_comes_out_of_process_when_all_were_told) {
    holdfast::client client(fresh_store());
    holdfast::semaphore sem(client, "s");
    int told = 0, gone = 0;
    for (int i = 0; i < 3; i++)
        sem.release_async(1, [&, i, w = witness(gone)](const outcome &) {
            told++;
            if (i > 0)
                throw i;
        });
    int thrown = 0;
    while (told < 3 || thrown == 0) {
        try {
            pollfd p{client.fd(), POLLIN, 0};
            CHECK(poll(&p, 1, 20000) == 1);
            client.process();
        } catch (int) {
            thrown++;
        }
    }
    CHECK(thrown == 1 || thrown == 2); /* told together, or apart */
    CHECK_EQUAL(gone, 3);
    CHECK_EQUAL(client.process(), 0);
}

/* ---- the rest ---------------------------------------------------------- */

TEST(semaphores_and_latches_in_a_loop) {
    holdfast::client client(fresh_store());
    holdfast::semaphore sem(client, "s");
    holdfast::latch latch(client, "l");
    latch.set(1);
    int taken_ = 0, open = 0;
    sem.acquire_async(2, 20s, [&](const outcome &how) { taken_ += bool(how); });
    latch.wait_async(20s, [&](const outcome &how) { open += bool(how); });
    sem.release_async(2, {});
    latch.count_down_async([](const outcome &how) { CHECK(bool(how)); });
    CHECK(polls(client, [&] { return taken_ == 1 && open == 1; }));
    CHECK_EQUAL(sem.count().available, 0);
}

TEST(a_job_in_a_loop) {
    const auto store = fresh_store();
    holdfast::client client(store), other(store);
    holdfast::job mine;
    int skipped = 0, ended = 0;
    holdfast::job::begin_async(client, "nightly", {},
                               [&](holdfast::job job, const outcome &how) {
                                   CHECK(how && job.valid());
                                   mine = std::move(job);
                               });
    CHECK(polls(client, [&] { return bool(mine); }));
    const auto stop = mine.get_stop_flag();
    holdfast::job::begin_async(other, "nightly", {},
                               [&](holdfast::job job, const outcome &how) {
                                   CHECK(!job && how.busy());
                                   skipped++;
                               });
    CHECK(polls(other, [&] { return skipped == 1; }));
    mine.end_async([&](const outcome &how) { ended += bool(how); });
    CHECK(!mine);
    CHECK(polls(client, [&] { return ended == 1; }));
    CHECK(!stop.stop_requested());

    int ran = 0; /* and ends with its life */
    holdfast::job::begin_async(
        other, "nightly", {},
        [&](holdfast::job job, const outcome &) { ran += bool(job); });
    CHECK(polls(other, [&] { return ran == 1; }));
    CHECK(eventually([&] { return bool(holdfast::job(client, "nightly")); }));
}

TEST(a_job_whose_client_goes_first_is_not_told_and_not_kept) {
    const auto store = fresh_store();
    int told = 0, gone = 0;
    {
        holdfast::client client(store);
        holdfast::job::begin_async(
            client, "nightly", {},
            [&, w = witness(gone)](holdfast::job, const outcome &) { told++; });
    }
    CHECK_EQUAL(told, 0);
    CHECK_EQUAL(gone, 1);
    holdfast::client client(store);
    CHECK(bool(holdfast::job(client, "nightly")));
}

TEST(news_of_a_job_that_is_over_reach_nobody) {
    holdfast::options with;
    with.loop = true;
    holdfast::client client(fresh_store(), with);
    holdfast::job_options briefly;
    briefly.at_most = 20ms;
    holdfast::job job(client, "nightly", briefly);
    int news = 0, ended = 0;
    job.on_state([&](holdfast::state, std::error_code) { news++; });
    pollfd p{client.fd(), POLLIN, 0};
    CHECK(poll(&p, 1, 20000) == 1); /* the loss is there, and not told */
    job.end_async([&](const outcome &how) {
        CHECK(how.code() == errc::lost);
        ended++;
    });
    CHECK(!job);
    CHECK(polls(client, [&] { return ended == 1; }));
    CHECK_EQUAL(news, 0);
}

TEST(other_work_is_done_by_a_thread_of_the_librarys) {
    holdfast::client client(fresh_store());
    holdfast::semaphore sem(client, "s");
    sem.set(7);
    std::int64_t free = 0;
    std::string said, thrown;
    client.call_async(
        [&] {
            outcome how;
            free = sem.count(how).available;
            CHECK(std::this_thread::get_id() != std::thread::id());
            return how;
        },
        [&](const outcome &how) { said = how.name(); });
    client.call_async(
        [&]() -> outcome {
            sem.acquire(8, 0s);
            holdfast::lock nameless(client, "");
            return {};
        },
        [&](const outcome &how) { thrown = how.what(); });
    CHECK(polls(client, [&] { return !said.empty() && !thrown.empty(); }));
    CHECK_EQUAL(said, "OK");
    CHECK_EQUAL(free, 7);
    CHECK(thrown.find("name") != std::string::npos);
}

TEST(states_and_events_of_a_loop_come_in_process) {
    const auto store = fresh_store();
    const auto loops = std::this_thread::get_id();
    int granted = 0, lost = 0;
    holdfast::options with;
    with.loop = true;
    with.on_event = [&](const hf_event &e) {
        CHECK(std::this_thread::get_id() == loops);
        granted += e.kind == HF_EVENT_GRANTED;
    };
    holdfast::client client(store, with), operator_(store);
    auto renewed = of_handle();
    renewed.watchdog = 2s;
    renewed.renew = 20ms;
    holdfast::hold hold;
    auto lock = std::make_unique<holdfast::lock>(client, "x", renewed);
    lock->on_lost([&](std::error_code) {
        CHECK(std::this_thread::get_id() == loops);
        lost++;
        hold = {};
        lock.reset(); /* which is allowed here */
    });
    hold = lock->acquire();
    CHECK_EQUAL(granted, 0);
    CHECK(polls(client, [&] { return granted == 1; }));
    holdfast::lock(operator_, "x").force_release();
    CHECK(polls(client, [&] { return lost == 1; }));
    client.process();
    CHECK_EQUAL(lost, 1);
}

TEST(news_that_wait_in_a_loop_survive_a_new_flag_and_a_new_callback) {
    const auto store = fresh_store();
    holdfast::options with;
    with.loop = true;
    holdfast::client client(store, with), operator_(store);
    auto renewed = of_handle();
    renewed.watchdog = 2s;
    renewed.renew = 20ms;
    holdfast::lock lock(client, "x", renewed);
    int before = 0, after = 0;
    lock.on_lost([&](std::error_code) { before++; });
    auto hold = lock.acquire();
    holdfast::lock(operator_, "x").force_release();
    CHECK(eventually([&] { return !hold.valid(); }));
    CHECK(hold.get_stop_flag().stop_requested());
    lock.on_lost([&](std::error_code) { after++; });
    CHECK(polls(client, [&] { return after == 1; }));
    CHECK_EQUAL(before, 0);
}

TEST(what_happens_is_written_down) {
    std::vector<std::string> written;
    std::mutex mutex;
    holdfast::options with;
    with.log_level = HF_LOG_DEBUG;
    with.on_log = [&](const hf_log_entry &entry) {
        std::lock_guard<std::mutex> inside(mutex);
        written.emplace_back(entry.text);
    };
    {
        holdfast::client client(fresh_store(), with);
        holdfast::lock(client, "x").acquire();
    }
    CHECK(!written.empty());
}
