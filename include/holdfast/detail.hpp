/* SPDX-License-Identifier: MIT
 *
 * detail.hpp - what stands between holdfast.hpp and the C functions: calls that
 * report, callbacks and who owns them, what handles have in common.
 *
 * A callback that C will call must not die before, nor be kept for ever.  So it
 * belongs to the object through which it was given, and lives where that
 * object's insides do: in a core, which stays in its place however often the
 * object is moved. */
#ifndef HOLDFAST_DETAIL_HPP
#define HOLDFAST_DETAIL_HPP

#include "types.hpp"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast {

/* Told once, in client::process, what became of something. */
using done = std::function<void(const outcome &)>;

namespace detail {

/* Calls a C function, whose last parameter is an hf_error, and reports. */
template <class Call, class... Args>
int ask(report to, Call call, Args... args) {
    hf_error err{};
    const int rc = call(args..., &err);
    to.tell(rc, err);
    return rc;
}

/* The same, where time that ran out is an answer: whether it succeeded. */
template <class Call, class... Args>
bool attempt(report to, Call call, Args... args) {
    hf_error err{};
    const int rc = call(args..., &err);
    to.tell(rc == HF_ETIMEOUT ? HF_BUSY : rc, err);
    return rc == HF_OK;
}

/* A number that is an error when negative. */
inline int number(report to, int rc) {
    to.tell(rc < 0 ? rc : HF_OK, {});
    return rc;
}

/* Exceptions must not pass through the frames of C.  While one of these stands
 * below on the stack the first is kept, for whoever asks it afterwards. */
class HF_API catcher { /* one for all objects of a program */
public:
    catcher() noexcept : outer_(current()) { current() = this; }
    catcher(const catcher &) = delete;
    ~catcher() { current() = outer_; }
    void rethrow() const {
        if (thrown_)
            std::rethrow_exception(thrown_);
    }

    template <class Call>
    static void run(Call &&call) noexcept {
#ifdef __cpp_exceptions
        catcher *const here = current();
        try {
            call();
        } catch (...) {
            if (!here)
                std::terminate();
            if (!here->thrown_)
                here->thrown_ = std::current_exception();
        }
#else
        call();
#endif
    }

private:
    static catcher *&current() noexcept {
        static thread_local catcher *top = nullptr;
        return top;
    }

    catcher *outer_;
    std::exception_ptr thrown_{};
};

/* Calls a C function that tells its callback of one Item after the other. */
template <class Item, class Call, class... Args>
void each(report to, const std::function<void(const Item &)> &fn, Call call,
          Args... args) {
    struct teller {
        const std::function<void(const Item &)> &fn;
        static void tell(void *arg, const Item *item) noexcept {
            catcher::run([&] { static_cast<teller *>(arg)->fn(*item); });
        }
    } told{fn};
    catcher here;
    hf_error err{};
    const int rc = call(args..., &teller::tell, &told, &err);
    here.rethrow();
    to.tell(rc, err);
}

/* Owns the callbacks of what was begun through an object: each goes when it has
 * been told, or with the object, which then will not tell it. */
class begun {
public:
    struct op {
        begun *of;
        done fn;
        std::function<outcome()> work;
    };

