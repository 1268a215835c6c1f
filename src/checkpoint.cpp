// Reading a committed checkpoint, whole or in part, and applying it.
#include "cairn/checkpoint.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cairn/error.h"
#include "entry_info.h"
#include "format/fail.h"
#include "format/nearest.h"
#include "state/apply.h"
#include "state/tensor_bytes.h"
#include "storage/chunk_reader.h"
#include "storage/workers.h"
#include "store_core.h"
#include "stored_source.h"

namespace cairn {

namespace {

/// Reads smaller than this are not worth a second thread.
constexpr std::uint64_t kBytesPerReader = std::uint64_t{8} << 20;

/// The layers below do not know which checkpoint they work for, nor that a writer may have removed it under a reader
/// that caught up with it.
[[noreturn]] void rethrow_with_version(const detail::PinnedCheckpoint& pinned) {
  try {
    throw;
  } catch (const Error& error) {
    const storage::Database& database = pinned.core->database();
    if (error.code() == ErrorCode::kCorruption && database.is_read_only() &&
        !storage::find_checkpoint(database, pinned.info.version)) {
      fail(ErrorCode::kNotFound, "checkpoint {} was removed by the writer meanwhile", pinned.info.version);
    }
    fail(error.code(), "checkpoint {}: {}", pinned.info.version, error.what());
  }
}

const storage::Database& database_of(const detail::PinnedCheckpoint& pinned) { return pinned.core->database(); }

const format::ObjectRow& object_of(const detail::PinnedCheckpoint& pinned, std::string_view name) {
  if (const format::ObjectRow* object = pinned.stored.find_object(name)) return *object;
  std::vector<std::string_view> names;
  for (const format::ObjectRow& object : pinned.stored.row.objects) names.push_back(object.info.name);
  fail(ErrorCode::kNotFound, "checkpoint {} has no object '{}'{}", pinned.info.version, printable(name),
       format::nearest_names(name, names));
}

std::vector<format::Entry> read_rows(const detail::PinnedCheckpoint& pinned, const format::ObjectRow& object) {
  try {
    return storage::read_state(database_of(pinned), object);
  } catch (const Error&) {
    rethrow_with_version(pinned);
  }
}

[[noreturn]] void fail_entry_not_found(const detail::PinnedCheckpoint& pinned, const format::ObjectRow& object,
                                       std::string_view name) {
  const std::vector<format::Entry> entries = read_rows(pinned, object);
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const format::Entry& entry : entries) names.push_back(entry.name);
  fail(ErrorCode::kNotFound, "checkpoint {}: object '{}' has no entry '{}'{}", pinned.info.version,
       printable(object.info.name), printable(name), format::nearest_names(name, names));
}

format::EntryRow entry_of(const detail::PinnedCheckpoint& pinned, std::string_view object_name, std::string_view name) {
  const format::ObjectRow& object = object_of(pinned, object_name);
  try {
    auto entry = storage::find_entry(database_of(pinned), object.state, name);
    if (entry) return std::move(*entry);
  } catch (const Error&) {
    rethrow_with_version(pinned);
  }
  fail_entry_not_found(pinned, object, name);
}

format::TensorRow tensor_row_of(const detail::PinnedCheckpoint& pinned, std::string_view object,
                                std::string_view name) {
  format::EntryRow entry = entry_of(pinned, object, name);
  if (auto* tensor = std::get_if<format::TensorRow>(&entry.payload)) return std::move(*tensor);
  fail(ErrorCode::kInvalidArgument, "checkpoint {}: entry '{}' is a plain value, not a tensor", pinned.info.version,
       entry_path(object, name));
}

void read_all(const detail::PinnedCheckpoint& pinned, std::vector<storage::ChunkRead> reads) {
  std::uint64_t bytes = 0;
  for (const storage::ChunkRead& chunk : reads) bytes += chunk.end - chunk.begin;
  storage::ReadOptions options;
  options.threads =
      static_cast<unsigned>(std::clamp<std::uint64_t>(bytes / kBytesPerReader, 1, storage::default_threads()));
  try {
    storage::read_chunks(database_of(pinned), std::move(reads), options);
  } catch (const Error&) {
    rethrow_with_version(pinned);
  }
}

/// Adds the reads that bring bytes [begin, end) of a tensor to `out`.
void plan_range(const format::TensorRow& row, std::uint32_t chunk_size, std::uint64_t begin, std::uint64_t end,
                std::byte* out, std::string_view owner, std::vector<storage::ChunkRead>& reads) {
  if (begin == end) return;
  if (row.chunks.empty()) {
    std::copy_n(row.inline_bytes.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, out);
    return;
  }
  const std::uint64_t nbytes = format::nbytes_of(row.layout);
  for (std::uint64_t index = begin / chunk_size; index * chunk_size < end; ++index) {
    const std::uint64_t start = index * chunk_size;
    storage::ChunkRead& chunk = reads.emplace_back();
    chunk.chunk = row.chunks[index];
    chunk.length = format::chunk_length(nbytes, chunk_size, index);
    chunk.begin = static_cast<std::uint32_t>(std::max(begin, start) - start);
    chunk.end = static_cast<std::uint32_t>(std::min(end, start + chunk.length) - start);
    chunk.data = out + (start + chunk.begin - begin);
    chunk.owner = owner;
  }
}

std::byte* bytes_of(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

at::Tensor read_tensor(const detail::PinnedCheckpoint& pinned, const format::TensorRow& row, std::string_view owner) {
  at::Tensor tensor = state::empty_tensor(row.layout);
  std::vector<storage::ChunkRead> reads;
  plan_range(row, database_of(pinned).chunk_size(), 0, format::nbytes_of(row.layout), bytes_of(tensor), owner, reads);
  read_all(pinned, std::move(reads));
  return tensor;
}

StateDict read_state_dict(const detail::PinnedCheckpoint& pinned, const format::ObjectRow& object) {
  std::vector<format::Entry> entries = read_rows(pinned, object);
  StateDict state_dict;
  std::vector<std::string> owners(entries.size());
  std::vector<storage::ChunkRead> reads;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    format::Entry& entry = entries[i];
    if (auto* value = std::get_if<Value>(&entry.row.payload)) {
      state_dict.insert(std::move(entry.name), std::move(*value));
      continue;
    }
    const auto& row = std::get<format::TensorRow>(entry.row.payload);
    owners[i] = entry_path(object.info.name, entry.name);
    at::Tensor tensor = state::empty_tensor(row.layout);
    plan_range(row, database_of(pinned).chunk_size(), 0, format::nbytes_of(row.layout), bytes_of(tensor), owners[i],
               reads);
    state_dict.insert({std::move(entry.name), std::move(tensor), row.layout.requires_grad});
  }
  read_all(pinned, std::move(reads));
  return state_dict;
}

}  // namespace

