// Keys of the column families, and chunk numbers. Big-endian, so that RocksDB's byte order is the order of
// numbers. See schemas/FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/digest.h"

namespace cairn::format {

inline constexpr std::string_view kHeaderKey = "header";

/// Chunks of one segment; a chunk id is segment << kSegmentShift | index.
inline constexpr unsigned kSegmentShift = 20;
inline constexpr std::uint64_t kMaxChunksPerSegment = std::uint64_t{1} << kSegmentShift;
/// Segment numbers stay below this, which leaves the top bit of an id free.
inline constexpr std::uint64_t kMaxSegment = std::uint64_t{1} << 43;
/// Top bit of the ids of chunks that live in family `small_chunk`.
inline constexpr std::uint64_t kSmallChunkBit = std::uint64_t{1} << 63;

constexpr std::uint64_t chunk_id(std::uint64_t segment, std::uint64_t index) {
  return segment << kSegmentShift | index;
}
constexpr std::uint64_t small_chunk_id(std::uint64_t segment, std::uint64_t index) {
  return kSmallChunkBit | chunk_id(segment, index);
}
constexpr bool is_small_chunk(std::uint64_t id) { return (id & kSmallChunkBit) != 0; }
constexpr std::uint64_t segment_of(std::uint64_t id) { return (id & ~kSmallChunkBit) >> kSegmentShift; }

/// Eight bytes, for families `checkpoint`, `chunk` and `small_chunk`, and as the prefix of entry keys.
std::string number_key(std::uint64_t number);
/// Empty when the key is not eight bytes long.
std::optional<std::uint64_t> number_from_key(std::string_view key) noexcept;

/// State id, then the entry's name as it is.
std::string entry_key(std::uint64_t state, std::string_view name);
struct EntryKey {
  std::uint64_t state = 0;
  std::string_view name;  ///< Points into the key.
};
/// Empty when the key is shorter than eight bytes.
std::optional<EntryKey> entry_from_key(std::string_view key) noexcept;

/// Sixteen bytes: high half, then low half.
std::string digest_key(const Digest& digest);
std::optional<Digest> digest_from_key(std::string_view key) noexcept;

/// Value of a row in family `digest`: chunk id u64, length u32, big-endian like the keys.
struct DigestRow {
  std::uint64_t chunk = 0;
  std::uint32_t length = 0;

  friend bool operator==(const DigestRow&, const DigestRow&) = default;
};
std::string encode_digest_row(const DigestRow& row);
/// Errors: kCorruption when it is not twelve bytes.
DigestRow decode_digest_row(std::string_view bytes);

}  // namespace cairn::format
