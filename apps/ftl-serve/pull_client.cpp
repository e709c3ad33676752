#include "ftl-serve/pull_client.hpp"

#include <algorithm>
#include <utility>

namespace ftlfeed::app {

using serve::PlainStatus;
using serve::PullAnswer;
using serve::Verdict;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kInputBytesFirst = 1024;
constexpr std::size_t kKnownHeadBytesMax = 1024;
/// A smaller body is copied behind its head: one piece is cheaper to send than two.
constexpr std::size_t kCopiedBytesMax = 16 * 1024;
/// Answers to pipelined requests are sent together up to here.
constexpr std::size_t kOutputBytesMax = 64 * 1024;
constexpr std::size_t kOutputBytesKept = 24 * 1024;
constexpr milliseconds kLinger{1000};
/// Of one client in one turn; then others are served before it.
constexpr int kReceivesMax = 4;

}  // namespace

core::Counter& PullCounters::of(PlainStatus status) {
    switch (status) {
        case PlainStatus::kUnauthorized:
            return unauthorized;
        case PlainStatus::kNotFound:
            return missing;
        case PlainStatus::kGone:
            return gone;
        case PlainStatus::kUnavailable:
            return unavailable;
        default:
            return other;
    }
}

const std::string& DateLine::text() {
    const auto second = std::chrono::system_clock::to_time_t(clock_.system_now());
    if (second != second_) {
        second_ = second;
        text_ = "Date: " + serve::http_date(second) + "\r\n";
    }
    return text_;
}

PullClient::PullClient(int socket, PullSurroundings& around) : around_(around), socket_(socket, around.ready, *this) {
    set_limit(around_.settings.idle_timeout);
}

void PullClient::ready(std::uint32_t events) {
    socket_.note(events);
    receives_ = 0;
    switch (state_) {
        case State::kReading:
            if (receive()) serve_input();
            return;
        case State::kAsking:
            return;  // What it says meanwhile is read after the answer.
        case State::kWriting:
            return write_rest();
        case State::kLingering:
            return read_and_drop();
    }
}

void PullClient::look(core::SteadyTime now) {
    if (now < deadline_ || state_ == State::kAsking) return;
    if (state_ != State::kReading || !has_begun_head_) return close();
    // Said once, to somebody who may be listening.
    refuse(PlainStatus::kRequestTimeout);
    if (flush()) linger();
}

void PullClient::drain() {
    is_closing_ = true;
    if (state_ == State::kReading && !has_begun_head_) close();
}

void PullClient::close() { socket_.close(); }

void PullClient::serve_input() {
    for (;;) {
        take_requests();
        // What is answered already waits for the answer that is being asked for: one after the other on one socket.
        if (state_ == State::kAsking) return;
        if (!output_.empty()) {
            if (!flush()) return;
        } else {
            if (is_closing_) return linger();
            if (!receive()) return;
        }
    }
}

bool PullClient::receive() {
    if (!has_begun_head_ && input_begin_ < input_end_) {
        has_begun_head_ = true;
        set_limit(around_.settings.head_timeout);
    }
    if (!socket_.may_receive()) return false;
    if (receives_ >= kReceivesMax) {
        socket_.tell_again();
        return false;
    }
    ++receives_;
    make_room();
    const auto bytes = socket_.receive(input_.data() + input_end_, input_.size() - input_end_);
    if (!bytes) close();
    input_end_ += bytes.value_or(0);
    return bytes.value_or(0) > 0;
}

void PullClient::make_room() {
    if (input_end_ < input_.size()) return;
    input_.erase(0, input_begin_);
    input_end_ -= std::exchange(input_begin_, 0);
    const auto grown = std::max(kInputBytesFirst, input_end_ * 2);
    input_.resize(std::min(grown, around_.head_limits.bytes_max + kInputBytesFirst));
}

