/* SPDX-License-Identifier: MIT
 *
 * types.hpp - the small types of holdfast.hpp: errors, time, options. */
#ifndef HOLDFAST_TYPES_HPP
#define HOLDFAST_TYPES_HPP

#include "../holdfast.h"

#include <chrono>
#include <climits>
#include <cstdlib>
#include <functional>
#include <string>
#include <system_error>
#include <type_traits>

/* ---- errors ------------------------------------------------------------ */

namespace holdfast {

/* clang-format off */
enum class errc {
    busy = HF_BUSY, timeout = HF_ETIMEOUT, cancelled = HF_ECANCELLED,
    down = HF_EDOWN, starting = HF_ESTARTING, read_only = HF_EREAD_ONLY,
    full = HF_EFULL, crowded = HF_ECROWDED, auth = HF_EAUTH,
    forbidden = HF_EFORBIDDEN, tls = HF_ETLS, store = HF_ESTORE,
    no_memory = HF_ENO_MEMORY, system = HF_ESYSTEM, doubt = HF_EDOUBT,
    lost = HF_ELOST, not_owner = HF_ENOT_OWNER, free = HF_EFREE,
    usage = HF_EUSAGE, name = HF_ENAME, uri = HF_EURI,
    no_store = HF_ENO_STORE, cannot = HF_ECANNOT, forked = HF_EFORKED,
    replicas = HF_EREPLICAS, minority = HF_EMINORITY, deadlock = HF_EDEADLOCK
};
/* clang-format on */

/* How sure an error is.  A std::error_code can be compared with it:
 * if (code == holdfast::error_class::doubt) … */
enum class error_class {
    none = HF_CLASS_NONE,
    not_done = HF_CLASS_NOT_DONE,
    doubt = HF_CLASS_DOUBT,
    not_held = HF_CLASS_NOT_HELD,
    misuse = HF_CLASS_MISUSE
};

const std::error_category &category() noexcept;
const std::error_category &class_category() noexcept;

inline std::error_code make_error_code(errc code) noexcept {
    return {static_cast<int>(code), category()};
}

inline std::error_condition make_error_condition(error_class c) noexcept {
    return {static_cast<int>(c), class_category()};
}

} // namespace holdfast

template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
template <>
struct std::is_error_condition_enum<holdfast::error_class> : std::true_type {};

namespace holdfast {

namespace detail {

class HF_API codes final : public std::error_category {
public:
    const char *name() const noexcept override { return "holdfast"; }
    std::string message(int code) const override { return hf_strerror(code); }
    /* So that code == std::errc::timed_out. */
    std::error_condition
    default_error_condition(int code) const noexcept override {
        switch (code) {
        case HF_BUSY:
            return std::errc::device_or_resource_busy;
        case HF_ETIMEOUT:
            return std::errc::timed_out;
        case HF_ECANCELLED:
            return std::errc::operation_canceled;
        case HF_EDEADLOCK:
            return std::errc::resource_deadlock_would_occur;
        case HF_ENO_MEMORY:
            return std::errc::not_enough_memory;
        case HF_ENOT_OWNER:
            return std::errc::operation_not_permitted;
        default:
            return {code, *this};
        }
    }
};

class HF_API classes final : public std::error_category {
public:
    const char *name() const noexcept override { return "holdfast class"; }
    std::string message(int c) const override {
        static const char *const texts[] = {"no error", "certainly not done",
                                            "in doubt", "not held", "misuse"};
        return c >= 0 && c <= HF_CLASS_MISUSE ? texts[c] : "unknown";
    }
    bool equivalent(const std::error_code &code,
                    int c) const noexcept override {
        return code.category() == category() &&
               static_cast<int>(hf_error_class(code.value())) == c;
    }
};

} // namespace detail

HF_API inline const std::error_category &category() noexcept {
    static const detail::codes instance;
    return instance;
}

HF_API inline const std::error_category &class_category() noexcept {
    static const detail::classes instance;
    return instance;
}

/* What became of a call: true is success. */
class outcome {
public:
    outcome() noexcept : error_{} {}
    outcome(int rc, const hf_error *err) noexcept : error_{} {
        if (rc < 0 && err)
            error_ = *err;
        error_.code = rc;
    }
    explicit operator bool() const noexcept { return error_.code == HF_OK; }
    bool busy() const noexcept { /* an answer: somebody was first */
        return error_.code == HF_BUSY;
    }
    std::error_code code() const noexcept { return {error_.code, category()}; }
    error_class get_class() const noexcept {
        return static_cast<error_class>(hf_error_class(error_.code));
    }
    const char *name() const noexcept { /* "TIMEOUT" */
        return hf_error_name(error_.code);
    }
    const char *what() const noexcept {
        return *error_.text ? error_.text : hf_strerror(error_.code);
    }
    const hf_error &native() const noexcept { return error_; }

private:
    hf_error error_;
};

class HF_API error : public std::system_error {
public:
    explicit error(const outcome &how) : system_error(how.code()), how_(how) {}
    const char *what() const noexcept override { return how_.what(); }
    const char *name() const noexcept { return how_.name(); }
    error_class get_class() const noexcept { return how_.get_class(); }
    const outcome &how() const noexcept { return how_; }

private:
    outcome how_;
};

/* Where a call puts what became of it; {}: errors are thrown. */
class report {
public:
    report() noexcept = default;
    report(outcome &how) noexcept : how_(&how) {}
    report(std::error_code &code) noexcept : code_(&code) {}
    void tell(int rc, const hf_error &err) const {
        if (code_)
            *code_ =
                rc < 0 ? std::error_code(rc, category()) : std::error_code();
        else if (how_)
            *how_ = outcome(rc, &err);
        else if (rc < 0)
            raise(outcome(rc, &err));
    }

private:
    [[noreturn]] static void raise(const outcome &how) {
#ifdef __cpp_exceptions
        throw error(how);
#else
        (void)how;
        std::abort();
#endif
    }

