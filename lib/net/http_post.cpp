#include <ftlfeed/net/http_post.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "net/curl_parts.hpp"
#include "net/post_progress.hpp"

namespace ftlfeed::net {
namespace {

using core::Failure;
using std::chrono::milliseconds;

/// The deadline may move to an earlier time too (a stop): it is asked this often.
constexpr milliseconds kLookInterval{200};

struct FreeMulti {
    void operator()(CURLM* it) const { curl_multi_cleanup(it); }
};

/// The numeric text of a socket address; empty for what is neither IPv4 nor IPv6.
std::string address_text(const curl_sockaddr& socket) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (socket.family == AF_INET) {
        std::memcpy(&four, &socket.addr, sizeof four);
        bytes = &four.sin_addr;
    } else if (socket.family == AF_INET6) {
        // curl's struct ends in a short sockaddr; the address it holds is as long as `addrlen` says.
        std::memcpy(&six, &socket.addr, std::min<std::size_t>(sizeof six, socket.addrlen));
        bytes = &six.sin6_addr;
    }
    if (bytes == nullptr || inet_ntop(socket.family, bytes, text.data(), text.size()) == nullptr) return "";
    return text.data();
}

/// One POST while it runs. libcurl calls back into it, from C: nothing may be thrown there.
class Transfer {
public:
    Transfer(const PostRequest& request, const PostHooks& hooks, const PostLimits& limits, const core::Clock& clock)
        : request_(request),
          hooks_(hooks),
          clock_(clock),
          progress_(limits, static_cast<std::int64_t>(request.body.size()), clock.steady_now()) {
        incoming_.body_bytes_max = limits.answer_bytes_max;
    }

    void attach(CURL* handle) {
        handle_ = handle;
        incoming_.receive_from(handle);
        set_option(handle, CURLOPT_READFUNCTION, &give_body);
        set_option(handle, CURLOPT_READDATA, this);
        set_option(handle, CURLOPT_SEEKFUNCTION, &rewind_body);
        set_option(handle, CURLOPT_SEEKDATA, this);
        set_option(handle, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
        set_option(handle, CURLOPT_OPENSOCKETDATA, this);
        set_option(handle, CURLOPT_PREREQFUNCTION, &before_request);
        set_option(handle, CURLOPT_PREREQDATA, this);
    }

    /// Why the transfer must end now, by a limit or the deadline.
    [[nodiscard]] std::optional<std::string> must_end() {
        note_upload();
        const auto now = clock_.steady_now();
        if (auto why = progress_.over(now)) return why;
        if (hooks_.deadline().is_over(now)) return "the time for this send is over";
        return std::nullopt;
    }
    [[nodiscard]] milliseconds time_to_wait() const {
        const auto now = clock_.steady_now();
        const auto next = std::min(progress_.next_limit(), hooks_.deadline().at());
        return std::clamp(std::chrono::ceil<milliseconds>(next - now), milliseconds(1), kLookInterval);
    }

    /// libcurl is through with `code`, or we ended it because of `why`.
    std::optional<HttpResponse> outcome(int code, const std::optional<std::string>& why) {
        note_upload();
        const auto what = "POST " + request_.target;
        if (is_withheld_ && !is_handed_over()) return std::nullopt;
        if (why) throw curl_failure(CURLE_OPERATION_TIMEDOUT, what + ": " + *why, is_handed_over());
        if (incoming_.is_too_long) {
            throw curl_failure(code, what + ": the answer is longer than its limit", is_handed_over());
        }
        if (code != CURLE_OK && sockets_ == 0 && refused_ > 0 && !is_handed_over()) {
            // Without the address: who reads this may be no friend of the house.
            throw Failure::permanent(what + ": every address of this host is outside the fence");
        }
        if (code != CURLE_OK) throw curl_failure(code, what, is_handed_over());
        // libcurl takes a connection that ends among the headers for an answer with an empty body.
        if (!incoming_.are_headers_whole) throw curl_failure(CURLE_PARTIAL_FILE, what, is_handed_over());
        long status = 0;
        curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
        incoming_.response.status = static_cast<int>(status);
        return std::move(incoming_.response);
    }

private:
    static std::size_t give_body(char* bytes, std::size_t size, std::size_t count, void* context) noexcept {
        auto& mine = *static_cast<Transfer*>(context);
        const auto rest = mine.request_.body.substr(mine.given_);
        const auto part = std::min(rest.size(), size * count);
        if (part > 0) std::memcpy(bytes, rest.data(), part);
        mine.given_ += part;
        return part;
    }

    /// A reused connection was dead: libcurl sends the request again on a new one. If all of the body had left before,
    /// it may have arrived.
    static int rewind_body(void* context, curl_off_t offset, int origin) noexcept {
        auto& mine = *static_cast<Transfer*>(context);
        if (origin != SEEK_SET || offset < 0 || static_cast<std::size_t>(offset) > mine.request_.body.size()) {
            return CURL_SEEKFUNC_FAIL;
        }
        if (mine.given_ == mine.request_.body.size()) mine.was_handed_over_ = true;
        mine.given_ = static_cast<std::size_t>(offset);
        return CURL_SEEKFUNC_OK;
    }

    static curl_socket_t open_socket(void* context, curlsocktype /*purpose*/, curl_sockaddr* address) noexcept {
        auto& mine = *static_cast<Transfer*>(context);
        try {
            const auto text = address_text(*address);
            if (text.empty() || !mine.hooks_.may_connect(text)) {
                ++mine.refused_;
                return CURL_SOCKET_BAD;
            }
        } catch (const std::exception&) {
            ++mine.refused_;
            return CURL_SOCKET_BAD;
        }
        ++mine.sockets_;
        return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    }

    static int before_request(void* context, char* /*peer*/, char* /*own*/, int /*peer_port*/,
                              int /*own_port*/) noexcept {
        auto& mine = *static_cast<Transfer*>(context);
        try {
            mine.is_withheld_ = !mine.hooks_.may_send();
        } catch (const std::exception&) {
            mine.is_withheld_ = true;
        }
        mine.progress_.connected(mine.clock_.steady_now());
        mine.is_connected_ = true;
        return mine.is_withheld_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
    }

    void note_upload() {
        curl_off_t bytes = 0;
        if (!is_connected_ || curl_easy_getinfo(handle_, CURLINFO_SIZE_UPLOAD_T, &bytes) != CURLE_OK) return;
        progress_.uploaded(bytes, clock_.steady_now());
        if (!request_.body.empty() && static_cast<std::size_t>(bytes) >= request_.body.size()) was_handed_over_ = true;
    }

    [[nodiscard]] bool is_handed_over() const {
        if (!request_.body.empty() || !is_connected_ || is_withheld_) return was_handed_over_;
        // Without a body the head is all there is.
        long bytes = 0;
        curl_easy_getinfo(handle_, CURLINFO_REQUEST_SIZE, &bytes);
        return bytes > 0;
    }

    const PostRequest& request_;
    const PostHooks& hooks_;
    const core::Clock& clock_;
    PostProgress progress_;
    Incoming incoming_;
    CURL* handle_ = nullptr;
    std::size_t given_ = 0;
    int sockets_ = 0;
    int refused_ = 0;
    bool is_connected_ = false;
    bool is_withheld_ = false;
    bool was_handed_over_ = false;
};

/// A transfer is in a multi handle for as long as this lives; one that was not over loses its connection then.
class Joined {
public:
    Joined(CURLM* multi, CURL* handle) : multi_(multi), handle_(handle) {
        if (curl_multi_add_handle(multi, handle) != CURLM_OK) throw std::bad_alloc();
    }
    ~Joined() { curl_multi_remove_handle(multi_, handle_); }
    Joined(const Joined&) = delete;
    Joined& operator=(const Joined&) = delete;

private:
    CURLM* multi_;
    CURL* handle_;
};

}  // namespace

class HttpPoster::Impl {
public:
    Impl(PostLimits limits, const core::Clock& clock)
        : limits_(std::move(limits)), clock_(clock), multi_(curl_multi_init()), handle_(make_handle()) {
        if (!multi_) throw std::bad_alloc();
        curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, 1L);
        set(CURLOPT_POST, 1L);
        set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits_.connect.count()));
        set(CURLOPT_MAXAGE_CONN, static_cast<long>(limits_.idle.count()));
        if (!limits_.ca_file.empty()) set(CURLOPT_CAINFO, limits_.ca_file.c_str());
    }

    std::optional<HttpResponse> post(const PostRequest& request, const PostHooks& hooks) {
        HeaderList list;
        for (const auto& header : request.headers) append_header(list, header);
        append_header(list, "Expect:");  // A second of waiting for 100 Continue is no help to anybody.
        Transfer transfer(request, hooks, limits_, clock_);
        transfer.attach(handle_.get());
        set(CURLOPT_URL, request.url.c_str());
        set(CURLOPT_HTTPHEADER, list.get());
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
        std::optional<std::string> why;
        int code = CURLE_OK;
        {
            const Joined joined(multi_.get(), handle_.get());
            why = run(transfer);
            if (!why) code = result();
        }
        set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));  // The list goes away now.
        return transfer.outcome(code, why);
    }

