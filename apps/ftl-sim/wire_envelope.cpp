#include "json_writer.hpp"
#include "wire.hpp"

namespace ftlfeed::sim {
namespace {

void write_subscription(JsonWriter& json, const Envelope& envelope) {
    json.key("subscription");
    json.begin_array();
    json.begin_object();
    json.key("meta");
    if (envelope.plan_is_paid) {
        json.begin_object();
        json.field("trial_ends_at", nullptr);
        json.field("ends_at", nullptr);
        json.field("current_timestamp", envelope.now.time_since_epoch().count());
        json.end_object();
    } else {
        // The provider's language writes an empty map as an empty list.
        json.begin_array();
        json.end_array();
    }
    json.key("plans");
    json.begin_array();
    json.begin_object();
    json.field("plan", envelope.plan_is_paid ? "Simulated Plan" : "Free Plan");
    json.field("sport", "Football");
    json.field("category", envelope.plan_is_paid ? "Advanced" : "Standard");
    json.end_object();
    json.end_array();
    for (const char* key : {"add_ons", "widgets"}) {
        json.key(key);
        json.begin_array();
        json.end_array();
    }
    json.end_object();
    json.end_array();
}

void write_page(JsonWriter& json, const Page& page) {
    json.key("pagination");
    json.begin_object();
    json.field("count", page.count);
    json.field("per_page", page.per_page);
    json.field("current_page", page.current);
    json.raw_field("next_page", page.next);
    json.field("has_more", page.has_more);
    json.end_object();
}

}  // namespace

std::string envelope_json(const Envelope& envelope) {
    JsonWriter json;
    json.begin_object();
    if (envelope.data) json.raw_field("data", *envelope.data);
    if (envelope.message) json.field("message", *envelope.message);
    if (envelope.page) write_page(json, *envelope.page);
    write_subscription(json, envelope);
    json.key("rate_limit");
    json.begin_object();
    json.field("resets_in_seconds", envelope.resets_in_seconds);
    json.field("remaining", envelope.remaining);
    // In-play answers too are charged to this entity.
    json.field("requested_entity", "Fixture");
    json.end_object();
    json.field("timezone", envelope.timezone);
    json.end_object();
    return json.text();
}

}  // namespace ftlfeed::sim
