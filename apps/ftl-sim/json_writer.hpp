#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ftlfeed::sim {

/// Writes JSON with the field and its value in one call. Values of absent optionals are null.
/// Threads: confined to one.
class JsonWriter {
public:
    void begin_object() { writer_.StartObject(); }
    void end_object() { writer_.EndObject(); }
    void begin_array() { writer_.StartArray(); }
    void end_array() { writer_.EndArray(); }
    void key(std::string_view name) { writer_.Key(name.data(), size(name)); }

    void value(std::string_view text) { writer_.String(text.data(), size(text)); }
    void value(const char* text) { value(std::string_view(text)); }
    void value(const std::string& text) { value(std::string_view(text)); }
    void value(std::nullptr_t /*absent*/) { writer_.Null(); }
    template <std::integral T>
    void value(T number) {
        if constexpr (std::same_as<T, bool>) {
            writer_.Bool(number);
        } else {
            writer_.Int64(static_cast<std::int64_t>(number));
        }
    }
    template <typename T>
    void value(const std::optional<T>& present) {
        present ? value(*present) : value(nullptr);
    }

    template <typename T>
    void field(std::string_view name, const T& content) {
        key(name);
        value(content);
    }
    /// `json` is taken as it is.
    void raw_field(std::string_view name, const std::string& json) {
        key(name);
        writer_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
    }

    [[nodiscard]] std::string text() const { return {buffer_.GetString(), buffer_.GetSize()}; }

private:
    static rapidjson::SizeType size(std::string_view text) { return static_cast<rapidjson::SizeType>(text.size()); }

    rapidjson::StringBuffer buffer_;
    rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
};

}  // namespace ftlfeed::sim