void PullClient::take_requests() {
    const auto may_go_on = [this] {
        return state_ == State::kReading && !is_closing_ && body_.empty() && output_.size() <= kOutputBytesMax;
    };
    while (may_go_on() && input_begin_ < input_end_) {
        const std::string_view input(input_.data() + input_begin_, input_end_ - input_begin_);
        const auto result = read_request(input);
        if (result.refusal) return refuse(*result.refusal);
        if (result.bytes == 0) return;
        head_bytes_ = result.bytes;
        serve_one();
    }
}

/// A client that polls sends the same bytes again and again: they mean what they meant.
HeadResult PullClient::read_request(std::string_view input) {
    if (!known_head_.empty() && input.starts_with(known_head_)) return {known_head_.size(), std::nullopt};
    known_head_.clear();
    const auto result = read_head(input, around_.head_limits, head_);
    if (result.bytes == 0 || result.bytes > kKnownHeadBytesMax) return result;
    known_head_ = input.substr(0, result.bytes);
    // Once more, so that the views are into what is kept.
    return read_head(known_head_, around_.head_limits, head_);
}

void PullClient::serve_one() {
    if (around_.is_draining || !head_.is_kept_alive) is_closing_ = true;
    const auto target = serve::split_target(head_.target);
    if (head_.method == RequestHead::Method::kOther) {
        // What such a request brings along is not read, so nothing may follow it.
        is_closing_ = true;
        return add_plain(PlainStatus::kMethodNotAllowed);
    }
    if (!serve::is_feed_path(target.path)) return add_plain(PlainStatus::kNotFound);
    head_.key.query = target.query;
    const auto key = serve::presented_key(head_.key);
    if (key.empty() || key.size() > serve::kKeyBytesMax) return add_plain(PlainStatus::kUnauthorized);
    if (key != last_key_) {
        last_key_ = key;
        last_digest_ = serve::key_digest(key);
    }
    const auto path = serve::parse_feed_path(target.path);
    const auto now = around_.clock.steady_now();
    switch (path ? around_.keys.judge(last_digest_, *path, now) : around_.keys.judge_key(last_digest_, now)) {
        case Verdict::kAllowed:
            return ask_cache(*path);
        case Verdict::kNoKey:
            return add_plain(PlainStatus::kUnauthorized);
        case Verdict::kNoFile:
            return add_plain(PlainStatus::kNotFound);
        case Verdict::kUnknowable:
            return add_plain(PlainStatus::kUnavailable);
    }
}

void PullClient::ask_cache(const serve::FeedPath& path) {
    const auto coding = serve::choose_coding(head_.accept_encoding);
    if (!coding) return add_plain(PlainStatus::kNotAcceptable);
    coding_ = *coding;
    state_ = State::kAsking;
    doc_key_ = path.doc_key;
    around_.cache.get(path.doc_key, [this](const PullAnswer& answer) { this->answer(answer); });
}

void PullClient::answer(const PullAnswer& answer) {
    if (is_closed()) return;
    switch (answer.kind) {
        case PullAnswer::Kind::kFile:
            return answer_file(answer);
        case PullAnswer::Kind::kMissing:
            add_plain(PlainStatus::kNotFound);
            break;
        case PullAnswer::Kind::kGone:
            add_plain(PlainStatus::kGone);
            break;
        case PullAnswer::Kind::kUnavailable:
            add_plain(PlainStatus::kUnavailable);
            break;
    }
    serve_input();
}

void PullClient::answer_file(const PullAnswer& answer) {
    const auto& copy = *answer.copy;
    const auto& heads = copy.heads(coding_);
    if (serve::is_not_modified(head_.conditions, heads.etag, copy.last_modified)) {
        output_ += heads.not_modified;
        add_common(answer);
        end_head();
        around_.counters.not_modified.increment();
        answered();
        return serve_input();
    }
    const bool needs_plain = coding_ == serve::Coding::kPlain && head_.method == RequestHead::Method::kGet;
    if (!needs_plain || copy.plain_body) {
        add_file(answer, copy.plain_body);
        return serve_input();
    }
    around_.cache.with_plain(doc_key_, answer.copy, [this, answer](bool is_there) {
        if (is_closed()) return;
        is_there ? add_file(answer, answer.copy->plain_body) : add_plain(PlainStatus::kUnavailable);
        serve_input();
    });
}

