// Rows that are FlatBuffers, as plain structs: decoding checks everything schemas/cairn.fbs demands.
//
// Bytes may be hostile and at any address: a row is copied to aligned memory, verified, then read. Every
// decode error is kCorruption and says what the row did wrong; callers that know the row's key prefix it.
// Pure functions, no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cairn/checkpoint_info.h"
#include "cairn/value.h"
#include "format/digest.h"
#include "format/layout.h"

namespace cairn::format {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint32_t kMinReaderVersion = 1;

inline constexpr std::uint32_t kMinChunkSize = 64 * 1024;
inline constexpr std::uint32_t kMaxChunkSize = 16 * 1024 * 1024;
inline constexpr std::uint32_t kDefaultChunkSize = 1024 * 1024;
/// Tensors up to this size live in their entry row.
inline constexpr std::uint64_t kMaxInlineBytes = 256;
inline constexpr std::size_t kMaxNameBytes = 64 * 1024;
/// Encoded metadata of a checkpoint, or one plain value.
inline constexpr std::size_t kMaxValueBytes = 64 * 1024 * 1024;

struct StoreHeader {
  std::uint32_t format_version = kFormatVersion;
  std::uint32_t min_reader_version = kMinReaderVersion;
  std::uint32_t chunk_size = kDefaultChunkSize;
  std::uint64_t next_version = 1;
  std::uint64_t next_state = 1;
  std::uint64_t next_segment = 1;

  friend bool operator==(const StoreHeader&, const StoreHeader&) = default;
};

struct ObjectRow {
  ObjectInfo info;
  std::uint64_t state = 0;
  Digest state_digest;
};

struct CheckpointRow {
  std::uint64_t parent = 0;
  std::int64_t created_at_us = 0;
  Metadata metadata;
  std::vector<ObjectRow> objects;
  std::uint64_t logical_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::vector<std::string> libraries;
};

struct ChunkRef {
  std::uint64_t id = 0;
  Digest digest;

  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;
};

struct TensorRow {
  TensorLayout layout;
  std::vector<std::byte> inline_bytes;  ///< All bytes when there are no chunks.
  std::vector<ChunkRef> chunks;
};

struct EntryRow {
  std::uint64_t ordinal = 0;
  std::variant<TensorRow, Value> payload;
};

/// An entry row with its name.
struct Entry {
  std::string name;
  EntryRow row;
};

std::string encode(const StoreHeader& header);
/// Also raises kUnsupportedVersion, naming both versions, when min_reader_version is above ours.
StoreHeader decode_header(std::string_view bytes);

std::string encode(const CheckpointRow& row);
/// `version` is the row's own number, from its key.
CheckpointRow decode_checkpoint(std::uint64_t version, std::string_view bytes);

std::string encode(const EntryRow& row);
/// `chunk_size` is the store's: the number of chunks must fit the tensor's bytes.
EntryRow decode_entry(std::string_view bytes, std::uint32_t chunk_size);

/// Bytes of chunk `index` of a tensor of `nbytes`: chunk_size, or what is left for the last.
std::uint32_t chunk_length(std::uint64_t nbytes, std::uint32_t chunk_size, std::uint64_t index);
std::uint64_t chunk_count(std::uint64_t nbytes, std::uint32_t chunk_size);

/// Digest of a state: over its entry rows in the order of their names' bytes, each as name length u64, name,
/// row length u64, row (lengths little-endian). See schemas/FORMAT.md.
class StateDigest {
 public:
  void add(std::string_view name, std::string_view row);
  Digest finish() const { return stream_.finish(); }

 private:
  DigestStream stream_;
};

/// Errors: kInvalidArgument when the name is empty, holds '/' or NUL, or is longer than kMaxNameBytes.
void check_object_name(std::string_view name);
/// Errors: kInvalidArgument when the name is longer than kMaxNameBytes. Any bytes will do, none included.
void check_entry_name(std::string_view object, std::string_view name);

}  // namespace cairn::format