private:
    template <typename Value>
    void set(CURLoption option, Value value) {
        set_option(handle_.get(), option, value);
    }

    /// Until it is through, or must end: why. A loop of our own, since curl_easy_perform() looks up once a second only,
    /// which is too late for a lease.
    std::optional<std::string> run(Transfer& transfer) {
        for (int running = 1;;) {
            if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) throw std::bad_alloc();
            if (running == 0) return std::nullopt;
            if (auto why = transfer.must_end()) return why;
            const auto wait = static_cast<int>(transfer.time_to_wait().count());
            if (curl_multi_poll(multi_.get(), nullptr, 0, wait, nullptr) != CURLM_OK) throw std::bad_alloc();
        }
    }

    int result() {
        int left = 0;
        while (const auto* message = curl_multi_info_read(multi_.get(), &left)) {
            if (message->msg == CURLMSG_DONE) return message->data.result;
        }
        return CURLE_FAILED_INIT;  // It is through and says nothing: not seen, and not to be taken for a success.
    }

    PostLimits limits_;
    const core::Clock& clock_;
    std::unique_ptr<CURLM, FreeMulti> multi_;
    Handle handle_;
};

HttpPoster::HttpPoster(PostLimits limits, const core::Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(limits), clock)) {}
HttpPoster::~HttpPoster() = default;
HttpPoster::HttpPoster(HttpPoster&&) noexcept = default;
HttpPoster& HttpPoster::operator=(HttpPoster&&) noexcept = default;

std::optional<HttpResponse> HttpPoster::post(const PostRequest& request, const PostHooks& hooks) {
    return impl_->post(request, hooks);
}

}  // namespace ftlfeed::net
