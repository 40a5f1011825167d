/* SPDX-License-Identifier: MIT
 *
 * holdfast.hpp - holdfast.h for C++17 and later; there is nothing to link.
 *
 *     #include <holdfast.hpp>
 *     using namespace std::chrono_literals;
 *
 *     holdfast::client client("redis://127.0.0.1");
 *     holdfast::lock nightly(client, "nightly");
 *     {
 *         std::scoped_lock inside(nightly);  // as with a std::mutex
 *     }
 *     auto hold = nightly.acquire(5s);       // or with what a lease is about
 *     while (hold.valid() && work.is_left())
 *         work.do_some(hold.token());
 *     hold.release();                        // can fail, and says so
 *
 * holdfast.h is the contract: what is not said here is as it says there.
 *
 * Objects own what they stand for, and can be moved but not copied.  A lock
 * keeps its client open, a hold and a multi-lock keep their locks: they may go
 * in any order.  What was moved from, or could not be made, is empty, which is
 * false; what is asked of it fails with errc::usage.
 *
 * Errors.  Every call that can fail takes a last argument that says where to
 * put it: an outcome, which has the sentence, or a std::error_code.  Without
 * one a holdfast::error is thrown; where exceptions are switched off, the
 * program is aborted.  That somebody else was first, or the time is over, is no
 * error for a call that says so by a bool or an empty hold.
 *
 * Time.  Any duration of std::chrono will do.  It is rounded up to
 * milliseconds; a wait that an int cannot hold has no end.
 *
 * Threads.  A lock belongs to the thread that takes it, as a std::mutex does:
 * only there can its hold be asked and given back, by its destructor, too.  To
 * hand it over, or to an event loop, give it lock_options::owner_handle.
 *
 * Callbacks on the library's own threads (on_state, on_event, on_log) must not
 * throw: it ends the program, as with a std::thread.  Those that run in
 * client::process may, and so may those of client::list and its like: the call
 * throws it again, the first of several, when all have run. */
#ifndef HOLDFAST_HPP
#define HOLDFAST_HPP

#include "holdfast/detail.hpp"

#include <atomic>
#include <cstdint>
#if __cplusplus >= 202002L && __has_include(<stop_token>)
#include <stop_token>
#endif

namespace holdfast {

/* ---- the client -------------------------------------------------------- */

class client {
public:
    /* Of the store at `uri`; without one, of $HOLDFAST_STORE or this host's. */
    explicit client(const std::string &uri, const options &with = {},
                    report to = {})
        : client(with, to, hf_open, uri.c_str()) {}
    explicit client(const options &with = {}, report to = {})
        : client(with, to, hf_open, nullptr) {}

    /* Of two stores: hf_escalate_to. */
    static client escalate(const std::string &uri, const std::string &second,
                           const options &with = {},
                           const escalate_options &how = {}, report to = {}) {
        const hf_escalate_options e = detail::native(how);
        const auto open = [&](auto ret, auto first, auto o, auto err) {
            return hf_escalate_to(ret, first, second.c_str(), o, &e, err);
        };
        return client(with, to, open, uri.c_str());
    }

    client(client &&) noexcept = default;
    client &operator=(client &&) noexcept = default;
    explicit operator bool() const noexcept { return core_ != nullptr; }
    hf_client *native_handle() const noexcept { return detail::raw(core_); }
    std::string store() const { return hf_store(native_handle()); }
    unsigned can(kind k) const noexcept { /* HF_CAN_… */
        return hf_can(native_handle(), static_cast<hf_kind>(k));
    }

