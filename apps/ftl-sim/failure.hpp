#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace ftlfeed::sim {

/// What the system refused, with its reason: call it before anything else can set errno.
inline std::runtime_error system_failure(const std::string& what) {
    return std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace ftlfeed::sim
