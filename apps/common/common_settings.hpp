#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ftlfeed/core/log.hpp>
#include <ftlfeed/core/settings.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::app {

/// The settings that every service has: sections postgres, log, ops and service.
struct CommonSettings {
    store::ConnectionSettings postgres;
    std::string postgres_password_file;
    std::string log_level = "info";
    std::string log_form = "auto";
    std::string ops_address;    ///< Empty = no ops server.
    std::string ops_port_file;  ///< Where the port is written that was taken; empty = nowhere.
    std::int64_t shutdown_seconds = 10;

    void bind(core::Settings& settings);
    /// Reads the password file and checks what concerns several settings. Throws core::InvalidInput.
    void complete();
    [[nodiscard]] core::LogSettings log(const std::string& program) const;
};

/// A password belongs in a file: others can read a process's arguments, and its environment goes to every child.
/// Throws core::InvalidInput when `postgres.uri` has one in either.
void refuse_open_password(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment);

}  // namespace ftlfeed::app
