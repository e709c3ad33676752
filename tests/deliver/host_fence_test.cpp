#include <ftlfeed/deliver/host_fence.hpp>

#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>

using ftlfeed::core::InvalidInput;
using namespace ftlfeed::deliver;

namespace {

HostAddress address(const char* text) {
    const auto parsed = HostAddress::parse(text);
    REQUIRE_MESSAGE(parsed.has_value(), text);
    return *parsed;
}

}  // namespace

TEST_CASE("deliver.host_fence: private and loopback and link-local addresses are special in every spelling") {
    for (const char* text : {"127.0.0.1",
                             "127.255.255.254",
                             "10.0.0.1",
                             "172.16.0.1",
                             "172.31.255.255",
                             "192.168.1.1",
                             "169.254.169.254",
                             "100.64.0.1",
                             "100.127.255.255",
                             "0.0.0.0",
                             "224.0.0.1",
                             "255.255.255.255",
                             "192.0.2.1",
                             "198.18.0.1",
                             "::1",
                             "::",
                             "fe80::1",
                             "fc00::1",
                             "fd00::1",
                             "ff02::1",
                             "2001:db8::1",
                             "::ffff:127.0.0.1",
                             "::ffff:10.0.0.1",
                             "::ffff:169.254.169.254",
                             "::127.0.0.1",
                             "64:ff9b::127.0.0.1",
                             "64:ff9b::a00:1",
                             "2002:7f00:1::",
                             "2002:a00:1::",
                             "fec0::1"}) {
        CAPTURE(text);
        CHECK(address(text).is_special());
    }
}

TEST_CASE("deliver.host_fence: public addresses are not special and the borders are exact") {
    for (const char* text : {"8.8.8.8", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0",
                             "169.253.255.255", "192.167.255.255", "11.0.0.0", "9.255.255.255", "2606:4700::1111",
                             "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::", "223.255.255.255"}) {
        CAPTURE(text);
        CHECK_FALSE(address(text).is_special());
    }
}

TEST_CASE("deliver.host_fence: numbers in other spellings are no addresses and no names") {
    for (const char* text : {"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "1.2.3", "", " 8.8.8.8",
                             "fe80::1%eth0", "[::1]"}) {
        CAPTURE(text);
        CHECK_FALSE(HostAddress::parse(text).has_value());
    }
    CHECK_THROWS_AS(HostFence({"2130706433"}), InvalidInput);
    CHECK_THROWS_AS(HostFence({"127.1"}), InvalidInput);
}

TEST_CASE("deliver.host_fence: an empty fence lets nothing out") {
    const HostFence fence({});
    CHECK_FALSE(fence.allows("ftp.example.com", address("8.8.8.8")));
    CHECK_FALSE(fence.may_name("ftp.example.com"));
    CHECK_FALSE(fence.may_name("8.8.8.8"));
}

TEST_CASE("deliver.host_fence: a name that resolves to a private address is refused") {
    const HostFence fence({"ftp.example.com", "*.clients.example.org"});
    CHECK(fence.allows("ftp.example.com", address("8.8.8.8")));
    CHECK(fence.allows("FTP.Example.com.", address("8.8.8.8")));
    CHECK(fence.allows("a.b.clients.example.org", address("2606:4700::1111")));
    CHECK_FALSE(fence.allows("clients.example.org", address("8.8.8.8")));
    CHECK_FALSE(fence.allows("evilclients.example.org", address("8.8.8.8")));
    CHECK_FALSE(fence.allows("ftp.example.com", address("127.0.0.1")));
    CHECK_FALSE(fence.allows("ftp.example.com", address("::ffff:10.0.0.5")));
    CHECK_FALSE(fence.allows("other.example.com", address("8.8.8.8")));
}

TEST_CASE("deliver.host_fence: only an address or a block lets a private one through") {
    const HostFence fence({"10.1.0.0/16", "::1", "192.168.7.7"});
    CHECK(fence.allows("sftp.internal", address("10.1.255.255")));
    CHECK(fence.allows("sftp.internal", address("::ffff:10.1.0.1")));
    CHECK_FALSE(fence.allows("sftp.internal", address("10.2.0.0")));
    CHECK(fence.allows("localhost", address("::1")));
    CHECK_FALSE(fence.allows("localhost", address("::2")));
    CHECK(fence.allows("x", address("192.168.7.7")));
    CHECK_FALSE(fence.allows("x", address("192.168.7.8")));
    CHECK_FALSE(HostFence({"*"}).allows("x", address("192.168.7.7")));
    CHECK(HostFence({"*"}).allows("x", address("8.8.8.8")));
}

TEST_CASE("deliver.host_fence: an entry that cannot be read is named") {
    for (const char* text :
         {"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/x", "::/129", "a b", "http://x", "*.*", "a/8", "", "*."}) {
        CAPTURE(text);
        CHECK_THROWS_AS(HostFence({text}), InvalidInput);
    }
}