void PullClient::add_file(const PullAnswer& answer, const std::shared_ptr<const std::string>& plain) {
    output_ += answer.copy->heads(coding_).ok;
    add_common(answer);
    end_head();
    around_.counters.ok.increment();
    if (head_.method == RequestHead::Method::kGet) {
        const bool is_plain = coding_ == serve::Coding::kPlain;
        const std::string_view body = is_plain ? *plain : answer.copy->document->body_gz;
        if (body.size() <= kCopiedBytesMax) {
            output_ += body;
        } else {
            body_ = body;
            body_owner_ = is_plain ? std::shared_ptr<const void>(plain) : answer.copy->document;
        }
    }
    answered();
}

void PullClient::add_plain(PlainStatus status) {
    const auto& plain = serve::plain_answer(status);
    output_ += plain.head;
    output_ += around_.date.text();
    end_head();
    if (head_.method != RequestHead::Method::kHead) output_ += plain.body;
    around_.counters.of(status).increment();
    answered();
}

void PullClient::refuse(PlainStatus status) {
    is_closing_ = true;
    head_ = {};
    known_head_.clear();
    head_bytes_ = input_end_ - input_begin_;
    add_plain(status);
}

void PullClient::add_common(const PullAnswer& answer) {
    output_ += around_.date.text();
    if (answer.age) output_.append("Age: ").append(std::to_string(answer.age->count())).append("\r\n");
}

void PullClient::end_head() { output_ += is_closing_ ? "Connection: close\r\n\r\n" : "\r\n"; }

/// The request is answered and its bytes are no longer needed.
void PullClient::answered() {
    state_ = State::kReading;
    input_begin_ += head_bytes_;
    head_bytes_ = 0;
    if (input_begin_ == input_end_) input_begin_ = input_end_ = 0;
    has_begun_head_ = false;
    set_limit(around_.settings.idle_timeout);
}

bool PullClient::flush() {
    const auto of_output = std::min(sent_, output_.size());
    const auto taken = socket_.send(std::string_view(output_).substr(of_output), body_.substr(sent_ - of_output));
    if (!taken) {
        close();
        return false;
    }
    sent_ += *taken;
    const auto left = output_.size() + body_.size() - sent_;
    if (left == 0) {
        written();
        return true;
    }
    if (state_ != State::kWriting) {
        state_ = State::kWriting;
        const auto pace = static_cast<std::size_t>(around_.settings.bytes_per_second_min);
        set_limit(around_.settings.write_timeout + std::chrono::seconds(left / pace));
    }
    return false;
}

void PullClient::write_rest() {
    if (!flush()) return;
    set_limit(around_.settings.idle_timeout);
    serve_input();
}

void PullClient::written() {
    output_.clear();
    // A client that waits should not hold on to what one large answer took.
    if (output_.capacity() > kOutputBytesKept) output_.shrink_to_fit();
    body_ = {};
    body_owner_.reset();
    sent_ = 0;
    state_ = State::kReading;
}

/// All is said. What still comes is read and thrown away for a moment: closing over unread bytes would send a reset, and
/// that could take the answer away from the client.
void PullClient::linger() {
    state_ = State::kLingering;
    set_limit(kLinger);
    socket_.end_sending();
    read_and_drop();
}

void PullClient::read_and_drop() {
    for (; socket_.may_receive(); ++receives_) {
        if (receives_ >= kReceivesMax) return socket_.tell_again();
        if (!socket_.receive(input_.data(), input_.size())) return close();
    }
}

void PullClient::set_limit(milliseconds limit) { deadline_ = around_.clock.steady_now() + limit; }

}  // namespace ftlfeed::app