    /* For an event loop: poll fd(), and call process() when it is readable. */
    int fd(report to = {}) const {
        return detail::number(to, hf_fd(native_handle()));
    }
    int process(report to = {}) const {
        const auto core = core_; /* a callback may drop the client */
        detail::catcher here;
        const int rc = hf_process(detail::raw(core));
        here.rethrow();
        return detail::number(to, rc);
    }
    /* Runs `work` on a thread of the library's.  `fn` is told in process() what
     * it returned, or the holdfast::error that it threw. */
    void call_async(std::function<outcome()> work, done fn,
                    report to = {}) const {
        hf_error err{};
        const auto o =
            core_ ? core_->add(std::move(fn), std::move(work)) : nullptr;
        const int rc =
            hf_call_async(native_handle(), &run, &detail::begun::tell, o, &err);
        if (rc < 0 && o)
            core_->take(o);
        to.tell(rc, err);
    }

    /* Everything that `fn` is told is lent for the call.  "": every name. */
    void list(const std::string &name,
              const std::function<void(const hf_place &)> &fn,
              report to = {}) const {
        detail::each(to, fn, hf_list, native_handle(), detail::or_null(name));
    }
    void clients(const std::function<void(const hf_presence &)> &fn,
                 report to = {}) const {
        detail::each(to, fn, hf_clients, native_handle());
    }
    void stats(const std::function<void(const hf_sample &)> &fn,
               report to = {}) const {
        detail::each(to, fn, hf_stats, native_handle());
    }

private:
    friend class mutex;
    friend class semaphore;
    friend class latch;
    friend class job;

    template <class Open>
    client(const options &with, report to, Open open, const char *uri) {
        auto core = std::make_shared<detail::client_core>();
        core->on_event = with.on_event;
        core->on_log = with.on_log;
        hf_options o = detail::native(with);
        o.on_event = with.on_event ? &core->event : nullptr;
        o.on_log = with.on_log ? &core->log : nullptr;
        o.event_arg = o.log_arg = core.get();
        if (detail::ask(to, open, &core->raw, uri, &o) == HF_OK)
            core_ = std::move(core);
    }
    static int run(void *arg, hf_error *err) noexcept {
        const auto &work = static_cast<detail::begun::op *>(arg)->work;
        outcome how;
#ifdef __cpp_exceptions
        try {
            how = work();
        } catch (const error &e) {
            how = e.how();
        }
#else
        how = work();
#endif
        *err = how.native();
        return err->code;
    }

    std::shared_ptr<detail::client_core> core_{};
};

/* ---- what is held ------------------------------------------------------ */

/* Becomes true when the lock is lost, and stays so; any thread may look.  The
 * twin of std::stop_token for C++17. */
class stop_flag {
public:
    bool stop_requested() const noexcept { return *stopped_; }

private:
    friend class held;
    explicit stop_flag(std::shared_ptr<std::atomic<bool>> stopped) noexcept
        : stopped_(std::move(stopped)) {}
    std::shared_ptr<std::atomic<bool>> stopped_;
};

/* What a hold and a job have in common.  Asks nothing of the store. */
class held {
public:
    held(held &&) noexcept = default;
    held &operator=(held &&) = delete;

    /* It was granted and not given back; and is not lost either. */
    explicit operator bool() const noexcept { return core_ != nullptr; }
    bool valid() const noexcept { return hf_lock_is_held(raw()); }

    std::uint64_t token() const noexcept { return hf_lock_token(raw()); }
    std::chrono::milliseconds remaining() const noexcept { /* of the lease */
        return std::chrono::milliseconds(hf_lock_remaining_ms(raw()));
    }

    /* For loops, in whatever thread: set when it is lost before it is given
     * back; asked for by the owner.  If one of several holds of a handle is
     * lost, the flags of all are set. */
    stop_flag get_stop_flag() {
        using flag = std::atomic<bool>;
        if (!flag_) {
            const auto stopped = std::make_shared<flag>(false);
            flag_ = watch([stopped] { *stopped = true; }, stopped);
        }
        return stop_flag(std::static_pointer_cast<flag>(flag_->state));
    }
#ifdef __cpp_lib_jthread
    std::stop_token get_stop_token() {
        using source = std::stop_source;
        if (!token_) {
            const auto stop = std::make_shared<source>();
            token_ = watch([stop] { stop->request_stop(); }, stop);
        }
        return std::static_pointer_cast<source>(token_->state)->get_token();
    }
#endif

protected:
    held() noexcept = default;
    explicit held(std::shared_ptr<detail::lock_core> core,
                  bool in_loop = false) noexcept
        : core_(std::move(core)), in_loop_(in_loop) {}
    ~held() = default;
    hf_lock *raw() const noexcept {
        return detail::raw(core_);
    }
    void swap(held &other) noexcept {
        core_.swap(other.core_);
        flag_.swap(other.flag_);
        token_.swap(other.token_);
        std::swap(in_loop_, other.in_loop_);
    }
    void clear() noexcept {
        flag_.reset();
        token_.reset();
        core_.reset();
    }

