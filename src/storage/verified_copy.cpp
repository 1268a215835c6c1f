// SSE2 is part of every x86-64; elsewhere memcpy does it.
#include "storage/verified_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cairn::storage {

namespace {

constexpr std::size_t kPieceBytes = 16 * 1024;
/// How far ahead memory is called when it is only copied.
constexpr std::size_t kAheadBytes = 4 * 1024;
/// Below this a destination is likely to be used again soon, and fits the cache.
constexpr std::size_t kStreamingBytes = 64 * 1024;

#if defined(__SSE2__)

/// Stores that bypass the cache, while the bytes `ahead` of the source are called into the second-level cache: memory
/// is read and written at the same time, and whoever digests the next piece does not wait for it. That is worth a
/// fifth. The stores become visible in order only after a fence.
void copy_piece(const std::byte* from, std::byte* to, std::size_t size, std::size_t ahead) {
  const std::size_t head = std::min<std::size_t>(size, (16 - reinterpret_cast<std::uintptr_t>(to) % 16) % 16);
  std::memcpy(to, from, head);
  from += head;
  to += head;
  size -= head;
  for (; size >= 64; from += 64, to += 64, size -= 64) {
    // By address: nothing is there behind the end of the source, and a prefetch of nothing does nothing.
    _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(from) + ahead), _MM_HINT_T1);
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* destination = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(destination, a);
    _mm_stream_si128(destination + 1, b);
    _mm_stream_si128(destination + 2, c);
    _mm_stream_si128(destination + 3, d);
  }
  std::memcpy(to, from, size);
}

void fence() { _mm_sfence(); }

#else

void copy_piece(const std::byte* from, std::byte* to, std::size_t size, std::size_t) { std::memcpy(to, from, size); }
void fence() {}

#endif

}  // namespace

format::Digest verified_copy(std::span<const std::byte> from, std::byte* to, format::DigestStream& stream) {
  if (from.size() < kStreamingBytes) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return format::digest_of(from);
  }
  stream.reset();
  while (!from.empty()) {
    const auto piece = from.first(std::min(kPieceBytes, from.size()));
    stream.update(piece);
    copy_piece(piece.data(), to, piece.size(), kPieceBytes);
    to += piece.size();
    from = from.subspan(piece.size());
  }
  fence();
  return stream.finish();
}

void streaming_copy(std::span<const std::byte> from, std::byte* to) {
  if (from.size() < kStreamingBytes) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
    return;
  }
  copy_piece(from.data(), to, from.size(), kAheadBytes);
  fence();
}

}  // namespace cairn::storage