const CheckpointInfo& Checkpoint::info() const noexcept { return pinned_->info; }

std::vector<EntryInfo> Checkpoint::entries(std::string_view object) const {
  std::vector<EntryInfo> infos;
  for (format::Entry& entry : read_rows(*pinned_, object_of(*pinned_, object))) {
    infos.push_back(entry_info(std::move(entry)));
  }
  return infos;
}

EntryInfo Checkpoint::entry(std::string_view object, std::string_view name) const {
  return entry_info({std::string(name), entry_of(*pinned_, object, name)});
}

at::Tensor Checkpoint::tensor(std::string_view object, std::string_view entry) const {
  return read_tensor(*pinned_, tensor_row_of(*pinned_, object, entry), entry_path(object, entry));
}

at::Tensor Checkpoint::rows(std::string_view object, std::string_view entry, std::int64_t begin,
                            std::int64_t end) const {
  const format::TensorRow row = tensor_row_of(*pinned_, object, entry);
  const std::string owner = entry_path(object, entry);
  const std::vector<std::int64_t>& sizes = row.layout.sizes;
  if (sizes.empty() || begin < 0 || begin > end || end > sizes[0]) {
    fail(ErrorCode::kInvalidArgument, "rows [{}, {}) of '{}', which has shape {}", begin, end, owner,
         format::describe_sizes(sizes));
  }
  if (format::dimension_order(row.layout).front() != 0) {
    return read_tensor(*pinned_, row, owner).narrow(0, begin, end - begin).clone();
  }
  format::TensorLayout layout = row.layout;
  layout.sizes[0] = end - begin;
  at::Tensor tensor = state::empty_tensor(layout);
  const std::uint64_t row_bytes =
      sizes[0] == 0 ? 0 : format::nbytes_of(row.layout) / static_cast<std::uint64_t>(sizes[0]);
  std::vector<storage::ChunkRead> reads;
  plan_range(row, database_of(*pinned_).chunk_size(), static_cast<std::uint64_t>(begin) * row_bytes,
             static_cast<std::uint64_t>(end) * row_bytes, bytes_of(tensor), owner, reads);
  read_all(*pinned_, std::move(reads));
  return tensor;
}

Value Checkpoint::value(std::string_view object, std::string_view entry) const {
  format::EntryRow row = entry_of(*pinned_, object, entry);
  if (auto* value = std::get_if<Value>(&row.payload)) return std::move(*value);
  fail(ErrorCode::kInvalidArgument, "checkpoint {}: entry '{}' is a tensor, not a plain value", version(),
       entry_path(object, entry));
}

StateDict Checkpoint::state_dict(std::string_view object) const {
  return read_state_dict(*pinned_, object_of(*pinned_, object));
}

Snapshot Checkpoint::read() const {
  Snapshot snapshot;
  for (const format::ObjectRow& object : pinned_->stored.row.objects) {
    snapshot.insert({object.info.name, object.info.kind, object.info.type_name, read_state_dict(*pinned_, object)});
  }
  snapshot.metadata() = metadata();
  return snapshot;
}

ApplyReport apply_checkpoint(const Checkpoint& checkpoint, const Targets& targets, const ApplyOptions& options) {
  const detail::PinnedCheckpoint& pinned = checkpoint.pinned();
  const auto is_wanted = [&](std::string_view object) {
    return !options.rename.empty() || std::any_of(targets.begin(), targets.end(),
                                                  [&](const NamedTarget& target) { return target.name() == object; });
  };
  ApplyReport report;
  try {
    StoredSource source(database_of(pinned), pinned.stored, is_wanted);
    report = state::apply(source, targets, options);
  } catch (const Error&) {
    rethrow_with_version(pinned);
  }
  pinned.core->set_parent(checkpoint.version());
  return report;
}

}  // namespace cairn