    std::shared_ptr<detail::lock_core> core_{};
    bool in_loop_ = false; /* it came without waiting, and goes so */

private:
    std::shared_ptr<detail::stopper> watch(std::function<void()> stop,
                                           std::shared_ptr<void> state) {
        auto made = std::make_shared<detail::stopper>(
            detail::stopper{std::move(stop), std::move(state)});
        if (core_)
            core_->add_stopper(made);
        else
            made->stop();
        return made;
    }

    std::shared_ptr<detail::stopper> flag_{}, token_{};
};

/* One hold of a lock, given back when its life ends. */
class hold : public held {
public:
    hold() noexcept = default;
    hold(hold &&) noexcept = default;
    hold &operator=(hold &&other) noexcept {
        hold taken(std::move(other));
        swap(taken);
        return *this;
    }
    ~hold() {
        if (core_ &&
            !(in_loop_ &&
              hf_lock_release_async(raw(), nullptr, nullptr, nullptr) == HF_OK))
            (void)hf_lock_release(raw(), nullptr);
    }

    /* Empty afterwards, also when it fails, but for errc::not_owner. */
    void release(report to = {}) { end(to, hf_lock_release, raw()); }
    void release_after(how_long time, report to = {}) {
        end(to, hf_lock_release_after, raw(), time.ms());
    }
    void extend(how_long lease, report to = {}) {
        detail::ask(to, hf_lock_extend, raw(), lease.ms());
    }

    /* `fn` is told in client::process, unless the lock is gone by then. */
    void release_async(done fn, report to = {}) {
        outcome how; /* first of all it is not held any more */
        const auto core = core_;
        if (detail::begin(core.get(), how, std::move(fn), hf_lock_release_async,
                          raw()) == HF_OK)
            clear();
        to.tell(how.native().code, how.native());
    }
    void extend_async(how_long lease, done fn, report to = {}) {
        detail::begin(core_.get(), to, std::move(fn), hf_lock_extend_async,
                      raw(), lease.ms());
    }

private:
    friend class mutex;
    using held::held;

    template <class Call, class... Args>
    void end(report to, Call call, Args... args) {
        hf_error err{};
        const int rc = call(args..., &err);
        if (rc != HF_ENOT_OWNER)
            clear();
        to.tell(rc, err);
    }
};

/* ---- the lock ---------------------------------------------------------- */

/* Lockable and TimedLockable: std::unique_lock, std::lock_guard and
 * std::scoped_lock take it.  Of a loss, and of a release that fails, they
 * cannot tell: on_state and a hold can. */
class mutex {
public:
    mutex(const client &of, const std::string &name,
          const lock_options &with = {}, report to = {}) {
        auto core = std::make_shared<detail::lock_core>();
        core->client = of.core_;
        const hf_lock_options o = detail::native(with);
        if (detail::ask(to, hf_lock_new, &core->raw, of.native_handle(),
                        name.c_str(), &o) == HF_OK)
            keep(std::move(core));
    }
    mutex(mutex &&) noexcept = default;
    mutex &operator=(mutex &&) noexcept = default;
    explicit operator bool() const noexcept { return core_ != nullptr; }
    hf_lock *native_handle() const noexcept { return detail::raw(core_); }

