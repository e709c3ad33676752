#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <common/common_settings.hpp>
#include <ftl-deliver/feed_settings.hpp>
#include <ftl-ingest/ingest_settings.hpp>
#include <ftl-serve/serve_settings.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/store/session.hpp>

#include <ftlctl/arguments.hpp>
#include <ftlctl/report.hpp>

namespace ftlctl {

/// The call is right and the database says no: no such client, a name that is taken. Exit code 1.
class NotDone : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What ftlctl is told by --config, FTL_… variables and flags. It knows the settings of every service and uses few of them,
/// so that a service's own configuration can be given to it as it is.
struct ProgramSettings {
    ftlfeed::app::CommonSettings common;
    ftlfeed::app::IngestSettings ingest;
    ftlfeed::app::FeedSettings feeds;
    ftlfeed::app::ServeSettings serve;

    [[nodiscard]] bool is_deliver_enabled() const { return feeds.deliver.is_enabled; }
    [[nodiscard]] const std::string& master_key_file() const { return feeds.deliver.master_key_file; }
};

/// One call of a command: its arguments, its database and its answer.
/// Threads: confined to one thread.
class Call {
public:
    Call(const ProgramSettings& settings, Arguments arguments, std::string who, std::istream& input);

    [[nodiscard]] const std::string& operand(std::size_t place) const { return arguments_.operands.at(place); }
    [[nodiscard]] std::optional<std::string> operand_if(std::size_t place) const;
    [[nodiscard]] std::optional<std::string> option(const std::string& name) const { return arguments_.find(name); }
    [[nodiscard]] std::string option_or(const std::string& name, const std::string& otherwise) const {
        return option(name).value_or(otherwise);
    }
    [[nodiscard]] bool flag(const std::string& name) const { return arguments_.has(name); }
    /// Throws UsageError when it is no whole number.
    [[nodiscard]] std::optional<std::int64_t> number(const std::string& name) const;

    /// --reason. Throws UsageError when it is empty.
    [[nodiscard]] std::string reason() const;

    /// Connects at the first use. Throws core::Failure at once when Postgres is not there: a person waits.
    ftlfeed::store::Session& session();
    /// Before the first session(): a migration of a large table may take hours.
    void allow_long_work() { has_long_work_ = true; }
    [[nodiscard]] const ProgramSettings& settings() const { return settings_; }
    [[nodiscard]] const std::string& who() const { return who_; }
    Report& report() { return report_; }

    /// The whole of standard input without its last line break: secrets come this way, never by an argument that every
    /// user of the machine can read. Throws UsageError when it is empty.
    [[nodiscard]] ftlfeed::core::Secret secret_from_input();

private:
    const ProgramSettings& settings_;
    bool has_long_work_ = false;
    Arguments arguments_;
    std::string who_;
    std::istream& input_;
    Report report_;
    std::unique_ptr<ftlfeed::store::Session> session_;
};

}  // namespace ftlctl
