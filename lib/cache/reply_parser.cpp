#include "cache/reply_parser.hpp"

#include <hiredis/hiredis.h>

#include <new>
#include <utility>

#include <ftlfeed/core/text.hpp>

namespace ftlfeed::cache {

namespace {

constexpr std::size_t kShownBytesMax = 120;

struct FreeReader {
    void operator()(redisReader* it) const { redisReaderFree(it); }
};

int depth_of(const redisReadTask* task) {
    int depth = 0;
    for (; task->parent != nullptr; task = task->parent) ++depth;
    return depth;
}

}  // namespace

/// hiredis calls back for each item and keeps what it gets only to hand it back. The replies are ours: `root` and what
/// grows in it. An item's place stays where it is while hiredis knows it: only the innermost open array grows.
struct ReplyParser::State {
    explicit State(Limits wanted) : limits(wanted) {
        set_functions(functions);
        reader.reset(redisReaderCreateWithFunctions(&functions));
        if (!reader) throw std::bad_alloc();
        reader->privdata = this;
    }

    /// Where the item of `task` goes. Null ends the parsing: hiredis takes it for a lack of memory.
    static Reply* place_of(const redisReadTask* task) {
        auto& state = *static_cast<State*>(task->privdata);
        if (++state.elements > state.limits.elements_max || depth_of(task) > state.limits.depth_max) {
            state.is_beyond_limit = true;
            return nullptr;
        }
        if (task->parent != nullptr) return &static_cast<Reply*>(task->parent->obj)->elements.emplace_back();
        state.root = Reply{};
        return &state.root;
    }

    static Reply* put(const redisReadTask* task, Reply::Kind kind) {
        auto* reply = place_of(task);
        if (reply != nullptr) reply->kind = kind;
        return reply;
    }

    static void* put_text(const redisReadTask* task, char* bytes, std::size_t size) {
        Reply::Kind kind{};
        if (task->type == REDIS_REPLY_STATUS) {
            kind = Reply::Kind::kStatus;
        } else if (task->type == REDIS_REPLY_ERROR) {
            kind = Reply::Kind::kError;
        } else if (task->type == REDIS_REPLY_STRING) {
            kind = Reply::Kind::kText;
        } else {
            return nullptr;  // RESP3, which nobody asked for.
        }
        auto* reply = put(task, kind);
        if (reply != nullptr) reply->text.assign(bytes, size);
        return reply;
    }

    // The types of some parameters, and some members, differ between hiredis 0.14 and 1.x; what 1.x adds is RESP3.
    template <typename Functions>
    static void set_functions(Functions& them) {
        them.createString = &put_text;
        them.createArray = [](const redisReadTask* task, auto) -> void* {
            return task->type == REDIS_REPLY_ARRAY ? put(task, Reply::Kind::kArray) : nullptr;
        };
        them.createInteger = [](const redisReadTask* task, long long value) -> void* {
            auto* reply = put(task, Reply::Kind::kInteger);
            if (reply != nullptr) reply->integer = value;
            return reply;
        };
        them.createNil = [](const redisReadTask* task) -> void* { return put(task, Reply::Kind::kNil); };
        them.freeObject = [](void*) {};
        if constexpr (requires { them.createDouble; }) {
            them.createDouble = [](const redisReadTask*, double, char*, std::size_t) -> void* { return nullptr; };
            them.createBool = [](const redisReadTask*, int) -> void* { return nullptr; };
        }
    }

    [[nodiscard]] core::Failure failure() const {
        const auto why = is_beyond_limit ? std::string("an answer is beyond its limit")
                                         : core::json_quoted(core::shorten(reader->errstr, kShownBytesMax));
        return core::Failure::unavailable("what Redis sent cannot be understood: " + why)
            .with_native_code("PROTOCOL")
            .with_connection_lost();
    }

    Limits limits;
    redisReplyObjectFunctions functions{};
    std::unique_ptr<redisReader, FreeReader> reader;
    Reply root;
    std::size_t elements = 0;     ///< Of the reply that is being read.
    std::size_t reply_bytes = 0;  ///< Fed since the end of the last whole reply.
    bool is_beyond_limit = false;
};

ReplyParser::ReplyParser(Limits limits) : state_(std::make_unique<State>(limits)) {}
ReplyParser::~ReplyParser() = default;
ReplyParser::ReplyParser(ReplyParser&&) noexcept = default;
ReplyParser& ReplyParser::operator=(ReplyParser&&) noexcept = default;

void ReplyParser::feed(std::string_view bytes) {
    state_->reply_bytes += bytes.size();
    // An error stays in the reader, and next() tells it.
    static_cast<void>(redisReaderFeed(state_->reader.get(), bytes.data(), bytes.size()));
}

std::optional<Reply> ReplyParser::next() {
    auto& state = *state_;
    void* reply = nullptr;
    const bool is_understood = redisReaderGetReply(state.reader.get(), &reply) == REDIS_OK;
    if (!is_understood || state.is_beyond_limit) throw state.failure();
    if (reply == nullptr) {
        state.is_beyond_limit = state.reply_bytes > state.limits.bytes_max;
        if (state.is_beyond_limit) throw state.failure();
        return std::nullopt;
    }
    state.reply_bytes = state.reader->len - state.reader->pos;
    state.elements = 0;
    return std::exchange(state.root, {});
}

}  // namespace ftlfeed::cache
