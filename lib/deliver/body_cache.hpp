#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/core/version.hpp>

namespace ftlfeed::deliver {

/// The bytes of one version, as they are sent.
struct Body {
    std::string bytes;
    std::string sha256;  ///< 32 raw bytes, of `bytes`.
    std::string gz;      ///< `bytes` as they are stored.
    std::string content_type;
    core::SystemTime last_modified;

    [[nodiscard]] std::size_t size() const { return bytes.size() + gz.size(); }
};
using BodyPtr = std::shared_ptr<const Body>;

/// Bodies that were sent lately, for the next destination that sends them: a body is unpacked once for all. Bounded by
/// bytes; the one used longest ago goes first. Threads: thread-safe.
class BodyCache {
public:
    explicit BodyCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    /// From here, or by `load`, which is called outside the lock (two at once may load the same: harmless).
    [[nodiscard]] BodyPtr get(const std::string& doc_key, const core::Version& version,
                              const std::function<BodyPtr()>& load);
    [[nodiscard]] std::size_t bytes() const;

private:
    using Key = std::pair<std::string, core::Version>;
    struct State {
        std::list<std::pair<Key, BodyPtr>> by_use;  ///< Used last first.
        std::map<Key, std::list<std::pair<Key, BodyPtr>>::iterator> by_key;
        std::size_t bytes = 0;
    };
    const std::size_t bytes_max_;
    core::Guarded<State> state_;
};

}  // namespace ftlfeed::deliver
