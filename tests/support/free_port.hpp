#pragma once

#include <cstdint>

namespace ftl::test {

/// A TCP port of 127.0.0.1 on which nobody listens, for a server that must come back on the port that it had. Others
/// should take port 0. It lies below the range of outgoing connections: a client that keeps knocking at a dead port in
/// that range is in the end connected to itself.
[[nodiscard]] std::uint16_t free_port();

}  // namespace ftl::test