    void lock(report to = {}) { acquire_raw(forever, to); }
    bool try_lock(report to = {}) { return try_lock_for({}, to); }
    bool try_lock_for(how_long wait, report to = {}) {
        return detail::attempt(to, hf_lock_acquire, native_handle(),
                               wait.wait_ms());
    }
    template <class Clock, class Duration>
    bool try_lock_until(std::chrono::time_point<Clock, Duration> time,
                        report to = {}) {
        outcome how;
        do /* again, if the clock was set back meanwhile */
            try_lock_for(how_long::until(time), how);
        while (how.busy() && how_long::until(time).wait_ms() != 0);
        to.tell(how.native().code, how.native());
        return bool(how);
    }
    void unlock() noexcept { (void)hf_lock_release(native_handle(), nullptr); }

    /* Time that runs out is an error here, … */
    hold acquire(how_long wait = forever, report to = {}) {
        return acquire_raw(wait, to) ? hold(core_) : hold();
    }
    /* … and an empty hold here. */
    hold try_acquire(how_long wait = {}, report to = {}) {
        return try_lock_for(wait, to) ? hold(core_) : hold();
    }
    /* Begins it; `fn` is told in client::process, once, or never if the lock
     * goes before.  Wants owner_handle.  The hold will be given back without
     * waiting as well. */
    void acquire_async(how_long wait,
                       std::function<void(hold, const outcome &)> fn,
                       report to = {}) {
        std::weak_ptr<detail::lock_core> weak = core_; /* it owns this */
        const auto told = [weak, fn = std::move(fn)](const outcome &how) {
            fn(how ? hold(weak.lock(), true) : hold(), how);
        };
        detail::begin(core_.get(), to, told, hf_lock_acquire_async,
                      native_handle(), wait.wait_ms());
    }
    void cancel() noexcept { hf_lock_cancel(native_handle()); }
    void force_release(const std::string &owner = {}, report to = {}) {
        detail::ask(to, hf_lock_force_release, native_handle(),
                    detail::or_null(owner));
    }

    /* `fn` runs on the library's thread, and must not destroy the lock or the
     * client; with options::loop it runs in client::process, and may.  {} takes
     * it away.  Both return when the one before no longer runs, unless called
     * from it.  It should not own a hold: that keeps the lock. */
    void on_state(std::function<void(state, std::error_code why)> fn) {
        if (core_)
            core_->set(std::move(fn));
    }
    void on_lost(std::function<void(std::error_code why)> fn) {
        if (!fn)
            return on_state({});
        on_state([fn = std::move(fn)](state now, std::error_code why) {
            if (now == state::lost)
                fn(why);
        });
    }
    int lost_fd(report to = {}) {
        return detail::number(to, hf_lock_lost_fd(native_handle()));
    }

    /* About the calling owner; last_token, of all, asks the store. */
    bool is_held() const noexcept { return hf_lock_is_held(native_handle()); }
    int holds() const noexcept { return hf_lock_holds(native_handle()); }
    std::uint64_t token() const noexcept {
        return hf_lock_token(native_handle());
    }
    std::chrono::milliseconds remaining() const noexcept {
        return std::chrono::milliseconds(hf_lock_remaining_ms(native_handle()));
    }
    std::string owner() const {
        std::string text(hf_lock_owner(native_handle(), nullptr, 0) + 1, '\0');
        text.resize(hf_lock_owner(native_handle(), text.data(), text.size()));
        return text;
    }
    std::string name() const { return hf_lock_name(native_handle()); }
    std::string store() const { return hf_lock_store(native_handle()); }
    std::uint64_t last_token(report to = {}) const {
        std::uint64_t token = 0;
        detail::ask(to, hf_lock_last_token, native_handle(), &token);
        return token;
    }

protected:
    mutex() noexcept = default;
    void keep(std::shared_ptr<detail::lock_core> core) noexcept {
        core_ = std::move(core);
        core_->listen();
    }
    std::shared_ptr<detail::lock_core> core_{};

private:
    friend class multi;
    friend class shared_mutex;

