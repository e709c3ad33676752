#include "ftl-serve/ready_set.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::app {
namespace {

constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

int make_epoll() {
    const int made = ::epoll_create1(EPOLL_CLOEXEC);
    if (made < 0) throw core::Failure::unavailable("epoll_create1: " + std::string(std::strerror(errno)));
    return made;
}

epoll_event told_to(ReadySet::Owner& owner) {
    epoll_event event{};
    event.events = kEvents;
    event.data.ptr = &owner;
    return event;
}

}  // namespace

ReadySet::ReadySet(boost::asio::io_context& loop) : epoll_(loop, make_epoll()) {}

bool ReadySet::add(int socket, Owner& owner) {
    auto event = told_to(owner);
    return ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event) == 0;
}

void ReadySet::remove(int socket, const Owner& owner) {
    ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, socket, nullptr);
    for (auto i = next_; i < count_; ++i) {
        if (batch_[i].data.ptr == &owner) batch_[i].data.ptr = nullptr;
    }
}

void ReadySet::tell_again(int socket, Owner& owner) {
    auto event = told_to(owner);
    ::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_MOD, socket, &event);
}

void ReadySet::wait() {
    epoll_.async_wait(decltype(epoll_)::wait_read, [this](boost::system::error_code error) {
        if (!error) tell_batch();
    });
}

void ReadySet::tell_batch() {
    const int found = ::epoll_wait(epoll_.native_handle(), batch_.data(), static_cast<int>(kBatch), 0);
    count_ = static_cast<std::size_t>(std::max(found, 0));
    for (next_ = 0; next_ < count_;) {
        const auto& event = batch_[next_++];
        if (event.data.ptr != nullptr) static_cast<Owner*>(event.data.ptr)->ready(event.events);
    }
    count_ = 0;
    wait();
}

}  // namespace ftlfeed::app
