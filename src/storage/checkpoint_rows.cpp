// An object's rows are digested in the order of their names, whatever the order of its state dict (schemas/FORMAT.md).
#include "storage/checkpoint_rows.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include "format/fail.h"
#include "format/keys.h"
#include "format/values.h"
#include "storage/catalog.h"
#include "storage/families.h"
#include "storage/status.h"

namespace cairn::storage {

namespace {

/// A batch is one record of the log, held in memory several times.
constexpr std::uint64_t kMaxBatchBytes = std::uint64_t{2} << 30;
/// What keys, FlatBuffers tables and the batch's own framing add to a row, at most.
constexpr std::uint64_t kRowOverhead = 200;
/// Of a chunk: its reference in the entry row, its digest row with the framing.
constexpr std::uint64_t kChunkRowBytes = sizeof(format::ChunkRef) + 40;

/// Before anything else is done.
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
        fail(ErrorCode::kInvalidArgument, "entry name '{}/{}' is given twice", printable(object.name),
             printable(entry.name));
      }
    }
  }
}

void put_row(WriteLock& lock, rocksdb::WriteBatch& batch, Family family, const std::string& key,
             const std::string& row) {
  check(batch.Put(lock.database().handles().family(family), key, row), "cannot put a row");
}

}  // namespace

CheckpointRows::CheckpointRows(const NewCheckpoint& checkpoint, std::uint32_t chunk_size) : checkpoint_(checkpoint) {
  check_names(checkpoint);
  row_.parent = checkpoint.parent;
  row_.created_at_us = checkpoint.created_at_us;
  row_.metadata = checkpoint.metadata;
  row_.libraries = checkpoint.libraries;
  row_.libraries.push_back(fmt::format("rocksdb {}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH));
  std::uint64_t row_bytes = format::encode_value(checkpoint.metadata).size();
  for (const NewObject& object : checkpoint.objects) {
    ObjectRows& rows = objects_.emplace_back();
    rows.info = {object.name, object.kind, object.type_name, object.entries.size(), 0};
    row_bytes += object.name.size() + object.type_name.size() + kRowOverhead;
    for (const NewEntry& entry : object.entries) row_bytes += plan(object, entry, chunk_size, rows);
    row_.logical_bytes += rows.info.bytes;
  }
  if (row_bytes > kMaxBatchBytes) {
    fail(ErrorCode::kInvalidArgument,
         "names, values and chunk lists of {} bytes do not fit one checkpoint, the limit is {}", row_bytes,
         kMaxBatchBytes);
  }
  row_bytes_ = row_bytes;
}

void CheckpointRows::put(WriteLock& lock, rocksdb::WriteBatch& batch, const std::vector<format::ObjectRow>& known) {
  row_.written_bytes = chunks_.new_bytes();
  for (std::size_t i = 0; i < objects_.size(); ++i) put_object(lock, batch, checkpoint_.objects[i], objects_[i], known);
  version_ = lock.take_version();
  put_row(lock, batch, Family::kCheckpoint, format::number_key(version_), format::encode(row_));
}

CommitResult CheckpointRows::result() const {
  CommitResult result;
  result.info = StoredCheckpoint{version_, row_}.info();
  result.chunk_count = chunks_.chunks().size();
  result.new_chunk_count = chunks_.new_chunks().size();
  return result;
}

/// Returns at least the bytes that the entry adds to the batch.
std::uint64_t CheckpointRows::plan(const NewObject& object, const NewEntry& entry, std::uint32_t chunk_size,
                                   ObjectRows& rows) {
  rows.first_chunks.push_back(chunks_.chunks().size());
  std::vector<std::byte>& inline_bytes = rows.inline_bytes.emplace_back();
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
  if (nbytes <= format::kMaxInlineBytes) {
    inline_bytes.resize(nbytes);
    if (tensor.bytes.data != nullptr) {
      std::copy_n(tensor.bytes.data, nbytes, inline_bytes.begin());
    } else if (nbytes != 0) {
      tensor.bytes.read(0, inline_bytes);
    }
    return row_bytes + nbytes;
  }
  chunks_.add(tensor.bytes, chunk_size);
  return row_bytes + format::chunk_count(nbytes, chunk_size) * kChunkRowBytes;
}

std::string CheckpointRows::encode_entry(const NewEntry& entry, std::uint64_t ordinal, const ObjectRows& rows) const {
  format::EntryRow row;
  row.ordinal = ordinal;
  if (const auto* value = std::get_if<Value>(&entry.payload)) {
    row.payload = *value;
    return format::encode(row);
  }
  const NewTensor& tensor = std::get<NewTensor>(entry.payload);
  format::TensorRow stored;
  stored.layout = tensor.layout;
  stored.inline_bytes = rows.inline_bytes[ordinal];
  const auto& chunks = chunks_.chunks();
  for (std::size_t i = rows.first_chunks[ordinal]; i < chunks.size() && chunks[i].source == &tensor.bytes; ++i) {
    stored.chunks.push_back({chunks[i].id, chunks[i].digest});
  }
  row.payload = std::move(stored);
  return format::encode(row);
}

void CheckpointRows::put_object(WriteLock& lock, rocksdb::WriteBatch& batch, const NewObject& object,
                                const ObjectRows& rows, const std::vector<format::ObjectRow>& known) {
  std::vector<std::pair<std::string_view, std::string>> encoded;  // name, row
  encoded.reserve(object.entries.size());
  for (std::size_t i = 0; i < object.entries.size(); ++i) {
    encoded.emplace_back(object.entries[i].name, encode_entry(object.entries[i], i, rows));
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

}  // namespace cairn::storage