    bool acquire_raw(how_long wait, report to) {
        return detail::ask(to, hf_lock_acquire, native_handle(),
                           wait.wait_ms()) == HF_OK;
    }
};

/* The name it has elsewhere in holdfast.  A class cannot have a function of its
 * own name, and the standard wants that one to be called lock. */
using lock = mutex;

/* Several locks as one.  They are kept, and cannot be used by themselves until
 * it is gone. */
class multi : public mutex {
public:
    template <class... More>
    explicit multi(mutex &first, mutex &second, More &...more)
        : multi({&first, &second, &more...}) {}
    explicit multi(const std::vector<mutex *> &members, report to = {}) {
        auto core = std::make_shared<detail::lock_core>();
        std::vector<hf_lock *> raw;
        for (const mutex *member : members) {
            raw.push_back(member->native_handle());
            if (member->core_)
                core->members.push_back(member->core_);
        }
        if (detail::ask(to, hf_multi_new, &core->raw, raw.data(), raw.size()) ==
            HF_OK)
            keep(std::move(core));
    }
};

/* Both sides of a read-write lock; SharedTimedLockable, for std::shared_lock.
 * Each side is a lock of its own. */
class shared_mutex {
public:
    shared_mutex(const client &of, const std::string &name,
                 lock_options with = {}, report to = {})
        : write_(of, name, side(with, kind::write), to),
          read_(write_ ? mutex(of, name, side(with, kind::read), to) :
                         mutex()) {}
    explicit operator bool() const noexcept { return write_ && read_; }
    mutex &writer() noexcept { return write_; }
    mutex &reader() noexcept { return read_; }

    void lock(report to = {}) { write_.lock(to); }
    bool try_lock(report to = {}) { return write_.try_lock(to); }
    bool try_lock_for(how_long wait, report to = {}) {
        return write_.try_lock_for(wait, to);
    }
    template <class Time>
    bool try_lock_until(Time time, report to = {}) {
        return write_.try_lock_until(time, to);
    }
    void unlock() noexcept { write_.unlock(); }

    void lock_shared(report to = {}) { read_.lock(to); }
    bool try_lock_shared(report to = {}) { return read_.try_lock(to); }
    bool try_lock_shared_for(how_long wait, report to = {}) {
        return read_.try_lock_for(wait, to);
    }
    template <class Time>
    bool try_lock_shared_until(Time time, report to = {}) {
        return read_.try_lock_until(time, to);
    }
    void unlock_shared() noexcept { read_.unlock(); }

private:
    static const lock_options &side(lock_options &with, kind k) noexcept {
        with.kind = k;
        return with;
    }

    mutex write_, read_;
};

/* ---- counting ---------------------------------------------------------- */

class semaphore {
public:
    semaphore(const client &of, const std::string &name, report to = {})
        : core_(new core) {
        core_->client = of.core_;
        if (detail::ask(to, hf_semaphore_new, &core_->raw, of.native_handle(),
                        name.c_str()) != HF_OK)
            core_.reset();
    }
    explicit operator bool() const noexcept { return core_ != nullptr; }
    hf_semaphore *native_handle() const noexcept { return detail::raw(core_); }
    std::string name() const { return hf_semaphore_name(native_handle()); }

