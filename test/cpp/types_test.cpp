/* SPDX-License-Identifier: MIT
 *
 * types_test.cpp - errors and durations as C++ sees them. */
#include "check.hpp"

#include <cctype>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

using namespace check;
using holdfast::errc;
using holdfast::error_class;
using holdfast::how_long;

/* ---- what the types are ------------------------------------------------ */

template <class T>
constexpr bool move_only =
    std::is_nothrow_move_constructible_v<T>
        &&std::is_nothrow_move_assignable_v<T> &&
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> &&
    std::is_nothrow_destructible_v<T>;

static_assert(move_only<holdfast::client>);
static_assert(move_only<holdfast::lock>);
static_assert(move_only<holdfast::shared_mutex>);
static_assert(move_only<holdfast::multi>);
static_assert(move_only<holdfast::hold>);
static_assert(move_only<holdfast::semaphore>);
static_assert(move_only<holdfast::latch>);
static_assert(move_only<holdfast::job>);
static_assert(move_only<holdfast::guard>);
static_assert(!std::is_polymorphic_v<holdfast::lock>);
static_assert(!std::is_polymorphic_v<holdfast::hold>);
static_assert(noexcept(std::declval<holdfast::lock &>().unlock()));
static_assert(std::is_nothrow_copy_constructible_v<holdfast::error>);

/* ---- errors ------------------------------------------------------------ */

/* An error that is added to holdfast.h wants a line in errc. */
#define COUNTED(number, name, class_, text) +1
static_assert(0 HF_ERRORS(COUNTED) == 26, "errc has them all");
static_assert(static_cast<int>(errc::deadlock) == -26);

