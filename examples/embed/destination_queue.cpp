// What a destination is owed, while it is away and when it comes back. No I/O, no clock of its own: the time is passed
// in, so a day passes in no time. docs/embed/destination_queue.md
#include <ftlfeed/deliver/destination_queue.hpp>

#include <iostream>

using namespace ftlfeed;
using namespace std::chrono_literals;

int main() {
    deliver::DestinationQueue queue(deliver::Pace{3, 500ms, 5min}, {});
    const core::FeedKey standings("wc2026", "standings");
    core::SteadyTime now{1h};
    const auto away = core::Failure::unavailable("connect to ftp.example.com");

    // Ten changes while the receiver is away: one file waits, the newest.
    for (std::int64_t seq = 1; seq <= 10; ++seq) {
        queue.owe(standings, {{1, seq, 1}, core::SystemTime{} + std::chrono::seconds(seq)}, now);
        if (queue.take(now)) queue.failed(away, now, 0.5);
        now += 1s;
    }
    std::cout << queue.owed_files() << " file owed, " << queue.tries().failures << " failures in a row\n";

    // A day later it is still tried, every five minutes.
    int tries = 0;
    for (const auto end = now + 24h; now < end;) {
        now = std::max(now, *queue.wake_at());
        if (!queue.take(now)) continue;
        queue.failed(away, now, 0.5);
        ++tries;
    }
    std::cout << tries << " tries in a day\n";

    // It is back: one send proves the newest version, and nothing is owed any more.
    now = std::max(now, *queue.wake_at());
    const auto job = queue.take(now);
    queue.succeeded(job->version, now);
    std::cout << "sent version " << job->version.seq << ", " << queue.owed_files() << " files owed\n";
}
