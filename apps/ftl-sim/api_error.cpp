#include "api_error.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace ftlfeed::sim {
namespace {

std::string message_of(const ApiError& error) {
    const auto& subject = error.subject;
    switch (error.code) {
        case ApiCode::kIncludeNotAllowed:
            return "The include '" + subject + "' is not allowed here.";
        case ApiCode::kIncludeNotFound:
            return "The include '" + subject + "' does not exist.";
        case ApiCode::kInsufficientIncludes:
            return "Your plan does not cover the include '" + subject + "'.";
        case ApiCode::kPaginationLimit:
            return "The parameter per_page must lie between 1 and 50.";
        case ApiCode::kQueryComplexity:
            return "The query is too complex. Ask for fewer includes.";
        case ApiCode::kRateLimit:
            return "The rate limit of this entity is reached.";
        case ApiCode::kInvalidQueryParameter:
            return "The query parameter '" + subject + "' is not valid.";
        case ApiCode::kInsufficientResources:
            return "The query needs more resources than are there.";
        case ApiCode::kIncludeDepth:
            return "The include '" + subject + "' is nested too deeply.";
        case ApiCode::kFilterNotApplicable:
            return "The filter '" + subject + "' cannot be used here.";
        case ApiCode::kIncludeNotAvailable:
            return "The include '" + subject + "' is not available.";
        case ApiCode::kUnexpected:
            break;
    }
    return "An unexpected error occurred.";
}

std::string body(const std::string& message, const ApiCode* code) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    writer.StartObject();
    writer.Key("message");
    writer.String(message.data(), static_cast<rapidjson::SizeType>(message.size()));
    if (code) {
        writer.Key("link");
        writer.String("https://provider.example/docs/error-codes");
        writer.Key("code");
        writer.Int(static_cast<int>(*code));
    }
    writer.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace

std::string error_body(const ApiError& error) { return body(message_of(error), &error.code); }

std::string message_body(const std::string& message) { return body(message, nullptr); }

}  // namespace ftlfeed::sim