    op *add(done fn, std::function<outcome()> work = {}) {
        std::unique_ptr<op> made(new op{this, std::move(fn), std::move(work)});
        op *const o = made.get();
        std::lock_guard<std::mutex> inside(mutex_);
        ops_.emplace(o, std::move(made));
        return o;
    }
    std::unique_ptr<op> take(op *o) {
        std::lock_guard<std::mutex> inside(mutex_);
        const auto at = ops_.find(o);
        auto taken = std::move(at->second);
        ops_.erase(at);
        return taken;
    }
    /* The object may be gone when the callback returns. */
    static void tell(void *arg, int rc, const hf_error *err) noexcept {
        const auto o = static_cast<op *>(arg);
        const auto taken = o->of->take(o);
        if (taken->fn)
            catcher::run([&] { taken->fn(outcome(rc, err)); });
    }

protected:
    std::mutex mutex_{};

private:
    std::unordered_map<op *, std::unique_ptr<op>> ops_{};
};

/* Calls a C function, whose last parameters are an hf_done_fn, its argument and
 * an hf_error.  That refuses an object which is NULL. */
template <class Call, class... Args>
int begin(begun *of, report to, done fn, Call call, Args... args) {
    hf_error err{};
    begun::op *const o = of && fn ? of->add(std::move(fn)) : nullptr;
    const int rc = call(args..., o ? &begun::tell : nullptr, o, &err);
    if (rc < 0 && o)
        of->take(o);
    to.tell(rc, err);
    return rc;
}

struct client_core : begun {
    hf_client *raw = nullptr;
    std::function<void(const hf_event &)> on_event{};
    std::function<void(const hf_log_entry &)> on_log{};

    ~client_core() { hf_close(raw); }
    static void event(void *arg, const hf_event *event) noexcept {
        catcher::run(
            [&] { static_cast<client_core *>(arg)->on_event(*event); });
    }
    static void log(void *arg, const hf_log_entry *entry) noexcept {
        catcher::run([&] { static_cast<client_core *>(arg)->on_log(*entry); });
    }
};

template <class Raw, void (*Free)(Raw *)>
struct core : begun {
    std::shared_ptr<client_core> client{};
    Raw *raw = nullptr;

    ~core() { Free(raw); }
};

template <class Core>
auto raw(const Core &core) noexcept -> decltype(core->raw) {
    return core ? core->raw : nullptr;
}

/* Told when a lock is lost; belongs to the hold that wants to know. */
struct stopper {
    std::function<void()> stop;
    std::shared_ptr<void> state; /* what it changes */
};

/* Somebody's callback, and which thread runs it.  It is replaced as a whole, so
 * that one that runs stays what it is. */
class listener {
public:
    using fn = std::function<void(state, std::error_code)>;

    explicit listener(fn f) : fn_(std::move(f)) {}
    void enter() {
        std::lock_guard<std::mutex> inside(mutex_);
        thread_ = std::this_thread::get_id();
    }
    void tell(hf_state now, int why) noexcept {
        catcher::run([&] { fn_(static_cast<state>(now), {why, category()}); });
        std::lock_guard<std::mutex> inside(mutex_);
        thread_ = {};
        left_.notify_all();
    }
    /* Until it no longer runs, unless it is the one who asks. */
    void await() {
        std::unique_lock<std::mutex> inside(mutex_);
        left_.wait(inside, [&] {
            return thread_ == std::thread::id() ||
                   thread_ == std::this_thread::get_id();
        });
    }

private:
    const fn fn_;
    std::mutex mutex_{};
    std::condition_variable left_{};
    std::thread::id thread_{};
};

/* A handle, a multi-lock with its members, or the one of a job.  The handle has
 * one callback, which is ours for life: setting it anew would drop news that
 * wait for client::process. */
class lock_core : public begun {
public:
    std::shared_ptr<client_core> client{};
    std::vector<std::shared_ptr<lock_core>> members{};
    hf_lock *raw = nullptr;

    ~lock_core() {
        if (!raw)
            return;
        hf_lock_free(raw);
        for (const auto &member : members) /* it took their callbacks */
            member->listen();
    }
    void listen() noexcept { hf_lock_on_state(raw, &hear, this); }
    void mute() noexcept { hf_lock_on_state(raw, nullptr, nullptr); }

