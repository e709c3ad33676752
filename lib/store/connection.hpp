#pragma once

#include <string>
#include <vector>

#include <ftlfeed/store/session.hpp>

namespace ftlfeed::store {

/// What libpq is told: the settings' URI with our limits, names and keep-alives added.
struct ConnectionText {
    std::string text;      ///< `keyword='value' …` for PQconnectdb. Holds the password.
    std::string password;  ///< Empty when there is none. For without_secrets().
};

/// Throws core::InvalidInput when the URI is malformed; the message never repeats it, since a password may be in it.
[[nodiscard]] ConnectionText connection_text(const ConnectionSettings& settings);

/// `message` without the password, and in one line.
[[nodiscard]] std::string without_secrets(std::string message, const std::string& password);

}  // namespace ftlfeed::store
