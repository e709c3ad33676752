#include <ftlfeed/core/hash.hpp>

#include <libdeflate.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::core {

namespace {

constexpr int kGzipLevel = 6;
constexpr std::size_t kSha256Bytes = 32;
constexpr std::size_t kGzipTrailerBytes = 8;

struct FreeCompressor {
    void operator()(libdeflate_compressor* it) const { libdeflate_free_compressor(it); }
};
struct FreeDecompressor {
    void operator()(libdeflate_decompressor* it) const { libdeflate_free_decompressor(it); }
};

/// One for each thread: making it costs more than packing a small file.
libdeflate_compressor* compressor() {
    thread_local const std::unique_ptr<libdeflate_compressor, FreeCompressor> kMine(
        libdeflate_alloc_compressor(kGzipLevel));
    if (!kMine) throw std::bad_alloc();
    return kMine.get();
}

libdeflate_decompressor* decompressor() {
    thread_local const std::unique_ptr<libdeflate_decompressor, FreeDecompressor> kMine(
        libdeflate_alloc_decompressor());
    if (!kMine) throw std::bad_alloc();
    return kMine.get();
}

/// What the trailer says of the plain size (modulo 2^32). A hint for the buffer: the bytes may lie.
std::size_t plain_size_hint(std::string_view packed) {
    if (packed.size() < kGzipTrailerBytes) return 0;
    std::size_t size = 0;
    for (std::size_t i = 4; i > 0; --i) {
        size = size << 8U | static_cast<unsigned char>(packed[packed.size() - 4 + i - 1]);
    }
    return size;
}

}  // namespace

std::vector<std::uint8_t> sha256(std::string_view bytes) {
    std::vector<std::uint8_t> digest(kSha256Bytes);
    unsigned length = 0;
    const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
    FTL_ASSERT(done == 1 && length == kSha256Bytes);
    return digest;
}

std::string hex(const std::vector<std::uint8_t>& bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(bytes.size() * 2);
    for (const auto byte : bytes) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

std::string sha256_hex(std::string_view bytes) { return hex(sha256(bytes)); }

// libdeflate writes time 0 and "unknown system" into the header by itself: nothing of this machine gets in.
std::string gzip(std::string_view plain) {
    std::string packed(libdeflate_gzip_compress_bound(compressor(), plain.size()), '\0');
    const auto size = libdeflate_gzip_compress(compressor(), plain.data(), plain.size(), packed.data(), packed.size());
    FTL_ASSERT(size != 0);
    packed.resize(size);
    return packed;
}

std::string gunzip(std::string_view packed, std::size_t bytes_max) {
    const auto hint = plain_size_hint(packed);
    if (hint > bytes_max) throw Failure::permanent("gzip unpacks to more than " + std::to_string(bytes_max) + " bytes");
    std::string plain(hint, '\0');
    std::size_t read = 0;
    std::size_t written = 0;
    switch (libdeflate_gzip_decompress_ex(decompressor(), packed.data(), packed.size(), plain.data(), plain.size(),
                                          &read, &written)) {
        case LIBDEFLATE_SUCCESS:
            break;
        case LIBDEFLATE_INSUFFICIENT_SPACE:
            throw Failure::permanent("gzip unpacks to more than its trailer says");
        default:
            throw Failure::permanent("not a whole gzip member");
    }
    if (read != packed.size()) throw Failure::permanent("bytes behind the end of a gzip member");
    plain.resize(written);
    return plain;
}

}  // namespace ftlfeed::core
