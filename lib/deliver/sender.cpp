#include "deliver/sender.hpp"

#include <optional>
#include <utility>
#include <variant>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/deliver/name_template.hpp>

#include "deliver/send_guard.hpp"

namespace ftlfeed::deliver {
namespace {

/// After a trouble of our own (Postgres away, lease lost) a destination rests this long.
constexpr std::chrono::milliseconds kOwnRest{250};

/// The send as a transport sees it; it borrows both.
Outgoing outgoing(const DestinationSettings& settings, const Sending& sending, const RemotePath& path) {
    Outgoing file{settings.id, sending.key, sending.version, sending.occasion, sending.changed_at, path, {}};
    if (const auto* body = sending.body.get())
        file.content = {body->bytes, body->sha256, body->gz, body->content_type, body->last_modified};
    return file;
}

core::Counter sends(const char* outcome) {
    return core::counter("ftl_deliver_sends_total", "Files worked on for destinations, by outcome",
                         {{"outcome", outcome}});
}

}  // namespace

Sender::Sender(SenderParts parts)
    : parts_(std::move(parts)),
      sent_(sends("delivered")),
      settled_(sends("settled_without_send")),
      failed_(sends("failed")),
      refused_(sends("refused")),
      seconds_(core::histogram("ftl_deliver_send_seconds", "From the first byte to the proof",
                               {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120})) {}

void Sender::stop(core::SteadyTime limit) { stop_limit_ = limit; }

core::SteadyTime Sender::stop_limit() const { return stop_limit_; }

std::optional<Sender::Task> Sender::next_task(Destination& destination) {
    const auto now = parts_.clock.steady_now();
    const auto held = parts_.lease.held();
    bool rests = false;
    auto task = destination.state.with([&](Destination::State& state) -> std::optional<Task> {
        std::optional<Job> job;
        const bool may_begin =
            state.is_active && held.is_valid(now + parts_.lease_margin) && stop_limit() == core::SteadyTime::max();
        if (may_begin) job = state.queue.take(now);
        if (job) {
            return Task{destination, state.settings, *job, {parts_.worker, held.fence, parts_.lease.holder()}};
        }
        state.is_drained = false;
        rests = state.queue.wake_at().has_value();
        return std::nullopt;
    });
    if (rests) parts_.on_rest();
    return task;
}

void Sender::drain(Destination& destination) {
    while (auto task = next_task(destination)) {
        try {
            carry_out(*task);
        } catch (const core::Failure& failure) {
            // Only Postgres fails here: what a transport says was dealt with where it was called.
            core::log_debug("deliver.put_back", {{"destination", task->settings->label}, {"error", failure.what()}});
            put_back(*task, false);
        } catch (const std::exception& error) {
            // A bug of ours in one file must not end the process that serves all the others.
            core::log_error("deliver.bug", {{"destination", task->settings->label}, {"error", error.what()}});
            put_back(*task, true);
        }
    }
}

void Sender::carry_out(Task& task) {
    switch (task.job.kind) {
        case Job::Kind::kSend:
            return send(task);
        case Job::Kind::kSettle:
            return settle(task);
        case Job::Kind::kLookAgain:
            return look_again(task);
    }
}

void Sender::forget(Task& task) {
    task.destination.state.with([&](Destination::State& mine) {
        mine.queue.forget(task.job.key);
        mine.queue.settled(parts_.clock.steady_now());
        mine.queue.forget(task.job.key);
    });
}

void Sender::send(Task& task) {
    if (!task.settings->wants(task.job.key)) return forget(task);
    std::optional<NameTemplate> name_template;
    try {
        name_template.emplace(task.settings->name_template);
        static_cast<void>(transport_of(task));
    } catch (const core::InvalidInput& wrong) {
        return destination_failed(task, core::Failure::permanent(wrong.what()), task.job.version, std::nullopt);
    }
    std::optional<RemotePath> path;
    try {
        path = name_template->path_of(task.job.key);
    } catch (const core::InvalidInput& wrong) {
        return file_refused(task, {wrong.what(), true}, task.job.version, std::nullopt);
    }
    auto begun = begin_send(*parts_.pool.borrow(), parts_.bodies, *task.settings, task.us,
                            {task.job.key, task.job.waiting_since, path->text(), has_failures(task)});
    auto& state = task.destination.state;
    switch (begun.kind) {
        case Begun::Kind::kNotOurs:
            return put_back(task, false);
        case Begun::Kind::kMustSettle:
            return put_back(task, true);
        case Begun::Kind::kGone:
            return forget(task);
        case Begun::Kind::kSettled:
            settled_.increment();
            return state.with(
                [&](Destination::State& mine) { mine.queue.succeeded(begun.version, parts_.clock.steady_now()); });
        case Begun::Kind::kUnreadable:
            return file_refused(task, {begun.reason, false}, begun.version, std::nullopt);
        case Begun::Kind::kSend:
            return transfer(task, std::move(*begun.sending), false);
        case Begun::Kind::kRemove:
            return transfer(task, std::move(*begun.sending), true);
    }
}

bool Sender::has_failures(Task& task) {
    return task.destination.state.with([&](Destination::State& mine) {
        return mine.queue.tries().failures > 0 || mine.queue.tries_of(task.job.key).failures > 0;
    });
}

Transport& Sender::transport_of(Task& task) {
    auto& sending = task.destination.sending;
    if (!sending.transport || sending.made_for != task.settings) {
        // Settings, credentials or the fence may be others: the old connection is of no use any more.
        sending.transport.reset();
        sending.transport = parts_.transports(*task.settings);
        sending.made_for = task.settings;
    }
    FTL_ASSERT(sending.transport != nullptr);
    return *sending.transport;
}

void Sender::transfer(Task& task, Sending sending, bool is_removal) {
    LeaseGuard guard({parts_.pool, parts_.clock, parts_.lease, parts_.lease_margin, stop_limit_}, task.destination,
                     task.settings, task.us);
    guard.guards(sending);
    const auto started = parts_.clock.steady_now();
    std::optional<SendOutcome> outcome;
    try {
        const RemotePath path(sending.place.path);
        auto& transport = transport_of(task);
        const auto file = outgoing(*task.settings, sending, path);
        outcome = is_removal ? transport.remove(file, guard) : transport.put(file, guard);
    } catch (const core::Failure& failure) {
        return destination_failed(task, failure, sending.version, sending);
    } catch (const std::exception& error) {
        // Not a word that a transport should say; it must not stop the others.
        return destination_failed(task, core::Failure::permanent(error.what()), sending.version, sending);
    }
    if (const auto* stored = std::get_if<Stored>(&*outcome)) {
        delivered(task, sending, {is_removal ? ProofKind::kDeleted : ProofKind::kDelivered, *stored, false});
        const std::chrono::duration<double> taken = parts_.clock.steady_now() - started;
        return seconds_.observe(taken.count());
    }
    if (const auto* refused = std::get_if<Refused>(&*outcome)) {
        return file_refused(task, *refused, sending.version, sending);
    }
    if (const auto* gone = std::get_if<Gone>(&*outcome)) return receiver_gone(task, *gone, sending);
    withheld(task, sending);
}

void Sender::settle(Task& task) {
    auto& state = task.destination.state;
    const auto settled = [&] {
        state.with([&](Destination::State& mine) { mine.queue.settled(parts_.clock.steady_now()); });
    };
    const auto open = unfinished_send(*parts_.pool.borrow(), parts_.bodies, *task.settings, task.job.key);
    if (!open) return settled();
    auto look = Look::kCannot;
    if (open->body) {
        LeaseGuard guard({parts_.pool, parts_.clock, parts_.lease, parts_.lease_margin, stop_limit_}, task.destination,
                         task.settings, task.us);
        try {
            const RemotePath path(open->place.path);
            look = transport_of(task).look(outgoing(*task.settings, *open, path), guard);
        } catch (const core::Failure& failure) {
            return destination_failed(task, core::Failure::in_doubt(failure.what()), open->version, *open);
        } catch (const core::InvalidInput& wrong) {
            return destination_failed(task, core::Failure::permanent(wrong.what()), open->version, std::nullopt);
        }
    }
    core::log_info("deliver.settled", {{"destination", task.settings->label},
                                       {"file", task.job.key.doc_key()},
                                       {"version", open->version.text()},
                                       {"found", look == Look::kThere ? "published" : "not published"}});
    if (look == Look::kThere) {
        return delivered(task, *open,
                         {ProofKind::kDelivered, {"found at the receiver", Guarantee::kContentChecked}, false});
    }
    withdraw_sending(*parts_.pool.borrow(), task.settings->id, *open);
    settled();
}

void Sender::look_again(Task& task) {
    const auto proven = proven_file(*parts_.pool.borrow(), parts_.bodies, *task.settings, task.job.key);
    auto look = Look::kCannot;
    if (proven) {
        LeaseGuard guard({parts_.pool, parts_.clock, parts_.lease, parts_.lease_margin, stop_limit_}, task.destination,
                         task.settings, task.us);
        try {
            const RemotePath path(proven->place.path);
            look = transport_of(task).look(outgoing(*task.settings, *proven, path), guard);
        } catch (const core::Failure& failure) {
            return destination_failed(task, failure, proven->version, std::nullopt);
        } catch (const core::InvalidInput& wrong) {
            return destination_failed(task, core::Failure::permanent(wrong.what()), proven->version, std::nullopt);
        }
    }
    if (look == Look::kNotThere) {
        core::log_warning("deliver.replaced_by_an_older_one", {{"destination", task.settings->label},
                                                               {"file", task.job.key.doc_key()},
                                                               {"version", proven->version.text()}});
        owe_again(*parts_.pool.borrow(), task.settings->id, task.job.key, proven->version);
    }
    const auto now = parts_.clock.steady_now();
    task.destination.state.with([&](Destination::State& mine) {
        mine.queue.settled(now);
        if (look == Look::kNotThere) mine.queue.owe(task.job.key, {proven->version, proven->changed_at}, now);
    });
}

void Sender::delivered(Task& task, const Sending& sending, const Proof& proof) {
    auto& state = task.destination.state;
    auto full = proof;
    full.had_failures = has_failures(task);
    try {
        prove(*parts_.pool.borrow(), *task.settings, task.us, sending, full);
    } catch (const core::Failure& failure) {
        // The receiver has it and we cannot say so yet: looked at later, never sent blindly again.
        core::log_warning(
            "deliver.proof_not_written",
            {{"destination", task.settings->label}, {"file", task.job.key.doc_key()}, {"error", failure.what()}});
        return put_back(task, true);
    }
    sent_.increment();
    state.with([&](Destination::State& mine) { mine.queue.succeeded(sending.version, parts_.clock.steady_now()); });
}

void Sender::file_refused(Task& task, const Refused& refused, const core::Version& version,
                          const std::optional<Sending>& sending) {
    const auto now = parts_.clock.steady_now();
    const auto tries = task.destination.state.with([&](Destination::State& mine) {
        mine.queue.refused(refused.lasts, now, task.destination.sending.jitter());
        return mine.queue.tries_of(task.job.key);
    });
    refused_.increment();
    record(task, {FailedTry::Scope::kFile, false, refused.lasts, tries.failures,
                  std::chrono::duration_cast<std::chrono::milliseconds>(tries.next_try - now), refused.reason, version,
                  sending});
}

void Sender::destination_failed(Task& task, const core::Failure& failure, const core::Version& version,
                                const std::optional<Sending>& sending) {
    const auto now = parts_.clock.steady_now();
    const auto tries = task.destination.state.with([&](Destination::State& mine) {
        mine.queue.failed(failure, now, task.destination.sending.jitter());
        return mine.queue.tries();
    });
    // A broken transport is not used again.
    if (failure.connection_lost()) task.destination.sending.transport.reset();
    failed_.increment();
    record(task, {FailedTry::Scope::kDestination, failure.in_doubt(), !failure.may_retry(), tries.failures,
                  std::chrono::duration_cast<std::chrono::milliseconds>(tries.next_try - now), failure.what(), version,
                  sending});
}

void Sender::record(Task& task, const FailedTry& failed) {
    core::log_warning(failed.scope == FailedTry::Scope::kFile ? "deliver.file_refused" : "deliver.failed",
                      {{"destination", task.settings->label},
                       {"file", task.job.key.doc_key()},
                       {"failures", failed.failures},
                       {"next_try_ms", failed.next_try_in.count()},
                       {"error", failed.error}});
    try {
        record_failure(*parts_.pool.borrow(), *task.settings, task.us, task.job.key, failed);
    } catch (const core::Failure& failure) {
        // The pace goes on in memory. `sending` may still stand in the table: the next begin finds it and settles it.
        core::log_warning("deliver.failure_not_recorded",
                          {{"destination", task.settings->label}, {"error", failure.what()}});
    }
}

void Sender::withheld(Task& task, const Sending& sending) {
    core::log_info(
        "deliver.withheld",
        {{"destination", task.settings->label}, {"file", task.job.key.doc_key()}, {"version", sending.version.text()}});
    withdraw_sending(*parts_.pool.borrow(), task.settings->id, sending);
    put_back(task, false);
}

void Sender::receiver_gone(Task& task, const Gone& gone, const Sending& sending) {
    const auto failure = core::Failure::permanent(gone.reason);
    const auto now = parts_.clock.steady_now();
    const auto failures = task.destination.state.with([&](Destination::State& mine) {
        mine.queue.failed(failure, now, task.destination.sending.jitter());
        return mine.queue.tries().failures;
    });
    failed_.increment();
    core::log_warning(
        "deliver.switched_off",
        {{"destination", task.settings->label}, {"file", task.job.key.doc_key()}, {"reason", gone.reason}});
    try {
        switch_off(*parts_.pool.borrow(), *task.settings, task.us, sending, {gone.reason, failures});
        // Its other files are not even tried. The dispatcher finds it switched off at its next look.
        task.destination.state.with([](Destination::State& mine) { mine.is_active = false; });
    } catch (const core::Failure& away) {
        // It rests at the slow pace; the receiver will say so again.
        core::log_warning("deliver.failure_not_recorded",
                          {{"destination", task.settings->label}, {"error", away.what()}});
    }
}

void Sender::put_back(Task& task, bool must_settle) {
    const auto now = parts_.clock.steady_now();
    task.destination.state.with([&](Destination::State& mine) {
        if (!mine.queue.is_under_way()) return;
        // What only waits for a look is looked at now; what failed for a reason of ours rests first.
        mine.queue.put_back(must_settle ? now : now + kOwnRest);
        if (must_settle) mine.queue.settle_first(task.job.key, now);
    });
}

}  // namespace ftlfeed::deliver
