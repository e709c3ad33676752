#include "cache/faulty_session.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>

#include "support/wait.hpp"

namespace ftl::test {

using ftlfeed::cache::Command;
using ftlfeed::cache::Connection;
using ftlfeed::cache::ConnectionSettings;
using ftlfeed::cache::Reply;
using ftlfeed::cache::ReplyResult;
using std::chrono::milliseconds;

namespace {

/// A little more than a session has in its longer direction, so that some end in no byte of it.
constexpr std::uint64_t kBytes = 1'800;
/// A step that meets every byte, and whose next bytes lie far apart: a few hundred seeds in a row see the whole session.
constexpr std::uint64_t kStep = 7'919;
/// A machine that is busy with other tests wakes nobody in time.
constexpr milliseconds kSlack{3'000};
constexpr std::array kEnds{"stop", "swallow", "half", "close", "reset"};

}  // namespace

/// A request and what became of it. The handler writes, on the loop's thread; the others look when all is over.
struct FaultySessions::Asked {
    std::string text;
    milliseconds limit;
    Clock::time_point begin = Clock::now();
    std::atomic<int> calls{0};
    Clock::time_point end;
    bool is_answered = false;
    std::string answer;

    void take(const ReplyResult& result) {
        end = Clock::now();
        if (const auto* reply = std::get_if<Reply>(&result)) {
            is_answered = true;
            answer = reply->text;
        }
        ++calls;
    }
};

FaultySessions::FaultySessions()
    : proxy_({"127.0.0.1", 0, "127.0.0.1", redis_.port(), 1, {}}), proxy_thread_([this] { proxy_.run(); }) {}

FaultySessions::~FaultySessions() { proxy_.stop(); }

std::string FaultySessions::script_of(std::uint64_t seed, Rng& rng) {
    const bool is_up = seed % 2 == 0;
    const auto after = seed / 2 * kStep % kBytes;
    const auto* const end = kEnds[static_cast<std::size_t>(rng.between(0, kEnds.size() - 1))];
    auto rule = fmt::format("1: {} {}={}", is_up ? "up" : "down", end, after);
    if (rng.chance(0.5)) rule += fmt::format(" slice={}", rng.between(1, 40));
    if (rng.chance(0.2)) rule += " delay=1";
    if (rng.chance(0.03)) rule = "1: silence";
    ++counts_.end_kinds[rule == "1: silence" ? "silence" : end];
    // The second one may be hurt as well; from the third on all passes.
    if (rng.chance(0.5)) rule += fmt::format("; 2: both slice=7 down reset={}", rng.between(0, kBytes));
    return rule;
}

/// One turn of the loop: between one and eight requests.
void FaultySessions::ask_some(Connection& connection, std::uint64_t seed, Rng& rng) {
    for (auto left = rng.between(1, 8); left > 0; --left) {
        const auto one = std::make_shared<Asked>();
        one->text =
            fmt::format("{}/{}/", seed, asked_.size()) + std::string(static_cast<std::size_t>(rng.between(0, 60)), 'x');
        one->limit = milliseconds(rng.between(10, 30));
        asked_.push_back(one);
        const auto command = rng.chance(0.3) ? Command::changing({"EVAL", "return ARGV[1]", "0", one->text})
                                             : Command::reading({"ECHO", one->text});
        connection.request(command, one->limit, [one](const ReplyResult& result) { one->take(result); });
    }
}

std::string FaultySessions::judge() {
    for (const auto& one : asked_) {
        const auto took = std::chrono::duration_cast<milliseconds>(one->end - one->begin);
        if (one->calls != 1) return fmt::format("{}: its handler was called {} times", one->text, one->calls.load());
        if (one->is_answered && one->answer != one->text) return one->text + " was answered by " + one->answer;
        if (took > one->limit + kSlack) return fmt::format("{}: waited {} ms", one->text, took.count());
        ++(one->is_answered ? counts_.answered : counts_.failed);
    }
    return "";
}

std::string FaultySessions::run(std::uint64_t seed) {
    Rng rng(seed);
    proxy_.set_script(ftlfeed::sim::ProxyScript::parse(script_of(seed, rng)));
    asked_.clear();
    auto settings = ConnectionSettings::parse(fmt::format("redis://127.0.0.1:{}", proxy_.port()));
    settings.connect_timeout = milliseconds(40);
    settings.backoff_first = milliseconds(1);
    settings.backoff_max = milliseconds(4);
    auto connection =
        loop_.run([&] { return std::make_unique<Connection>(loop_.context(), settings, Connection::Events{}, seed); });
    const auto is_up = [&] { return loop_.run([&] { return connection->state() == Connection::State::kUp; }); };
    for (auto turns = rng.between(3, 6); turns > 0; --turns) {
        if (!wait_until(is_up)) return "it does not come back";
        loop_.run([&] { ask_some(*connection, seed, rng); });
        // Some turns follow at once, some wait for all before.
        const auto all_done = [&] { return asked_.back()->calls > 0; };
        if (rng.chance(0.5) && !wait_until(all_done)) return asked_.back()->text + ": nothing came of it";
    }
    if (!wait_until([&] { return asked_.back()->calls > 0; })) return asked_.back()->text + ": nothing came of it";
    // Whatever would come twice has come by the end of the connection.
    const auto connections = loop_.run([&] {
        const auto count = connection->server().connections;
        connection.reset();
        return count;
    });
    proxy_.cut();
    ++counts_.sessions;
    counts_.reconnected += connections > 1 ? 1 : 0;
    return loop_.run([&] { return judge(); });
}

}  // namespace ftl::test
