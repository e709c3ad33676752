#include <ftlfeed/deliver/remote_path.hpp>

#include <algorithm>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::deliver {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
    throw core::InvalidInput("file name " + core::json_quoted(core::shorten(text, 200)) + ": " + why);
}

bool is_forbidden(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f || c == '\\';
}

void check_part(const std::string& text, std::string_view part) {
    if (part.empty()) refuse(text, "a part is empty (leading, trailing or double slash)");
    if (part.front() == '.') refuse(text, "a part begins with a dot");
    if (part.size() > RemotePath::kPartBytesMax) {
        refuse(text, "a part is longer than " + std::to_string(RemotePath::kPartBytesMax) + " bytes");
    }
}

}  // namespace

RemotePath::RemotePath(std::string text) : text_(std::move(text)) {
    if (std::any_of(text_.begin(), text_.end(), is_forbidden)) {
        refuse(text_, "it holds a control character or a backslash");
    }
    if (!core::is_utf8(text_)) refuse(text_, "it is not UTF-8");
    if (text_.size() > kBytesMax) refuse(text_, "it is longer than " + std::to_string(kBytesMax) + " bytes");
    for (const auto& folder : folders()) check_part(text_, folder);
    check_part(text_, name());
}

std::vector<std::string> RemotePath::folders() const {
    std::vector<std::string> folders;
    std::size_t begin = 0;
    for (auto slash = text_.find('/'); slash != std::string::npos; slash = text_.find('/', begin)) {
        folders.push_back(text_.substr(begin, slash - begin));
        begin = slash + 1;
    }
    return folders;
}

std::string_view RemotePath::name() const {
    const std::string_view text = text_;
    const auto slash = text.rfind('/');
    return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

}  // namespace ftlfeed::deliver
