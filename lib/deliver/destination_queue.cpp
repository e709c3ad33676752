#include <ftlfeed/deliver/destination_queue.hpp>

#include <algorithm>

#include <ftlfeed/core/assert.hpp>

namespace ftlfeed::deliver {

bool DestinationQueue::owe(const core::FeedKey& key, const Owed& owed, core::SteadyTime now) {
    const bool is_under_way = under_way_ && under_way_->job.key == key;
    if (is_under_way && under_way_->owed && owed.version <= under_way_->owed->version) return false;
    auto& file = files_[key];
    if (file.waiting && owed.version <= file.waiting->version) return false;
    if (!file.waiting) {
        file.waiting_since = owed.changed_at;
        file.queued_at = now;
    }
    // The oldest change, whatever the order of arrival: two transactions may commit against the order of their stamps.
    file.waiting_since = std::min(file.waiting_since, owed.changed_at);
    file.waiting = owed;
    file.tries = after_newer_version(file.tries, now);
    tries_ = after_newer_version(tries_, now);
    place(key, file);
    return true;
}

void DestinationQueue::restore(const core::FeedKey& key, const Owed& owed, core::SystemTime waiting_since,
                               const Tries& tries, core::SteadyTime now) {
    if (under_way_ && under_way_->job.key == key && under_way_->owed && owed.version <= under_way_->owed->version)
        return;
    auto& file = files_[key];
    if (file.waiting && owed.version <= file.waiting->version) return;
    file.waiting_since = file.waiting ? std::min(file.waiting_since, waiting_since) : waiting_since;
    if (!file.waiting) file.queued_at = now;
    file.waiting = owed;
    if (file.tries.failures == 0) file.tries = tries;
    place(key, file);
}

void DestinationQueue::settle_first(const core::FeedKey& key, core::SteadyTime now) {
    auto& file = files_[key];
    file.must_settle = true;
    if (!file.waiting) file.queued_at = now;
    place(key, file);
}

void DestinationQueue::look_again(const core::FeedKey& key, core::SteadyTime at) {
    auto& file = files_[key];
    file.look_at = file.look_at ? std::max(*file.look_at, at) : at;
    place(key, file);
}

std::optional<core::SteadyTime> DestinationQueue::ready_at(const File& file) {
    std::optional<core::SteadyTime> ready = file.look_at;
    if (file.waiting || file.must_settle) {
        const auto send_at = std::max(file.queued_at, file.tries.next_try);
        ready = ready ? std::min(*ready, send_at) : send_at;
    }
    return ready;
}

void DestinationQueue::place(const core::FeedKey& key, File& file) {
    std::uint64_t order = next_order_;
    if (file.place) {
        order = file.place->second;  // A file keeps its turn when only its version changes.
        by_time_.erase(*file.place);
        file.place.reset();
    } else {
        ++next_order_;
    }
    if (under_way_ && under_way_->job.key == key) return;  // Placed when it ends.
    if (const auto ready = ready_at(file)) {
        file.place = {*ready, order};
        by_time_.emplace(*file.place, key);
    }
}

std::optional<Job> DestinationQueue::take(core::SteadyTime now) {
    if (under_way_ || by_time_.empty() || now < rest_until_ || !tries_.may_try(now)) return std::nullopt;
    const auto first = by_time_.begin();
    if (first->first.first > now) return std::nullopt;
    const auto key = first->second;
    auto& file = files_.at(key);
    by_time_.erase(first);
    file.place.reset();

    Job job{Job::Kind::kLookAgain, key, {}, file.waiting_since};
    const bool may_send = file.tries.may_try(now) && now >= file.queued_at;
    if (file.must_settle && may_send) {
        job.kind = Job::Kind::kSettle;
    } else if (file.waiting && may_send) {
        job.kind = Job::Kind::kSend;
        job.version = file.waiting->version;
    }
    under_way_ = UnderWay{job, std::nullopt};
    if (job.kind == Job::Kind::kSend) under_way_->owed = std::exchange(file.waiting, std::nullopt);
    return job;
}

DestinationQueue::File& DestinationQueue::end_under_way(core::SteadyTime queued_at) {
    FTL_ASSERT(under_way_.has_value());
    const auto ended = *std::exchange(under_way_, std::nullopt);
    auto& file = files_.at(ended.job.key);
    if (ended.owed) {
        file.waiting_since =
            file.waiting ? std::min(file.waiting_since, ended.job.waiting_since) : ended.job.waiting_since;
        // A failed send hands its duty to the newer version.
        if (!file.waiting || file.waiting->version < ended.owed->version) file.waiting = ended.owed;
    }
    file.queued_at = queued_at;
    return file;
}

void DestinationQueue::succeeded(const core::Version& version, core::SteadyTime now) {
    FTL_ASSERT(under_way_.has_value());
    const auto ended = *std::exchange(under_way_, std::nullopt);
    auto& file = files_.at(ended.job.key);
    tries_ = Tries{};
    file.tries = Tries{};
    file.must_settle = false;
    if (ended.job.kind == Job::Kind::kLookAgain) file.look_at.reset();
    // A look may prove less than what is owed; a send loads the newest, which may be more than was known here.
    if (ended.owed && ended.owed->version > version && (!file.waiting || file.waiting->version < ended.owed->version)) {
        file.waiting = ended.owed;
        file.waiting_since = ended.owed->changed_at;
    }
    if (file.waiting && file.waiting->version <= version) file.waiting.reset();
    file.queued_at = now;
    place(ended.job.key, file);
    drop_if_idle(ended.job.key);
}

void DestinationQueue::settled(core::SteadyTime now) {
    FTL_ASSERT(under_way_.has_value());
    const auto job = under_way_->job;
    auto& file = end_under_way(now);
    file.must_settle = false;
    if (job.kind == Job::Kind::kLookAgain) file.look_at.reset();
    place(job.key, file);
    drop_if_idle(job.key);
}

void DestinationQueue::put_back(core::SteadyTime not_before) {
    FTL_ASSERT(under_way_.has_value());
    const auto key = under_way_->job.key;
    auto& file = end_under_way(not_before);
    rest_until_ = not_before;
    place(key, file);
}

void DestinationQueue::failed(const core::Failure& failure, core::SteadyTime now, double jitter) {
    FTL_ASSERT(under_way_.has_value());
    const auto key = under_way_->job.key;
    auto& file = end_under_way(now);
    if (failure.in_doubt()) file.must_settle = true;
    tries_ = after_failure(tries_, pace_, failure, now, jitter);
    place(key, file);
}

void DestinationQueue::refused(bool lasts, core::SteadyTime now, double jitter) {
    FTL_ASSERT(under_way_.has_value());
    const auto key = under_way_->job.key;
    const bool newer_waits = files_.at(key).waiting.has_value();
    auto& file = end_under_way(now);
    // The same bytes under the same name will be refused again: the slow pace at once. A newer version is another
    // question, unless the refusal is about the name.
    file.tries = after_failure(file.tries, pace_, core::Failure::permanent("refused"), now, jitter);
    file.tries.may_come_early = !lasts;
    if (newer_waits) file.tries = after_newer_version(file.tries, now);
    place(key, file);
}

void DestinationQueue::forget(const core::FeedKey& key) {
    const auto found = files_.find(key);
    if (found == files_.end()) return;
    if (under_way_ && under_way_->job.key == key) {
        found->second.waiting.reset();
        return;
    }
    if (found->second.place) by_time_.erase(*found->second.place);
    files_.erase(found);
}

void DestinationQueue::settings_changed(const Pace& pace, core::SteadyTime now) {
    pace_ = pace;
    tries_.next_try = now;
    tries_.may_come_early = true;
    for (auto& [key, file] : files_) {
        file.tries.next_try = std::min(file.tries.next_try, now);
        file.tries.may_come_early = true;
        place(key, file);
    }
}

std::optional<core::SteadyTime> DestinationQueue::wake_at() const {
    if (under_way_ || by_time_.empty()) return std::nullopt;
    return std::max({by_time_.begin()->first.first, tries_.next_try, rest_until_});
}

std::optional<core::SystemTime> DestinationQueue::oldest_change() const {
    std::optional<core::SystemTime> oldest;
    const auto note = [&oldest](core::SystemTime time) { oldest = oldest ? std::min(*oldest, time) : time; };
    for (const auto& [key, file] : files_) {
        if (file.waiting) note(file.waiting_since);
    }
    if (under_way_ && under_way_->owed) note(under_way_->job.waiting_since);
    return oldest;
}

std::size_t DestinationQueue::owed_files() const {
    std::size_t owed = under_way_ && under_way_->owed ? 1 : 0;
    for (const auto& [key, file] : files_) {
        if (file.waiting && !(under_way_ && under_way_->owed && under_way_->job.key == key)) ++owed;
    }
    return owed;
}

Tries DestinationQueue::tries_of(const core::FeedKey& key) const {
    const auto found = files_.find(key);
    return found == files_.end() ? Tries{} : found->second.tries;
}

void DestinationQueue::drop_if_idle(const core::FeedKey& key) {
    const auto found = files_.find(key);
    if (found == files_.end() || ready_at(found->second)) return;
    if (found->second.place) by_time_.erase(*found->second.place);
    files_.erase(found);
}

}  // namespace ftlfeed::deliver