    void set(listener::fn fn) {
        auto made = fn ? std::make_shared<listener>(std::move(fn)) : nullptr;
        std::unique_lock<std::mutex> inside(mutex_);
        listener_.swap(made);
        inside.unlock();
        if (made)
            made->await();
    }
    void add_stopper(const std::shared_ptr<stopper> &stop) {
        std::unique_lock<std::mutex> inside(mutex_);
        for (auto i = stoppers_.begin(); i != stoppers_.end();)
            i = i->expired() ? stoppers_.erase(i) : i + 1;
        stoppers_.push_back(stop);
        inside.unlock();
        if (!hf_lock_is_held(raw)) /* then nobody will tell */
            stop->stop();
    }

private:
    /* The object may be gone when the callback returns. */
    static void hear(void *arg, hf_lock *, hf_state now, int why) noexcept {
        const auto core = static_cast<lock_core *>(arg);
        std::vector<std::weak_ptr<stopper>> stoppers;
        std::unique_lock<std::mutex> inside(core->mutex_);
        const auto told = core->listener_;
        if (told)
            told->enter();
        if (now == HF_STATE_LOST)
            stoppers.swap(core->stoppers_);
        inside.unlock();
        for (const auto &weak : stoppers)
            if (const auto stop = weak.lock())
                catcher::run(stop->stop);
        if (told)
            told->tell(now, why);
    }

    std::shared_ptr<listener> listener_{};
    std::vector<std::weak_ptr<stopper>> stoppers_{};
};

inline const char *or_null(const std::string &text) noexcept {
    return text.empty() ? nullptr : text.c_str();
}

/* Options as holdfast.h has them; strings are lent. */
inline hf_options native(const options &with) noexcept {
    hf_options o{};
    o.size = sizeof o;
    o.lease_ms = with.lease.ms();
    o.renew_ms = with.renew.ms();
    o.timeout_ms = with.timeout.ms();
    o.patience_ms = with.patience.ms();
    o.spin_us = with.spin.count() < INT_MAX ?
                    static_cast<int>(with.spin.count()) :
                    INT_MAX;
    o.why = or_null(with.why);
    o.host = or_null(with.host);
    o.program = or_null(with.program);
    o.inside = or_null(with.inside);
    o.stats_names = or_null(with.stats_names);
    o.hidden = with.hidden;
    o.loop = with.loop;
    o.log_level = with.log_level;
    return o;
}

inline hf_escalate_options native(const escalate_options &with) noexcept {
    hf_escalate_options e{};
    e.size = sizeof e;
    e.permission_ms = with.permission.ms();
    e.after_ms = with.after.ms();
    e.back_ms = with.back.ms() == INT_MAX ? HF_FOREVER : with.back.ms();
    return e;
}

inline hf_lock_options native(const lock_options &with) noexcept {
    const auto flag = [](bool on, hf_lock_flag f) {
        return on ? static_cast<unsigned>(f) : 0U;
    };
    hf_lock_options o{};
    o.size = sizeof o;
    o.kind = static_cast<hf_kind>(with.kind);
    o.flags = flag(with.owner_handle, HF_OWNER_HANDLE) |
              flag(with.post_release, HF_POST_RELEASE) |
              flag(with.no_reentry, HF_NO_REENTRY) |
              flag(with.writers_first, HF_WRITERS_FIRST) |
              flag(with.no_cohort, HF_NO_COHORT) |
              flag(with.deadlock, HF_DEADLOCK);
    o.lease_ms = with.lease.ms();
    o.watchdog_ms = with.watchdog.ms();
    o.renew_ms = with.renew.ms();
    o.max_hold_ms = with.max_hold.ms();
    o.permits = with.permits;
    o.backoff_ms = with.backoff.ms();
    o.max_backoff_ms = with.max_backoff.ms();
    o.replicas = with.replicas;
    return o;
}

inline hf_job_options native(const job_options &with) noexcept {
    hf_job_options o{};
    o.size = sizeof o;
    o.at_least_ms = with.at_least.ms();
    o.at_most_ms = with.at_most.ms();
    return o;
}

} // namespace detail

} // namespace holdfast
#endif
