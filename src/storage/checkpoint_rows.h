// The rows of a checkpoint that is being made: catalog row, entry rows, and the plan of its chunks.
//
// Checks the caller's names, sizes and values when it is built, before anything is written. Knows the order of an
// object's rows and which states may be shared; knows nothing of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "format/rows.h"
#include "storage/chunk_plan.h"
#include "storage/commit.h"
#include "storage/database.h"

namespace rocksdb {
class WriteBatch;
}

namespace cairn::storage {

class CheckpointRows {
 public:
  /// Plans all chunks, and reads the tensors that have none. Keeps a reference to the checkpoint.
  /// Errors: kInvalidArgument, naming object and entry.
  CheckpointRows(const NewCheckpoint& checkpoint, std::uint32_t chunk_size);

  ChunkPlan& chunks() noexcept { return chunks_; }
  /// At least the bytes that the batch will hold, small chunks apart.
  std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  std::uint64_t logical_bytes() const noexcept { return row_.logical_bytes; }

  /// Puts entry rows, except of objects that equal one of `known`, then the checkpoint's row.
  /// Requires: all chunks have ids.
  void put(WriteLock& lock, rocksdb::WriteBatch& batch, const std::vector<format::ObjectRow>& known);

  CommitResult result() const;

 private:
  struct ObjectRows {
    ObjectInfo info;
    std::vector<std::size_t> first_chunks;             // of each entry, place in chunks_
    std::vector<std::vector<std::byte>> inline_bytes;  // of each entry; empty for values and tensors with chunks
  };

  std::uint64_t plan(const NewObject& object, const NewEntry& entry, std::uint32_t chunk_size, ObjectRows& rows);
  std::string encode_entry(const NewEntry& entry, std::uint64_t ordinal, const ObjectRows& rows) const;
  void put_object(WriteLock& lock, rocksdb::WriteBatch& batch, const NewObject& object, const ObjectRows& rows,
                  const std::vector<format::ObjectRow>& known);

  const NewCheckpoint& checkpoint_;
  ChunkPlan chunks_;
  std::vector<ObjectRows> objects_;
  format::CheckpointRow row_;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace cairn::storage