    /* false: somebody had set it. */
    bool set(int permits, how_long ttl = {}, report to = {}) {
        return detail::attempt(to, hf_semaphore_set, native_handle(), permits,
                               ttl.ms());
    }
    void acquire(int n = 1, how_long wait = forever, report to = {}) {
        detail::ask(to, hf_semaphore_acquire, native_handle(), n,
                    wait.wait_ms());
    }
    bool try_acquire(int n = 1, how_long wait = {}, report to = {}) {
        return detail::attempt(to, hf_semaphore_acquire, native_handle(), n,
                               wait.wait_ms());
    }
    void acquire_async(int n, how_long wait, done fn, report to = {}) {
        detail::begin(core_.get(), to, std::move(fn),
                      hf_semaphore_acquire_async, native_handle(), n,
                      wait.wait_ms());
    }
    void cancel() noexcept { hf_semaphore_cancel(native_handle()); }
    void release(int n = 1, report to = {}) {
        detail::ask(to, hf_semaphore_release, native_handle(), n);
    }
    void release_if_set(int n = 1, report to = {}) {
        detail::ask(to, hf_semaphore_release_if_set, native_handle(), n);
    }
    void release_async(int n, done fn, report to = {}) {
        detail::begin(core_.get(), to, std::move(fn),
                      hf_semaphore_release_async, native_handle(), n);
    }
    void add(int n, report to = {}) {
        detail::ask(to, hf_semaphore_add, native_handle(), n);
    }
    void resize(int n, report to = {}) {
        detail::ask(to, hf_semaphore_resize, native_handle(), n);
    }
    std::int64_t drain(report to = {}) { /* how many were taken */
        std::int64_t taken = 0;
        detail::ask(to, hf_semaphore_drain, native_handle(), &taken);
        return taken;
    }
    struct counts {
        std::int64_t available, leased;
    };
    counts count(report to = {}) const {
        counts n{};
        detail::ask(to, hf_semaphore_count, native_handle(), &n.available,
                    &n.leased);
        return n;
    }
    void remove(report to = {}) { /* hf_semaphore_delete */
        detail::ask(to, hf_semaphore_delete, native_handle());
    }

private:
    using core = detail::core<hf_semaphore, hf_semaphore_free>;
    std::unique_ptr<core> core_;
};

class latch {
public:
    latch(const client &of, const std::string &name, report to = {})
        : core_(new core) {
        core_->client = of.core_;
        if (detail::ask(to, hf_latch_new, &core_->raw, of.native_handle(),
                        name.c_str()) != HF_OK)
            core_.reset();
    }
    explicit operator bool() const noexcept { return core_ != nullptr; }
    hf_latch *native_handle() const noexcept { return detail::raw(core_); }
    std::string name() const { return hf_latch_name(native_handle()); }

    /* false: it is set. */
    bool set(int count, report to = {}) {
        return detail::attempt(to, hf_latch_set, native_handle(), count);
    }
    void count_down(report to = {}) {
        detail::ask(to, hf_latch_count_down, native_handle());
    }
    void count_down_async(done fn, report to = {}) {
        detail::begin(core_.get(), to, std::move(fn), hf_latch_count_down_async,
                      native_handle());
    }
    std::int64_t count(report to = {}) const {
        std::int64_t left = 0;
        detail::ask(to, hf_latch_count, native_handle(), &left);
        return left;
    }
    void wait(how_long time = forever, report to = {}) {
        detail::ask(to, hf_latch_wait, native_handle(), time.wait_ms());
    }
    bool try_wait(how_long time = {}, report to = {}) {
        return detail::attempt(to, hf_latch_wait, native_handle(),
                               time.wait_ms());
    }
    void wait_async(how_long time, done fn, report to = {}) {
        detail::begin(core_.get(), to, std::move(fn), hf_latch_wait_async,
                      native_handle(), time.wait_ms());
    }
    void cancel() noexcept { hf_latch_cancel(native_handle()); }
    void remove(report to = {}) { /* hf_latch_delete */
        detail::ask(to, hf_latch_delete, native_handle());
    }

private:
    using core = detail::core<hf_latch, hf_latch_free>;
    std::unique_ptr<core> core_;
};

/* ---- the scheduled job ------------------------------------------------- */

/* Empty: skip it, another host runs it or has just done so. */
class job : public held {
public:
    job() noexcept = default;
    job(const client &of, const std::string &name, const job_options &with = {},
        report to = {}) {
        const hf_job_options o = detail::native(with);
        auto core = std::make_shared<detail::lock_core>();
        if (detail::ask(to, hf_job_begin, &job_, of.native_handle(),
                        name.c_str(), &o) == HF_OK)
            keep(std::move(core), of.core_);
    }
    job(job &&other) noexcept
        : held(std::move(other)), job_(std::exchange(other.job_, nullptr)) {}
    job &operator=(job &&other) noexcept {
        job taken(std::move(other));
        swap(taken);
        std::swap(job_, taken.job_);
        return *this;
    }
    ~job() {
        if (in_loop_ && core_)
            end_begun(core_->client.get(), nullptr);
        if (job_)
            (void)hf_job_end(job_, nullptr);
        forget();
    }

