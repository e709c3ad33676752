#include "serve/document_reader.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <ftlfeed/core/log.hpp>
#include <ftlfeed/core/metrics.hpp>

namespace ftlfeed::serve {
namespace {

/// One file's read, from the first who asks until what was read is in Redis.
struct Flight {
    std::vector<DocumentReader::Handler> handlers;
    std::optional<DocumentReader::Result> result;
    core::SteadyTime since;
};

/// After a connect that failed nobody tries for so long: a database that is away, or full, is not to be asked by every miss.
constexpr std::chrono::milliseconds kPauseAfterFailure{200};

}  // namespace

class DocumentReader::Impl {
public:
    Impl(const Settings& settings, Parts parts) : settings_(settings), parts_(std::move(parts)) {
        for (std::size_t i = 0; i < settings_.sessions; ++i) {
            threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
        }
    }

    ~Impl() {
        for (auto& thread : threads_) thread.request_stop();
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void read(const std::string& doc_key, const Handler& handler) {
        std::optional<Result> known;
        {
            const std::lock_guard lock(mutex_);
            const auto found = flights_.find(doc_key);
            if (found == flights_.end() && queue_.size() >= settings_.files_max) {
                known = core::Failure::busy("too many files wait for Postgres");
            } else if (found == flights_.end()) {
                flights_.emplace(doc_key, Flight{{handler}, std::nullopt, parts_.clock.steady_now()});
                queue_.push_back(doc_key);
            } else if (found->second.result) {
                known = found->second.result;
            } else {
                found->second.handlers.push_back(handler);
            }
        }
        if (known) return handler(*known);
        changed_.notify_one();
    }

private:
    void work(const std::stop_token& stop) {
        std::optional<store::Session> session;
        for (;;) {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return !queue_.empty(); })) return;
            const auto doc_key = std::move(queue_.front());
            queue_.pop_front();
            const bool is_stale = parts_.clock.steady_now() - flights_.at(doc_key).since > settings_.wait_max;
            lock.unlock();
            const auto result =
                is_stale ? Result(core::Failure::busy("waited too long for Postgres")) : read_one(session, doc_key);
            for (const auto& handler : landed(doc_key, result)) handler(result);
            if (const auto* document = std::get_if<DocumentPtr>(&result); document && *document) {
                parts_.keep(doc_key, *document);
            }
            const std::lock_guard again(mutex_);
            flights_.erase(doc_key);
        }
    }

    Result read_one(std::optional<store::Session>& session, const std::string& doc_key) {
        try {
            if (!session) session.emplace(connect());
            reads_.increment();
            return read_document(*session, doc_key);
        } catch (const core::Failure& failure) {
            if (session && session->is_broken()) session.reset();
            core::log_debug("serve.postgres", {{"file", doc_key}, {"error", failure.what()}});
            failures_.increment();
            return failure;
        }
    }

    store::Session connect() {
        const auto now = parts_.clock.steady_now();
        if (now < closed_until_.load()) throw core::Failure::unavailable("Postgres was not to be reached a moment ago");
        try {
            return parts_.connect();
        } catch (const core::Failure&) {
            closed_until_ = parts_.clock.steady_now() + kPauseAfterFailure;
            throw;
        }
    }

    /// Whoever asks from now on gets the result at once.
    std::vector<Handler> landed(const std::string& doc_key, const Result& result) {
        const std::lock_guard lock(mutex_);
        auto& flight = flights_.at(doc_key);
        flight.result = result;
        return std::exchange(flight.handlers, {});
    }

    Settings settings_;
    Parts parts_;
    core::Counter reads_ = core::counter("ftl_serve_postgres_reads_total", "Files read from Postgres");
    core::Counter failures_ = core::counter("ftl_serve_postgres_failures_total", "Reads of files that failed");
    std::atomic<core::SteadyTime> closed_until_{core::SteadyTime{}};
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<std::string, Flight> flights_;
    std::deque<std::string> queue_;
    std::vector<std::jthread> threads_;  // Last: they use all the others.
};

DocumentReader::DocumentReader(const Settings& settings, Parts parts)
    : impl_(std::make_unique<Impl>(settings, std::move(parts))) {}
DocumentReader::~DocumentReader() = default;

void DocumentReader::read(const std::string& doc_key, Handler handler) { impl_->read(doc_key, handler); }

}  // namespace ftlfeed::serve