    outcome *how_ = nullptr;
    std::error_code *code_ = nullptr;
};

/* ---- time -------------------------------------------------------------- */

/* For how long: a wait, a lease. */
class how_long {
public:
    constexpr how_long() noexcept = default;
    template <class Rep, class Period>
    constexpr how_long(std::chrono::duration<Rep, Period> time) noexcept
        : ms_(round_up(time)) {}

    /* As a lease has it, INT_MAX at the most; and as a wait, which may be
     * HF_FOREVER. */
    constexpr int ms() const noexcept { return ms_; }
    constexpr int wait_ms() const noexcept {
        return ms_ == INT_MAX ? HF_FOREVER : ms_ < 0 ? 0 : ms_;
    }

    template <class Clock, class Duration>
    static how_long until(std::chrono::time_point<Clock, Duration> t) {
        using ms = std::chrono::duration<long double, std::milli>;
        return ms(t.time_since_epoch()) - ms(Clock::now().time_since_epoch());
    }

private:
    /* In floating point, where hours::max() has its place, and so has the
     * distance between two moments however far apart.  Less than nothing is
     * left to the library to refuse. */
    template <class Rep, class Period>
    static constexpr int
    round_up(std::chrono::duration<Rep, Period> time) noexcept {
        using real =
            std::conditional_t<std::is_floating_point_v<Rep>, Rep, long double>;
        const real ms = std::chrono::duration<real, std::milli>(time).count();
        if (ms >= static_cast<real>(INT_MAX))
            return INT_MAX;
        if (!(ms >= 0)) /* nor is it a number, perhaps */
            return -1;
        const int whole = static_cast<int>(ms);
        return whole + (static_cast<real>(whole) < ms ? 1 : 0);
    }

    int ms_ = 0;
};

inline constexpr how_long forever{std::chrono::milliseconds(INT_MAX)};

/* ---- options ----------------------------------------------------------- */

/* Their fields are holdfast.h's, and explained there.  From C++20 on:
 * holdfast::lock fair(client, "x", {.kind = holdfast::kind::fair}); */
struct options {
    how_long lease{}, renew{}, timeout{}, patience{};
    std::chrono::microseconds spin{};
    std::string why{}, host{}, program{}, inside{}, stats_names{};
    bool hidden = false, loop = false;
    std::function<void(const hf_event &)> on_event{};
    std::function<void(const hf_log_entry &)> on_log{};
    hf_log_level log_level = HF_LOG_NONE; /* HF_LOG_INFO, if there is on_log */
};

struct escalate_options {
    how_long permission{}, after{}, back{};
};

enum class kind {
    lock = HF_LOCK,
    simple = HF_SIMPLE,
    fair = HF_FAIR,
    spin = HF_SPIN,
    read = HF_READ,
    write = HF_WRITE,
    permit = HF_PERMIT,
    semaphore = HF_SEMAPHORE,
    latch = HF_LATCH
};

struct lock_options {
    holdfast::kind kind = holdfast::kind::lock;
    bool owner_handle = false, post_release = false, no_reentry = false,
         writers_first = false, no_cohort = false, deadlock = false;
    how_long lease{}, watchdog{}, renew{}, max_hold{};
    int permits = 0;
    how_long backoff{}, max_backoff{};
    int replicas = 0;
};

struct job_options {
    how_long at_least{}, at_most{};
};

enum class state {
    held = HF_STATE_HELD,
    doubt = HF_STATE_DOUBT,
    lost = HF_STATE_LOST
};

} // namespace holdfast
#endif
