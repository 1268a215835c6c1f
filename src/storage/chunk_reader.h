// Reading chunks into memory, digest check and copy in one pass.
//
// Chunks are taken in ascending order of their ids, which is the order they were written in, split over threads. In a
// mapped file the payload is not copied before the destination (an iterator points into the mapping).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "cairn/progress.h"
#include "format/rows.h"
#include "storage/database.h"

namespace cairn::storage {

/// Where the bytes [begin, end) of one chunk go. Exactly one of data and write is set.
struct ChunkRead {
  format::ChunkRef chunk;
  std::uint32_t length = 0;  ///< The whole chunk's.
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::byte* data = nullptr;  ///< Destination of end - begin bytes.
  /// Takes the bytes once their digest has been checked; calls for one tensor may come from several threads.
  const std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>* write = nullptr;
  std::uint64_t offset = 0;  ///< Passed to write: where in the tensor `begin` lies.
  std::string_view owner;    ///< "model/fc1.weight", for messages; must outlive the call.
};

enum class DigestCheck {
  kWhileCopying,  ///< A damaged chunk raises after it may have been copied to `data`.
  kOnly,          ///< Nothing is copied.
  kNone,
};

struct ReadOptions {
  unsigned threads = 1;  ///< At least 1.
  DigestCheck check = DigestCheck::kWhileCopying;
  Progress progress;  ///< Bytes of the ranges asked for.
};

/// Adds the reads that bring a whole tensor to `data` (or to `write`); inline bytes are delivered at once.
void plan_reads(const format::TensorRow& row, std::uint32_t chunk_size, std::byte* data,
                const std::function<void(std::uint64_t, std::span<const std::byte>)>* write, std::string_view owner,
                std::vector<ChunkRead>& reads);

/// Reads all. Errors: kCorruption, naming chunk and owner, for a chunk that is missing (after the database caught up,
/// when read-only), has another length or another digest; kIo. When several are bad, the one with the lowest id is
/// named, and the number of bad ones.
void read_chunks(const Database& database, std::vector<ChunkRead> reads, const ReadOptions& options);

}  // namespace cairn::storage
