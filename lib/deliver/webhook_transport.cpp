#include <ftlfeed/deliver/webhook_transport.hpp>

#include <utility>

#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

#include "deliver/webhook_answer.hpp"

namespace ftlfeed::deliver {
namespace {

constexpr std::string_view kJson = "application/json";

net::PostLimits limits_of(const WebhookTransport::Parts& parts) {
    net::PostLimits limits;
    limits.connect = parts.limits.connect;
    limits.bytes = parts.limits.bytes;
    limits.reply = parts.limits.reply;
    limits.bytes_per_second_min = parts.limits.bytes_per_second_min;
    limits.ca_file = parts.ca_file;
    return limits;
}

/// A message of ours in the form that the specification recommends. Values are JSON already.
std::string event_body(std::string_view type, core::SystemTime at, const std::string& data) {
    return "{\"type\":\"ftlfeed." + std::string(type) + "\",\"timestamp\":" + core::json_quoted(core::iso_time(at)) +
           ",\"data\":{" + data + "}}";
}

std::vector<std::string> file_headers(const Outgoing& file) {
    return {"ftl-file: " + file.key.doc_key(), "ftl-version: " + file.version.text()};
}

}  // namespace

WebhookTransport::WebhookTransport(Parts parts, HostFence fence, const core::Clock& clock)
    : parts_(std::move(parts)), fence_(std::move(fence)), clock_(clock), poster_(limits_of(parts_), clock) {
    parts_.url.check();
}

SendOutcome WebhookTransport::put(const Outgoing& file, SendGuard& guard) {
    return send({webhook_id(file.assignment, file.key, file.version, file.occasion), "version",
                 file.content.content_type, file.content.body, file_headers(file)},
                guard);
}

SendOutcome WebhookTransport::remove(const Outgoing& file, SendGuard& guard) {
    const auto body = event_body(
        "file.retired", file.changed_at,
        "\"file\":" + core::json_quoted(file.key.doc_key()) + ",\"version\":" + core::json_quoted(file.version.text()));
    return send({webhook_id(file.assignment, file.key, file.version, file.occasion), "retired", kJson, body,
                 file_headers(file)},
                guard);
}

Look WebhookTransport::look(const Outgoing& /*file*/, SendGuard& /*guard*/) { return Look::kCannot; }

SendOutcome WebhookTransport::test(SendGuard& guard) {
    const auto now = clock_.system_now();
    const auto body = event_body("test", now, "\"destination\":" + core::json_quoted(parts_.label));
    // Each test is a message of its own: a receiver that drops repetitions answers this one too.
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
    return send({std::to_string(parts_.assignment.value) + "-test-" + std::to_string(micros), "test", kJson, body, {}},
                guard);
}

std::vector<std::string> WebhookTransport::headers_of(const Message& message, SendGuard& guard) {
    if (secrets_.empty()) secrets_ = parts_.secrets(guard.deadline());
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(clock_.system_now().time_since_epoch()).count();
    std::vector<std::string> headers{
        "content-type: " + std::string(message.content_type),
        "webhook-id: " + message.id,
        "webhook-timestamp: " + std::to_string(seconds),
        "webhook-signature: " + webhook_signature(secrets_, message.id, seconds, message.body),
        "ftl-event: " + message.event,
    };
    headers.insert(headers.end(), message.headers.begin(), message.headers.end());
    return headers;
}

SendOutcome WebhookTransport::send(const Message& message, SendGuard& guard) {
    const auto target = parts_.url.origin();
    const net::PostRequest request{parts_.url.text(), target, headers_of(message, guard), message.body};
    const net::PostHooks hooks{[this](const std::string& text) {
                                   const auto address = HostAddress::parse(text);
                                   return address && fence_.allows(parts_.url.host, *address);
                               },
                               [&guard] { return guard.deadline(); }, [&guard] { return guard.may_publish(); }};
    std::optional<net::HttpResponse> response;
    try {
        response = poster_.post(request, hooks);
    } catch (const core::InvalidInput& wrong) {
        return Refused{std::string("the file's headers: ") + wrong.what(), true};
    }
    if (!response) return Withheld{};
    core::durable_step("deliver.answered");
    return webhook_answer(*response, target, message.id, clock_.system_now());
}

}  // namespace ftlfeed::deliver
