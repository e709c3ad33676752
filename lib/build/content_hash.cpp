#include <ftlfeed/build/content_hash.hpp>

#define RAPIDJSON_HAS_STDSTRING 1
#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/pointer.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

namespace ftlfeed::build {

using core::Failure;

namespace {

/// Parsing is iterative, but writing a document is not: it must fit on the stack.
constexpr int kDepthMax = 1000;

/// Keeps numbers as they are written: as doubles, two long ones that differ could look alike. Numbers and strings get a
/// letter in front, so that 1 and "1" stay different.
class TaggingHandler {
public:
    explicit TaggingHandler(rapidjson::Document& document) : document_(document) {}

    bool Null() { return document_.Null(); }
    bool Bool(bool value) { return document_.Bool(value); }
    bool Int(int) { return false; }  // Never called: numbers come as text.
    bool Uint(unsigned) { return false; }
    bool Int64(std::int64_t) { return false; }
    bool Uint64(std::uint64_t) { return false; }
    bool Double(double) { return false; }
    bool RawNumber(const char* text, rapidjson::SizeType length, bool) { return tagged('n', text, length); }
    bool String(const char* text, rapidjson::SizeType length, bool) { return tagged('s', text, length); }
    bool StartObject() { return ++depth_ <= kDepthMax && document_.StartObject(); }
    bool Key(const char* text, rapidjson::SizeType length, bool) { return document_.Key(text, length, true); }
    bool EndObject(rapidjson::SizeType members) { return --depth_, document_.EndObject(members); }
    bool StartArray() { return ++depth_ <= kDepthMax && document_.StartArray(); }
    bool EndArray(rapidjson::SizeType elements) { return --depth_, document_.EndArray(elements); }

private:
    bool tagged(char tag, const char* text, rapidjson::SizeType length) {
        const auto value = tag + std::string(text, length);
        return document_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()), true);
    }

    rapidjson::Document& document_;
    int depth_ = 0;
};

/// Feeds the reader's events through the handler above into a document.
struct TaggedSource {
    std::string_view body;

    bool operator()(rapidjson::Document& document) const {
        constexpr auto kFlags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag |
                                rapidjson::kParseValidateEncodingFlag;
        rapidjson::MemoryStream stream(body.data(), body.size());
        rapidjson::Reader reader;
        TaggingHandler handler(document);
        return !reader.Parse<kFlags>(stream, handler).IsError();
    }
};

}  // namespace

std::vector<std::uint8_t> content_hash(std::string_view body, std::span<const std::string> volatile_pointers) {
    if (volatile_pointers.empty()) return core::sha256(body);
    rapidjson::Document document;
    bool is_json = false;
    const auto source = [&](rapidjson::Document& target) { return is_json = TaggedSource{body}(target); };
    document.Populate(source);
    if (!is_json)
        throw Failure::permanent(
            "the body is no JSON, or nested too deeply, so it has no members that a pointer could name");
    for (const auto& text : volatile_pointers) {
        const rapidjson::Pointer pointer(text);
        if (!pointer.IsValid()) throw Failure::permanent("'" + text + "' is no JSON Pointer; write /a/b");
        pointer.Erase(document);
    }
    rapidjson::StringBuffer canonical;
    rapidjson::Writer<rapidjson::StringBuffer> writer(canonical);
    document.Accept(writer);
    return core::sha256({canonical.GetString(), canonical.GetSize()});
}

}  // namespace ftlfeed::build
