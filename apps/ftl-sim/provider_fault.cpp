#include "provider_fault.hpp"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <functional>
#include <utility>

namespace ftlfeed::sim {
namespace {

using Json = rapidjson::Value;

std::string rewritten(const std::string& body, const std::function<void(rapidjson::Document&)>& change) {
    rapidjson::Document document;
    document.Parse(body.data(), body.size());
    change(document);
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    document.Accept(writer);
    return {buffer.GetString(), buffer.GetSize()};
}

void numbers_to_texts(Json& value, rapidjson::Document::AllocatorType& memory) {
    if (value.IsInt64()) {
        const auto text = std::to_string(value.GetInt64());
        value.SetString(text.data(), static_cast<rapidjson::SizeType>(text.size()), memory);
    } else if (value.IsArray()) {
        for (auto& element : value.GetArray()) numbers_to_texts(element, memory);
    } else if (value.IsObject()) {
        for (auto& member : value.GetObject()) numbers_to_texts(member.value, memory);
    }
}

/// Calls `change` for the event list of each fixture of a list answer.
void for_each_event_list(rapidjson::Document& document, const std::function<void(Json&)>& change) {
    for (auto& fixture : document["data"].GetArray()) {
        if (const auto events = fixture.FindMember("events"); events != fixture.MemberEnd()) change(events->value);
    }
}

void put_nul_into_first_name(rapidjson::Document& document) {
    bool is_done = false;
    for_each_event_list(document, [&](Json& events) {
        if (is_done || events.Empty()) return;
        std::string name = events[0]["player_name"].IsString() ? events[0]["player_name"].GetString() : "";
        name.insert(name.size() / 2, 1, '\0');
        events[0]["player_name"].SetString(name.data(), static_cast<rapidjson::SizeType>(name.size()),
                                           document.GetAllocator());
        is_done = true;
    });
}

}  // namespace

std::optional<Fault> fault_named(const std::string& name) {
    static constexpr std::array<std::pair<const char*, Fault>, 8> kNames{{
        {"html", Fault::kHtml},
        {"half", Fault::kHalf},
        {"nothing", Fault::kNothing},
        {"strings", Fault::kStrings},
        {"nul", Fault::kNul},
        {"no-events", Fault::kNoEvents},
        {"error", Fault::kError},
        {"rate-limit", Fault::kRateLimit},
    }};
    for (const auto& [known, fault] : kNames) {
        if (name == known) return fault;
    }
    return std::nullopt;
}

void spoil(ProviderAnswer& answer, Fault fault) {
    answer.fault = fault;
    switch (fault) {
        case Fault::kHtml:
            answer.content_type = "text/html; charset=UTF-8";
            answer.body = "<!DOCTYPE html><html><head><title>Maintenance</title></head><body>Back soon.</body></html>";
            break;
        case Fault::kStrings:
            answer.body = rewritten(answer.body, [](auto& json) { numbers_to_texts(json, json.GetAllocator()); });
            break;
        case Fault::kNul:
            answer.body = rewritten(answer.body, put_nul_into_first_name);
            break;
        case Fault::kNoEvents:
            answer.body = rewritten(
                answer.body, [](auto& json) { for_each_event_list(json, [](Json& events) { events.Clear(); }); });
            break;
        case Fault::kError:
            answer.status = 500;
            answer.body = message_body("Server Error");
            break;
        case Fault::kRateLimit:
            answer.status = 429;
            answer.body = message_body("Too Many Attempts.");
            break;
        case Fault::kHalf:
        case Fault::kNothing:
            break;
    }
}

}  // namespace ftlfeed::sim