    /* errc::lost: somebody else may have run it meanwhile.  Empty afterwards. */
    void end(report to = {}) {
        hf_error err{};
        const int rc = job_ ? hf_job_end(job_, &err) : HF_EUSAGE;
        forget();
        to.tell(rc, err);
    }
    void on_state(std::function<void(state, std::error_code why)> fn) {
        if (core_)
            core_->set(std::move(fn));
    }

    /* Both tell `fn` in client::process. */
    static void begin_async(const client &of, const std::string &name,
                            const job_options &with,
                            std::function<void(job, const outcome &)> fn,
                            report to = {}) {
        const hf_job_options o = detail::native(with);
        const auto made = std::make_shared<hf_job *>(nullptr);
        std::weak_ptr<detail::client_core> weak = of.core_; /* it owns this */
        const auto told = [weak, made, fn = std::move(fn)](const outcome &how) {
            job granted;
            granted.job_ = *made;
            granted.in_loop_ = true;
            if (how)
                granted.keep(std::make_shared<detail::lock_core>(),
                             weak.lock());
            fn(std::move(granted), how);
        };
        detail::begin(of.core_.get(), to, told, hf_job_begin_async, made.get(),
                      of.native_handle(), name.c_str(), &o);
    }
    void end_async(done fn, report to = {}) {
        const auto of = core_ ? core_->client : nullptr;
        const outcome how = end_begun(of.get(), std::move(fn));
        to.tell(how.native().code, how.native());
    }

private:
    void keep(std::shared_ptr<detail::lock_core> core,
              std::shared_ptr<detail::client_core> of) noexcept {
        core->raw = hf_job_lock(job_); /* lent: its end frees it */
        core->client = std::move(of);
        core_ = std::move(core);
        core_->listen();
    }
    outcome end_begun(detail::begun *of, done fn) {
        outcome how;
        if (core_)
            core_->mute(); /* the handle may live longer than core_ */
        if (detail::begin(of, how, std::move(fn), hf_job_end_async, job_) ==
            HF_OK)
            forget();
        else if (core_)
            core_->listen();
        return how;
    }
    void forget() noexcept {
        if (core_)
            core_->raw = nullptr;
        job_ = nullptr;
        clear();
    }

    hf_job *job_ = nullptr;
};

/* ---- the guard of a file ----------------------------------------------- */

/* Inside `path`, with the token of the lock that guards it, until its life
 * ends.  Empty: `wait` was zero, and somebody older is still inside. */
class guard {
public:
    guard(const std::string &path, std::uint64_t token, how_long wait = forever,
          report to = {}) {
        hf_guard *entered = nullptr;
        if (detail::ask(to, hf_guard_enter, &entered, path.c_str(), token,
                        wait.wait_ms()) == HF_OK)
            guard_.reset(entered);
    }
    explicit operator bool() const noexcept { return guard_ != nullptr; }
    hf_guard *native_handle() const noexcept { return guard_.get(); }

    /* errc::lost: a newer one waits until we leave. */
    void check(report to = {}) {
        detail::ask(to, hf_guard_check, guard_.get());
    }
    int fd(report to = {}) {
        return detail::number(to, hf_guard_fd(guard_.get()));
    }
    void leave() noexcept { guard_.reset(); }

private:
    struct leaver {
        void operator()(hf_guard *g) const noexcept { hf_guard_leave(g); }
    };
    std::unique_ptr<hf_guard, leaver> guard_{};
};

} // namespace holdfast
#endif
