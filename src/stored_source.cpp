// Turns copies of tensors into reads of chunks: straight into a tensor's memory where its bytes lie as they are stored,
// through TensorBytes::write where they do not.
#include "stored_source.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "format/fail.h"
#include "state/tensor_bytes.h"
#include "storage/workers.h"

namespace cairn {

std::string entry_path(std::string_view object, std::string_view entry) {
  return fmt::format("{}/{}", printable(object), printable(entry));
}

namespace {

state::SourceObject describe(const format::ObjectRow& object, const std::vector<format::Entry>& rows) {
  state::SourceObject source{object.info.name, object.info.kind, object.info.type_name, {}};
  source.entries.reserve(rows.size());
  for (const format::Entry& entry : rows) {
    state::SourceEntry& described = source.entries.emplace_back();
    described.name = entry.name;
    if (const auto* tensor = std::get_if<format::TensorRow>(&entry.row.payload)) {
      described.layout = tensor->layout;
    } else {
      described.value = &std::get<Value>(entry.row.payload);
    }
  }
  return source;
}

}  // namespace

StoredSource::StoredSource(const storage::Database& database, const storage::StoredCheckpoint& checkpoint,
                           const std::function<bool(std::string_view object)>& is_wanted)
    : database_(database) {
  rows_.reserve(checkpoint.row.objects.size());
  for (const format::ObjectRow& object : checkpoint.row.objects) {
    rows_.push_back(is_wanted(object.info.name) ? storage::read_state(database, object) : std::vector<format::Entry>());
    objects_.push_back(describe(object, rows_.back()));
  }
}

const format::TensorRow& StoredSource::row(state::EntryRef entry) const {
  return std::get<format::TensorRow>(rows_.at(entry.object).at(entry.entry).row.payload);
}

bool StoredSource::is_same_content(state::EntryRef left, state::EntryRef right) const {
  const format::TensorRow& a = row(left);
  const format::TensorRow& b = row(right);
  const auto digests_equal = [](const format::ChunkRef& x, const format::ChunkRef& y) { return x.digest == y.digest; };
  return a.layout.dtype == b.layout.dtype && a.layout.sizes == b.layout.sizes &&
         format::dimension_order(a.layout) == format::dimension_order(b.layout) && a.inline_bytes == b.inline_bytes &&
         std::equal(a.chunks.begin(), a.chunks.end(), b.chunks.begin(), b.chunks.end(), digests_equal);
}

std::vector<std::string> StoredSource::owners(const std::vector<state::TensorCopy>& copies) const {
  std::vector<std::string> owners;
  owners.reserve(copies.size());
  for (const state::TensorCopy& copy : copies) {
    const state::SourceObject& object = objects_[copy.from.object];
    owners.push_back(entry_path(object.name, object.entries[copy.from.entry].name));
  }
  return owners;
}

void StoredSource::read(std::vector<storage::ChunkRead> reads, const ApplyOptions& options, storage::DigestCheck check,
                        const Progress& progress) const {
  storage::ReadOptions read_options;
  read_options.threads = options.threads != 0 ? options.threads : storage::default_threads();
  read_options.check = check;
  read_options.progress = progress;
  storage::read_chunks(database_, std::move(reads), read_options);
}

void StoredSource::copy(const std::vector<state::TensorCopy>& copies, const ApplyOptions& options,
                        const Progress& progress) {
  using Write = std::function<void(std::uint64_t, std::span<const std::byte>)>;
  const std::vector<std::string> owners = this->owners(copies);
  std::deque<Write> writes;
  std::vector<storage::ChunkRead> reads;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const format::TensorRow& stored = row(copies[i].from);
    const auto bytes = state::TensorBytes::in_order(copies[i].to, stored.layout);
    const Write* write = nullptr;
    if (bytes.data() == nullptr) {
      write = &writes.emplace_back(
          [bytes](std::uint64_t offset, std::span<const std::byte> piece) { bytes.write(offset, piece); });
    }
    storage::plan_reads(stored, database_.chunk_size(), bytes.data(), write, owners[i], reads);
  }
  read(std::move(reads), options,
       options.verify == VerifyMode::kWhileCopying ? storage::DigestCheck::kWhileCopying : storage::DigestCheck::kNone,
       progress);
}

void StoredSource::check(const std::vector<state::TensorCopy>& copies, const ApplyOptions& options) {
  const std::vector<std::string> owners = this->owners(copies);
  std::vector<storage::ChunkRead> reads;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const format::TensorRow& stored = row(copies[i].from);
    const std::uint64_t nbytes = format::nbytes_of(stored.layout);
    for (std::size_t index = 0; index < stored.chunks.size(); ++index) {
      storage::ChunkRead& read = reads.emplace_back();
      read.chunk = stored.chunks[index];
      read.length = format::chunk_length(nbytes, database_.chunk_size(), index);
      read.end = read.length;
      read.owner = owners[i];
    }
  }
  read(std::move(reads), options, storage::DigestCheck::kOnly, {});
}

}  // namespace cairn
