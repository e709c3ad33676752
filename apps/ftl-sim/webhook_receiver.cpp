#include "webhook_receiver.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "failure.hpp"

namespace ftlfeed::sim {
namespace {

std::int64_t now_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// One file name of a client's making: nothing that could lead elsewhere.
bool is_file_name(const std::string& name) {
    return !name.empty() && name.size() <= 300 && name.front() != '/' &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '/';
           });
}

void write_synced(const std::string& path, const std::string& content) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) throw system_failure("cannot open " + path);
    const bool is_whole = write_whole(file, content) && ::fsync(file) == 0;
    const auto failure = system_failure("cannot write " + path);  // Before close() can set another errno.
    ::close(file);
    if (!is_whole) throw failure;
}

}  // namespace

WebhookReceiver::WebhookReceiver(const WebhookReceiverSettings& settings)
    : script_(settings.script),
      store_(settings.store),
      checks_signatures_(!settings.secrets.empty()),
      verifier_(settings.secrets),
      log_(settings.log) {
    if (!store_.empty() && !std::filesystem::is_directory(store_)) {
        throw std::runtime_error(store_ + " is not a folder");
    }
}

WebhookPlan WebhookReceiver::next() { return script_.plan(++requests_); }

void WebhookReceiver::set_script(WebhookScript script) {
    script_ = std::move(script);
    requests_ = 0;
}

int WebhookReceiver::deserved(const WebhookRequest& request, const std::string& complaint) const {
    if (request.method != "POST") return 405;
    if (!complaint.empty()) return 401;
    if (request.event != "test" && !is_file_name(request.file)) return 400;
    return 204;
}

void WebhookReceiver::keep(const WebhookRequest& request) const {
    if (store_.empty() || request.event == "test") return;
    // Flat: `cup/timeline` and `cup/timeline/7` may both be files.
    auto name = request.file;
    std::replace(name.begin(), name.end(), '/', '~');
    const auto path = store_ + "/" + name;
    if (request.event == "retired") {
        ::unlink(path.c_str());  // One that is not there has ended too.
        return;
    }
    const auto beside = store_ + "/." + name + ".new";
    write_synced(beside, request.body);
    if (::rename(beside.c_str(), path.c_str()) != 0) throw system_failure("cannot rename " + path);
}

int WebhookReceiver::take(const WebhookRequest& request, const WebhookPlan& plan) {
    const auto complaint =
        checks_signatures_
            ? verifier_.complaint({request.id, request.timestamp, request.signature, request.body}, now_seconds())
            : "";
    WebhookLine line;
    line.status = plan.status.value_or(deserved(request, complaint));
    line.path = request.file;
    line.bytes = request.body.size();
    line.sha256 = sha256_of(request.body);
    line.webhook_id = request.id;
    line.ftl_version = request.version;
    line.event = request.event;
    if (checks_signatures_) line.is_signed = complaint.empty();
    line.complaint = complaint;
    line.fault = name_of(plan.misdeed);
    const bool is_taken = *line.status >= 200 && *line.status <= 299 && complaint.empty();
    line.is_repeated = is_taken && !taken_.insert(request.id).second;
    if (is_taken && !line.is_repeated && deserved(request, complaint) == 204) keep(request);
    log_.webhook(line);
    log_.sync();
    return *line.status;
}

void WebhookReceiver::note_unread(const WebhookRequest& request, const WebhookPlan& plan) {
    WebhookLine line;
    line.path = request.file;
    line.webhook_id = request.id;
    line.ftl_version = request.version;
    line.event = request.event;
    line.fault = name_of(plan.misdeed);
    log_.webhook(line);
    log_.sync();
}

}  // namespace ftlfeed::sim
