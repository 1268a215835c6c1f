// The commit protocol (DESIGN section 5, schemas/FORMAT.md): from the bytes of a checkpoint to one synced batch.
//
// Keeps invariants 2 (one batch is the only commit point), 3 (chunks are durable before it) and 4 (nothing is ever
// overwritten). Sees tensors only as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cairn/checkpoint_info.h"
#include "cairn/progress.h"
#include "cairn/value.h"
#include "format/layout.h"
#include "storage/database.h"

namespace cairn::storage {

/// Bytes of one tensor in the order they are stored. They must not change until the commit returns, or, where it is
/// asked to stage, until CommitOptions::staged is called.
struct ByteSource {
  std::uint64_t nbytes = 0;
  /// All bytes, when they lie in memory as they are stored; null: `read` has to be used.
  const std::byte* data = nullptr;
  /// Copies the bytes [offset, offset + out.size()) to out: for tensors that are not dense, or not on the CPU. May be
  /// called from several threads at the same time.
  std::function<void(std::uint64_t offset, std::span<std::byte> out)> read;
};

struct NewTensor {
  format::TensorLayout layout;
  ByteSource bytes;
};

struct NewEntry {
  std::string name;
  std::variant<NewTensor, Value> payload;
};

struct NewObject {
  std::string name;
  ObjectKind kind = ObjectKind::kStateDict;
  std::string type_name;
  std::vector<NewEntry> entries;  ///< In the order of the state dict.
};

struct NewCheckpoint {
  std::uint64_t parent = 0;  ///< 0: none. States that equal one of the parent's or the newest checkpoint's are shared.
  std::int64_t created_at_us = 0;
  Metadata metadata;
  std::vector<NewObject> objects;
  std::vector<std::string> libraries;
};

struct CommitOptions {
  unsigned threads = 1;                                    ///< At least 1.
  std::uint64_t memory_budget = std::uint64_t{256} << 20;  ///< For bytes that come through ByteSource::read.
  Progress progress;  ///< Bytes digested and bytes settled (written or found known), each counting half.
  /// When set: what is new is copied first, then this is called, on the thread of the commit, and no ByteSource is read
  /// afterwards. Memory: the bytes of the new chunks.
  std::function<void()> staged;
};

struct CommitResult {
  CheckpointInfo info;
  std::uint64_t chunk_count = 0;      ///< Chunks the tensors have, equal ones counted each time.
  std::uint64_t new_chunk_count = 0;  ///< Chunks that were written.
};

/// Commits a checkpoint. Names, sizes and values are checked before anything is written.
///
/// Durability: survives a crash of process and machine once it returns.
/// Errors:     kInvalidArgument, kUnsupported, kOutOfSpace (before a byte is written), kIo, kFailed.
/// On error:   no checkpoint is added; what was written is dropped now, or at the next open.
CommitResult commit(Database& database, const NewCheckpoint& checkpoint, const CommitOptions& options);

}  // namespace cairn::storage