TEST(a_code_says_what_the_library_says) {
#define SAID(number, name_, class_, text_)                                     \
    {                                                                          \
        const std::error_code code(HF_E##name_, holdfast::category());         \
        CHECK_EQUAL(code.message(), text_);                                    \
        CHECK(code == error_class(HF_CLASS_##class_));                         \
        CHECK_EQUAL(holdfast::outcome(HF_E##name_, nullptr).name(),            \
                    std::string(#name_));                                      \
    }
    HF_ERRORS(SAID)
    CHECK_EQUAL(std::string(holdfast::category().name()), "holdfast");
}

TEST(a_code_can_be_compared_with_what_it_means) {
    std::error_code code = errc::timeout;
    CHECK(code == errc::timeout);
    CHECK(code != errc::cancelled);
    CHECK(code == error_class::not_done);
    CHECK(code != error_class::doubt);
    CHECK(code == std::errc::timed_out);
    CHECK(std::error_code(errc::doubt) == error_class::doubt);
    CHECK(std::error_code(errc::lost) == error_class::not_held);
    CHECK(std::error_code(errc::usage) == error_class::misuse);
    CHECK(std::error_code(errc::deadlock) ==
          std::errc::resource_deadlock_would_occur);
    CHECK(std::make_error_code(std::errc::timed_out) != error_class::not_done);
    CHECK_EQUAL(make_error_condition(error_class::doubt).message(), "in doubt");
}

TEST(an_exception_has_code_class_name_and_the_librarys_sentence) {
    const auto e =
        thrown([] { holdfast::client client(std::string("sqlite")); });
    CHECK(e.code() == errc::uri);
    CHECK(e.get_class() == error_class::misuse);
    CHECK_EQUAL(std::string(e.name()), "URI");

    hf_client *client = nullptr;
    hf_error err;
    CHECK_EQUAL(hf_open(&client, "sqlite", nullptr, &err), HF_EURI);
    CHECK_EQUAL(std::string(e.what()), err.text);

    const std::exception &standard = e;
    CHECK_EQUAL(std::string(standard.what()), err.text);
}

TEST(what_takes_an_outcome_or_a_code_does_not_throw) {
    holdfast::outcome how;
    holdfast::client none("redis:/", {}, how);
    CHECK(!how);
    CHECK(!none);
    CHECK(how.code() == errc::uri);
    CHECK(std::strlen(how.what()) > 0);

    std::error_code code;
    holdfast::lock lock(none, "x", {}, code);
    CHECK(!lock);
    CHECK(code == errc::usage);

    holdfast::client client(fresh_store(), {}, how);
    CHECK(bool(how) && bool(client));
    CHECK(how.code() == std::error_code(0, holdfast::category()));
    holdfast::lock fine(client, "x", {}, code);
    CHECK(!code);
    CHECK(fine.try_lock(code) && !code);
    holdfast::lock nameless(client, "", {}, code);
    CHECK(code == errc::name);
}

/* Each of these must be an error, and none a crash. */
TEST(what_is_empty_refuses_in_words) {
    holdfast::client client(fresh_store());
    holdfast::lock lock(client, "x");
    holdfast::semaphore sem(client, "s");
    holdfast::latch latch(client, "l");
    holdfast::shared_mutex rw(client, "rw");
    { /* moved from */
        holdfast::lock gone(std::move(lock));
        holdfast::semaphore gone_too(std::move(sem));
        holdfast::latch and_this(std::move(latch));
        holdfast::shared_mutex and_that(std::move(rw));
    }
    holdfast::hold hold;
    holdfast::job job;
    for (const std::function<void()> &call : std::vector<std::function<void()>>{
             [&] { lock.lock(); }, [&] { lock.try_lock(); },
             [&] { lock.acquire(); }, [&] { lock.force_release(); },
             [&] { lock.last_token(); }, [&] { lock.lost_fd(); },
             [&] { rw.lock(); }, [&] { rw.lock_shared(); },
             [&] { sem.acquire(); }, [&] { sem.count(); },
             [&] { latch.wait(); }, [&] { hold.release(); },
             [&] { hold.extend(1s); }, [&] { job.end(); }})
        CHECK(thrown(call).code() == errc::usage);
    CHECK(!lock && !sem && !latch && !hold && !job && !rw);
    lock.unlock();
    lock.cancel();
    lock.on_lost([](std::error_code) {});
    CHECK(!lock.is_held() && lock.token() == 0 && lock.name().empty());
    CHECK(!hold.valid() && hold.token() == 0 && hold.remaining() == 0ms);
    CHECK(hold.get_stop_flag().stop_requested());
}

/* ---- durations --------------------------------------------------------- */

static_assert(how_long(1us).ms() == 1);
static_assert(how_long(1ms).ms() == 1);
static_assert(how_long(1000001ns).ms() == 2);
static_assert(how_long(5s).wait_ms() == 5000);
static_assert(how_long(0s).wait_ms() == 0);
static_assert(how_long().wait_ms() == 0);
static_assert(how_long(-1ns).wait_ms() == 0);
static_assert(how_long(std::chrono::hours::min()).wait_ms() == 0);
static_assert(how_long(std::chrono::hours::max()).wait_ms() == HF_FOREVER);
static_assert(how_long(std::chrono::hours::max()).ms() == INT_MAX);
static_assert(how_long(std::chrono::nanoseconds::max()).ms() == INT_MAX);
static_assert(how_long(std::chrono::milliseconds(INT_MAX - 1)).ms() ==
              INT_MAX - 1);
static_assert(how_long(std::chrono::microseconds(999)).wait_ms() == 1);
static_assert(how_long(std::chrono::duration<double>(0.1)).ms() == 100);
static_assert(how_long(std::chrono::duration<float>(1e30F)).wait_ms() ==
              HF_FOREVER);
static_assert(how_long(std::chrono::duration<std::int64_t, std::atto>::max())
                  .ms() == 9224);
static_assert(
    how_long(std::chrono::duration<std::int8_t, std::ratio<3600>>(100)).ms() ==
    360000000);
static_assert(holdfast::forever.wait_ms() == HF_FOREVER);
static_assert(holdfast::forever.ms() == INT_MAX);

TEST(what_is_no_number_is_no_wait) {
    const auto nan =
        std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN());
    CHECK_EQUAL(how_long(nan).wait_ms(), 0);
}

/* A clock whose epoch is yet to come, so that distances overflow. */
struct early {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<early>;
    static constexpr bool is_steady = true;
    static time_point now() {
        return time_point(-1h);
    }
};

TEST(moments_however_far_away_make_waits) {
    using std::chrono::system_clock;
    CHECK_EQUAL(how_long::until(early::time_point::max()).wait_ms(),
                HF_FOREVER);
    CHECK_EQUAL(how_long::until(early::time_point::min()).wait_ms(), 0);
    CHECK_EQUAL(how_long::until(system_clock::time_point::max()).wait_ms(),
                HF_FOREVER);
    CHECK_EQUAL(how_long::until(system_clock::time_point::min()).wait_ms(), 0);
    using far = std::chrono::time_point<early, std::chrono::hours>;
    CHECK_EQUAL(how_long::until(far::max()).wait_ms(), HF_FOREVER);
    CHECK_EQUAL(how_long::until(early::time_point(-1h + 5s)).wait_ms(), 5000);
    const int ms = how_long::until(system_clock::now() + 5s).wait_ms();
    CHECK(ms > 4000 && ms <= 5000);
}

TEST(a_time_that_cannot_be_is_refused) {
    holdfast::client client(fresh_store());
    holdfast::lock_options with;
    with.lease = -5s;
    CHECK(thrown([&] { holdfast::lock(client, "x", with); }).code() ==
          errc::usage);
    holdfast::options of;
    of.timeout = -1ms;
    CHECK(thrown([&] { holdfast::client(fresh_store(), of); }).code() ==
          errc::usage);
    with.lease = std::chrono::hours::max(); /* 24 days, and so it is written */
    holdfast::lock lock(client, "x", with);
    CHECK(lock.acquire(0s).remaining() > 500h);
}
