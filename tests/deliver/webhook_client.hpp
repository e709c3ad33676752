#pragma once

#include <doctest/doctest.h>
#include <rapidjson/document.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

namespace ftl::test {

constexpr const char* kWebhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kWebhookSecretNew = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// A request as the receiver's own log tells it.
struct WebhookSeen {
    std::string time;
    std::string path;
    std::string id;
    std::string version;
    std::string event;
    std::string fault;
    int status = 0;
    bool is_signed = false;
    bool is_repeated = false;
};

/// A client's webhook: a process of its own, which checks signatures by code of its own.
class WebhookClient {
public:
    explicit WebhookClient(const std::string& script = "", const std::string& secrets = kWebhookSecret) {
        std::filesystem::create_directory(folder_ / "bodies");
        write_file(folder_ / "secrets", secrets + "\n");
        write_file(folder_ / "script", script);
        process_.emplace(std::vector<std::string>{app("ftl-sim").string(), "receive", "--http", "0", "--port-file",
                                                  path("port"), "--store", path("bodies"), "--log", path("log"),
                                                  "--secret-file", path("secrets"), "--script", "@" + path("script")});
        REQUIRE(wait_until([&] { return std::filesystem::exists(folder_ / "port"); }));
    }

    [[nodiscard]] int port() const { return std::stoi(read_file(folder_ / "port")); }
    [[nodiscard]] std::vector<WebhookSeen> requests() const {
        std::vector<WebhookSeen> seen;
        if (!std::filesystem::exists(folder_ / "log")) return seen;
        std::istringstream lines(read_file(folder_ / "log"));
        for (std::string line; std::getline(lines, line);) {
            rapidjson::Document json;
            json.Parse(line.c_str());
            if (json.HasParseError()) break;  // Its last line may be half there.
            const auto text = [&](const char* key) {
                return json.HasMember(key) && json[key].IsString() ? json[key].GetString() : "";
            };
            const auto flag = [&](const char* key) {
                return json.HasMember(key) && json[key].IsBool() && json[key].GetBool();
            };
            seen.push_back({text("time"), text("path"), text("webhook_id"), text("ftl_version"), text("event"),
                            text("fault"), json["status"].IsInt() ? json["status"].GetInt() : 0, flag("signed"),
                            flag("repeated")});
        }
        return seen;
    }
    [[nodiscard]] bool has_seen(std::size_t count) const {
        return wait_until([&] { return requests().size() >= count; }, std::chrono::seconds(20));
    }
    /// The last body that it kept of a file, or "".
    [[nodiscard]] std::string body(std::string doc_key) const {
        for (char& c : doc_key) c = c == '/' ? '~' : c;
        const auto file = folder_ / "bodies" / doc_key;
        return std::filesystem::exists(file) ? read_file(file) : "";
    }
    [[nodiscard]] bool holds(const std::string& doc_key, const std::string& content) const {
        return wait_until([&] { return body(doc_key) == content; }, std::chrono::seconds(20));
    }
    /// Requests count from 1 again under the new one.
    void set_script(const std::string& script) {
        write_file(folder_ / "script", script);
        process_->signal(SIGHUP);
    }

private:
    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

    TempFolder folder_;
    std::optional<Process> process_;
};

}  // namespace ftl::test
