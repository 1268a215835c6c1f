// commit() is the protocol; the steps have the numbers of schemas/FORMAT.md. Step 1, capture, is the caller's.
#include "storage/commit.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include "format/fail.h"
#include "format/keys.h"
#include "format/rows.h"
#include "format/values.h"
#include "storage/catalog.h"
#include "storage/families.h"
#include "storage/new_chunks.h"
#include "storage/recovery.h"
#include "storage/status.h"
#include "storage/store_directory.h"

namespace cairn::storage {

namespace {

/// New bytes up to here go into the batch: one sync instead of a segment's file, link and manifest syncs.
constexpr std::uint64_t kMaxSmallBytes = std::uint64_t{1} << 20;
/// A batch is one record of the log, held in memory several times.
constexpr std::uint64_t kMaxBatchBytes = std::uint64_t{2} << 30;

/// Names, before anything else is done.
void check_names(const NewCheckpoint& checkpoint) {
  std::unordered_set<std::string_view> object_names;
  for (const NewObject& object : checkpoint.objects) {
    format::check_object_name(object.name);
    if (!object_names.insert(object.name).second) {
      fail(ErrorCode::kInvalidArgument, "object name '{}' is given twice", printable(object.name));
    }
    std::unordered_set<std::string_view> entry_names;
    for (const NewEntry& entry : object.entries) {
      format::check_entry_name(object.name, entry.name);
      if (!entry_names.insert(entry.name).second) {
        fail(ErrorCode::kInvalidArgument, "object '{}': entry name '{}' is given twice", printable(object.name),
             printable(entry.name));
      }
    }
  }
}

/// The rows of a checkpoint that is being made.
class RowBuilder {
 public:
  /// Plans all chunks. Plain values are encoded here, so that one that cannot be stored stops the create before it writes.
  RowBuilder(const NewCheckpoint& checkpoint, std::uint32_t chunk_size) : checkpoint_(checkpoint) {
    row_.parent = checkpoint.parent;
    row_.created_at_us = checkpoint.created_at_us;
    row_.metadata = checkpoint.metadata;
    row_.libraries = checkpoint.libraries;
    row_.libraries.push_back(fmt::format("rocksdb {}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH));
    std::uint64_t row_bytes = format::encode_value(checkpoint.metadata).size();
    for (const NewObject& object : checkpoint.objects) {
      ObjectRows& rows = objects_.emplace_back();
      rows.info = {object.name, object.kind, object.type_name, object.entries.size(), 0};
      for (const NewEntry& entry : object.entries) row_bytes += plan(object, entry, chunk_size, rows);
      row_.logical_bytes += rows.info.bytes;
    }
    if (row_bytes > kMaxBatchBytes) {
      fail(ErrorCode::kInvalidArgument, "names, values and chunk lists of {} bytes do not fit one checkpoint, the limit is {}",
           row_bytes, kMaxBatchBytes);
    }
    row_bytes_ = row_bytes;
  }

  ChunkPlan& chunks() noexcept { return chunks_; }
  /// About what the batch will hold, small chunks apart.
  std::uint64_t row_bytes() const noexcept { return row_bytes_; }
  std::uint64_t logical_bytes() const noexcept { return row_.logical_bytes; }

  /// Puts entry rows, except of objects that equal one of `known`, then the checkpoint's row. Requires: all chunks have ids.
  void put(WriteLock& lock, rocksdb::WriteBatch& batch, const std::vector<format::ObjectRow>& known) {
    row_.written_bytes = chunks_.new_bytes();
    for (std::size_t i = 0; i < objects_.size(); ++i) put_object(lock, batch, checkpoint_.objects[i], objects_[i], known);
    version_ = lock.take_version();
    put_row(lock, batch, Family::kCheckpoint, format::number_key(version_), format::encode(row_));
  }

  CommitResult result() const {
    CommitResult result;
    result.info = StoredCheckpoint{version_, row_}.info();
    result.chunk_count = chunks_.chunks().size();
    result.new_chunk_count = chunks_.new_chunks().size();
    return result;
  }

 private:
  struct ObjectRows {
    ObjectInfo info;
    std::vector<std::size_t> first_chunks;  // of each entry, place in chunks_
  };

  static constexpr std::uint64_t kRowOverhead = 200;

  /// Returns about the bytes of the entry's row.
  std::uint64_t plan(const NewObject& object, const NewEntry& entry, std::uint32_t chunk_size, ObjectRows& rows) {
    rows.first_chunks.push_back(chunks_.chunks().size());
    if (const auto* value = std::get_if<Value>(&entry.payload)) {
      try {
        return format::encode_value(*value).size() + entry.name.size() + kRowOverhead;
      } catch (const Error& error) {
        fail(error.code(), "entry '{}/{}': {}", printable(object.name), printable(entry.name), error.what());
      }
    }
    const NewTensor& tensor = std::get<NewTensor>(entry.payload);
    const std::uint64_t nbytes = tensor.bytes.nbytes;
    if (format::nbytes_of(tensor.layout) != nbytes) {
      fail(ErrorCode::kInvalidArgument, "entry '{}/{}': {} has {} bytes, {} were given", printable(object.name),
           printable(entry.name), format::describe(tensor.layout), format::nbytes_of(tensor.layout), nbytes);
    }
    rows.info.bytes += nbytes;
    const std::uint64_t row_bytes = entry.name.size() + kRowOverhead + 16 * tensor.layout.sizes.size();
    if (nbytes <= format::kMaxInlineBytes) return row_bytes + nbytes;
    chunks_.add(tensor.bytes, chunk_size);
    return row_bytes + format::chunk_count(nbytes, chunk_size) * sizeof(format::ChunkRef);
  }

  std::string encode_entry(const NewEntry& entry, std::uint64_t ordinal, std::size_t first_chunk) const {
    format::EntryRow row;
    row.ordinal = ordinal;
    if (const auto* value = std::get_if<Value>(&entry.payload)) {
      row.payload = *value;
      return format::encode(row);
    }
    const NewTensor& tensor = std::get<NewTensor>(entry.payload);
    format::TensorRow stored;
    stored.layout = tensor.layout;
    if (tensor.bytes.nbytes > format::kMaxInlineBytes) {
      const auto& chunks = chunks_.chunks();
      for (std::size_t i = first_chunk; i < chunks.size() && chunks[i].source == &tensor.bytes; ++i) {
        stored.chunks.push_back({chunks[i].id, chunks[i].digest});
      }
    } else {
      stored.inline_bytes.resize(tensor.bytes.nbytes);
      if (tensor.bytes.data != nullptr) {
        std::copy_n(tensor.bytes.data, tensor.bytes.nbytes, stored.inline_bytes.begin());
      } else if (tensor.bytes.nbytes != 0) {
        tensor.bytes.read(0, stored.inline_bytes);
      }
    }
    row.payload = std::move(stored);
    return format::encode(row);
  }

  void put_object(WriteLock& lock, rocksdb::WriteBatch& batch, const NewObject& object, const ObjectRows& rows,
                  const std::vector<format::ObjectRow>& known) {
    std::vector<std::pair<std::string_view, std::string>> encoded;  // name, row
    encoded.reserve(object.entries.size());
    for (std::size_t i = 0; i < object.entries.size(); ++i) {
      encoded.emplace_back(object.entries[i].name, encode_entry(object.entries[i], i, rows.first_chunks[i]));
    }
    std::sort(encoded.begin(), encoded.end());
    format::StateDigest digest;
    for (const auto& [name, row] : encoded) digest.add(name, row);
    format::ObjectRow& added = row_.objects.emplace_back();
    added.info = rows.info;
    added.state_digest = digest.finish();
    const auto equal = std::find_if(known.begin(), known.end(), [&](const format::ObjectRow& other) {
      return other.info.entry_count == added.info.entry_count && other.state_digest == added.state_digest;
    });
    if (equal != known.end()) {
      added.state = equal->state;
      return;
    }
    added.state = lock.take_state();
    for (const auto& [name, row] : encoded) {
      put_row(lock, batch, Family::kEntry, format::entry_key(added.state, name), row);
      row_.written_bytes += row.size();
    }
  }

  static void put_row(WriteLock& lock, rocksdb::WriteBatch& batch, Family family, const std::string& key,
                      const std::string& row) {
    check(batch.Put(lock.database().handles().family(family), key, row), "cannot put a row");
  }

  const NewCheckpoint& checkpoint_;
  ChunkPlan chunks_;
  std::vector<ObjectRows> objects_;
  format::CheckpointRow row_;
  std::uint64_t row_bytes_ = 0;
  std::uint64_t version_ = 0;
};

/// Objects whose states a new checkpoint may share. Requires the write lock: none can be removed meanwhile.
std::vector<format::ObjectRow> known_states(const Database& database, std::uint64_t parent) {
  std::vector<format::ObjectRow> known;
  const auto add = [&](const std::optional<StoredCheckpoint>& checkpoint) {
    if (checkpoint) known.insert(known.end(), checkpoint->row.objects.begin(), checkpoint->row.objects.end());
  };
  const auto latest = latest_checkpoint(database);
  add(latest);
  if (parent != 0 && (!latest || latest->version != parent)) add(find_checkpoint(database, parent));
  return known;
}

/// RocksDB's log cannot be let run into a full disk: the distribution's builds end the process there.
void check_space(const Database& database, std::uint64_t segment_bytes, std::uint64_t batch_bytes) {
  // The batch is written to the log now and to a table when it is flushed.
  const std::uint64_t needed = segment_bytes + 2 * batch_bytes + database.options().space_reserve;
  const std::uint64_t free = database.free_bytes();
  if (free >= needed) return;
  fail(ErrorCode::kOutOfSpace, "store '{}': {} bytes are free, the checkpoint needs {} ({} of them new, {} in reserve)",
       database.path().string(), free, needed, segment_bytes + batch_bytes, database.options().space_reserve);
}

/// Undoes step 5 after an error: best effort, the next open does the same.
void drop_uncommitted(Database& database, std::uint64_t first_segment) noexcept {
  try {
    drop_segments_from(database.handles(), first_segment);
    delete_files_in(database.file_system(), database.staging_path());
  } catch (const std::exception& error) {
    database.log(Severity::kWarning, fmt::format("left-overs of a failed create stay until the next open: {}", error.what()));
  }
}

}  // namespace

CommitResult commit(Database& database, const NewCheckpoint& checkpoint, const CommitOptions& options) {
  check_names(checkpoint);
  RowBuilder rows(checkpoint, database.chunk_size());
  ChunkPlan& chunks = rows.chunks();
  ProgressMeter progress(options.progress, rows.logical_bytes(), /*passes=*/2);

  WriteLock lock(database);
  if (checkpoint.parent >= lock.next_version()) {
    fail(ErrorCode::kInvalidArgument, "parent {} is not an earlier checkpoint", checkpoint.parent);
  }
  // 2. Digest every chunk.
  chunks.digest(options, progress);
  // 3. Look up the digests: what the store has is not written again.
  chunks.look_up(database, progress);
  // 4. Check the space, before a byte is written.
  const bool is_small = chunks.new_bytes() <= kMaxSmallBytes;
  check_space(database, is_small ? 0 : chunks.new_bytes(), rows.row_bytes() + (is_small ? chunks.new_bytes() : 0));

  const std::uint64_t first_segment = lock.next_segment();
  rocksdb::WriteBatch batch;
  try {
    // 5. Write the new chunks: durable afterwards, but nothing refers to them yet.
    if (is_small) {
      chunks.put_small(lock, batch, progress);
    } else {
      chunks.write_segments(lock, options, progress);
    }
    rows.put(lock, batch, known_states(database, checkpoint.parent));
    chunks.put_digest_rows(database, batch);
    progress.finish();  // here its callback may still stop the create
  } catch (...) {
    drop_uncommitted(database, first_segment);
    throw;
  }
  // 6. Commit: one synced batch, the only commit point. After an error its outcome is unknown, so nothing is undone here.
  lock.commit(batch);
  return rows.result();
}

}  // namespace cairn::storage
