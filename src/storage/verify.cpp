// One pass over the rows collects what refers to what; one pass over the chunks checks every payload once.
#include "storage/verify.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

#include "format/chunk_codec.h"
#include "format/fail.h"
#include "format/keys.h"
#include "format/rows.h"
#include "storage/families.h"
#include "storage/progress_meter.h"
#include "storage/recovery.h"
#include "storage/workers.h"

namespace cairn::storage {

namespace {

std::string_view view_of(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

/// Who needs a chunk: for the message, the first one met.
struct Expected {
  format::Digest digest;
  std::uint32_t length = 0;
  bool is_referenced = false;  // by an entry; else only by its digest row
  std::uint64_t version = 0;
  std::string object;
  std::string entry;
};

/// A state as the checkpoints describe it.
struct ExpectedState {
  std::uint64_t version = 0;  // first checkpoint that points to it
  format::ObjectRow object;
  std::uint64_t entry_count = 0;  // found
  std::uint64_t bytes = 0;        // found
  format::StateDigest digest;
  std::vector<std::uint64_t> ordinals;
};

class Verifier {
 public:
  explicit Verifier(const Database& database) : handles_(database.handles()), database_(database) {
    // A read-only database is a fixed view already.
    if (!database.is_read_only()) snapshot_.emplace(&handles_.db());
  }

  VerifyResult run(unsigned threads, const Progress& progress) {
    for (const std::string& line : damage_of_logs(database_)) add(0, 0, {}, {}, line);
    read_header();
    scan(Family::kCheckpoint, [this](auto key, auto row) { take_checkpoint(key, row); });
    scan(Family::kTag, [this](auto key, auto row) { take_tag(key, row); });
    scan(Family::kEntry, [this](auto key, auto row) { take_entry(key, row); });
    check_states();
    scan(Family::kDigest, [this](auto key, auto row) { take_digest_row(key, row); });
    check_chunks(threads, progress);
    std::stable_sort(
        result_.problems.begin(), result_.problems.end(),
        [](const VerifyProblem& left, const VerifyProblem& right) { return left.version < right.version; });
    return std::move(result_);
  }

 private:
  rocksdb::ReadOptions read_options() {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_ ? snapshot_->snapshot() : nullptr;
    options.fill_cache = false;
    return options;
  }

  void add(unsigned invariant, std::uint64_t version, std::string_view object, std::string_view entry,
           std::string_view what) {
    std::string message;
    if (version != 0) message += fmt::format("checkpoint {}: ", version);
    if (!object.empty())
      message += fmt::format("'{}{}{}': ", printable(object), entry.empty() ? "" : "/", printable(entry));
    message += what;
    const std::lock_guard<std::mutex> lock(mutex_);
    result_.problems.push_back({invariant, version, std::string(object), std::string(entry), std::move(message)});
  }

  /// Calls `take` for every row; damage of RocksDB's own ends the family with a problem.
  void scan(Family family, const std::function<void(std::string_view, std::string_view)>& take) {
    const std::unique_ptr<rocksdb::Iterator> row(handles_.db().NewIterator(read_options(), handles_.family(family)));
    for (row->SeekToFirst(); row->Valid(); row->Next()) take(view_of(row->key()), view_of(row->value()));
    if (!row->status().ok()) {
      add(0, 0, {}, {},
          fmt::format("rows of family '{}' cannot be read: {}", name_of(family), row->status().ToString()));
    }
  }

  void read_header() {
    std::string bytes;
    const rocksdb::Status status =
        handles_.db().Get(read_options(), handles_.family(Family::kDefault), std::string(format::kHeaderKey), &bytes);
    if (!status.ok()) return add(0, 0, {}, {}, fmt::format("the header row cannot be read: {}", status.ToString()));
    try {
      header_ = format::decode_header(bytes);
    } catch (const Error& error) {
      add(0, 0, {}, {}, error.what());
    }
  }

  void take_checkpoint(std::string_view key, std::string_view bytes) {
    ++result_.checkpoint_count;
    const std::uint64_t version = format::number_from_key(key).value_or(0);
    if (version == 0) return add(1, 0, {}, {}, fmt::format("a checkpoint row has a key of {} bytes", key.size()));
    if (version >= header_.next_version) {
      add(9, version, {}, {}, fmt::format("the next version is {}", header_.next_version));
    }
    try {
      versions_.insert(version);
      const format::CheckpointRow row = format::decode_checkpoint(version, bytes);
      for (const format::ObjectRow& object : row.objects) {
        if (object.state >= header_.next_state) {
          add(9, version, object.info.name, {},
              fmt::format("state {}, the next one is {}", object.state, header_.next_state));
        }
        const auto [state, is_new] = states_.try_emplace(object.state);
        if (is_new) {
          state->second.version = version;
          state->second.object = object;
        } else if (state->second.object.state_digest != object.state_digest) {
          add(4, version, object.info.name, {},
              fmt::format("state {} has another digest in checkpoint {}", object.state, state->second.version));
        }
      }
    } catch (const Error& error) {
      add(1, version, {}, {}, error.what());
    }
  }

  void take_tag(std::string_view name, std::string_view row) {
    const auto version = format::number_from_key(row);
    if (!version) {
      add(1, 0, {}, {}, fmt::format("tag '{}': expected 8 bytes, found {}", printable(name), row.size()));
    } else if (versions_.count(*version) == 0) {
      add(1, *version, {}, {}, fmt::format("tag '{}' stands for it, and it does not exist", printable(name)));
    }
  }

  void take_entry(std::string_view key, std::string_view bytes) {
    ++result_.entry_count;
    const auto parts = format::entry_from_key(key);
    if (!parts) return add(1, 0, {}, {}, fmt::format("an entry row has a key of {} bytes", key.size()));
    const auto found = states_.find(parts->state);
    if (found == states_.end()) {
      return add(1, 0, {}, {},
                 fmt::format("entry '{}' of state {} belongs to no checkpoint", printable(parts->name), parts->state));
    }
    ExpectedState& state = found->second;
    ++state.entry_count;
    state.digest.add(parts->name, bytes);
    try {
      const format::EntryRow row = format::decode_entry(bytes, database_.chunk_size());
      state.ordinals.push_back(row.ordinal);
      if (const auto* tensor = std::get_if<format::TensorRow>(&row.payload)) take_tensor(state, parts->name, *tensor);
    } catch (const Error& error) {
      add(4, state.version, state.object.info.name, parts->name, error.what());
    }
  }

  void take_tensor(ExpectedState& state, std::string_view entry, const format::TensorRow& tensor) {
    const std::uint64_t nbytes = format::nbytes_of(tensor.layout);
    state.bytes += nbytes;
    for (std::size_t i = 0; i < tensor.chunks.size(); ++i) {
      const format::ChunkRef& chunk = tensor.chunks[i];
      const std::uint32_t length = format::chunk_length(nbytes, database_.chunk_size(), i);
      if (format::segment_of(chunk.id) >= header_.next_segment) {
        add(9, state.version, state.object.info.name, entry,
            fmt::format("chunk {} is of segment {}, the next one is {}", chunk.id, format::segment_of(chunk.id),
                        header_.next_segment));
      }
      const auto [expected, is_new] = chunks_.try_emplace(chunk.id);
      if (is_new) {
        expected->second = {chunk.digest, length, true, state.version, state.object.info.name, std::string(entry)};
      } else if (expected->second.digest != chunk.digest || expected->second.length != length) {
        add(4, state.version, state.object.info.name, entry,
            fmt::format("chunk {} has another digest or length in '{}/{}'", chunk.id,
                        printable(expected->second.object), printable(expected->second.entry)));
      }
    }
  }

  void check_states() {
    for (auto& [id, state] : states_) {
      const ObjectInfo& info = state.object.info;
      if (state.entry_count != info.entry_count) {
        add(1, state.version, info.name, {},
            fmt::format("expected {} entries, found {}", info.entry_count, state.entry_count));
      } else if (state.digest.finish() != state.object.state_digest) {
        add(4, state.version, info.name, {}, "its entry rows do not have the digest they were committed with");
      } else if (state.bytes != info.bytes) {
        add(1, state.version, info.name, {},
            fmt::format("expected {} bytes of tensors, found {}", info.bytes, state.bytes));
      }
      std::sort(state.ordinals.begin(), state.ordinals.end());
      for (std::size_t i = 0; i < state.ordinals.size(); ++i) {
        if (state.ordinals[i] == i) continue;
        add(1, state.version, info.name, {}, fmt::format("no entry has place {}", i));
        break;
      }
    }
  }

  void take_digest_row(std::string_view key, std::string_view bytes) {
    const auto digest = format::digest_from_key(key);
    if (!digest) return add(5, 0, {}, {}, fmt::format("a digest row has a key of {} bytes", key.size()));
    try {
      const format::DigestRow row = format::decode_digest_row(bytes);
      const auto [expected, is_new] = chunks_.try_emplace(row.chunk);
      if (is_new) {
        expected->second.digest = *digest;
        expected->second.length = row.length;
      } else if (expected->second.digest != *digest || expected->second.length != row.length) {
        add(5, expected->second.version, expected->second.object, expected->second.entry,
            fmt::format("chunk {} has digest {}, a digest row says {}", row.chunk,
                        format::to_hex(expected->second.digest), format::to_hex(*digest)));
      }
    } catch (const Error& error) {
      add(5, 0, {}, {}, error.what());
    }
  }

  void check_chunks(unsigned threads, const Progress& progress) {
    std::vector<std::pair<std::uint64_t, const Expected*>> all;
    std::uint64_t bytes = 0;
    for (const auto& [id, expected] : chunks_) {
      all.emplace_back(id, &expected);
      bytes += expected.length;
    }
    result_.chunk_count = all.size();
    result_.chunk_bytes = bytes;
    ProgressMeter meter(progress, bytes);
    run_workers(threads, [&](unsigned worker) {
      const std::size_t begin = all.size() * worker / threads;
      const std::size_t end = all.size() * (worker + 1) / threads;
      std::unique_ptr<rocksdb::Iterator> rows[2];
      for (std::size_t i = begin; i < end; ++i) {
        const Family family = format::is_small_chunk(all[i].first) ? Family::kSmallChunk : Family::kChunk;
        auto& row = rows[family == Family::kChunk ? 0 : 1];
        if (!row) {
          rocksdb::ReadOptions options;
          options.fill_cache = false;
          // Damage beside a payload must not reach the assertions of the distribution's RocksDB.
          options.verify_checksums = true;
          row.reset(handles_.db().NewIterator(options, handles_.family(family)));
        }
        check_chunk(*row, all[i].first, *all[i].second);
        meter.add(all[i].second->length);
      }
    });
    meter.finish();
  }

  void check_chunk(rocksdb::Iterator& row, std::uint64_t id, const Expected& expected) {
    const auto report = [&](unsigned invariant, std::string_view what) {
      add(invariant, expected.version, expected.object, expected.entry, fmt::format("chunk {}: {}", id, what));
    };
    row.Seek(format::number_key(id));
    if (row.status().IsCorruption()) return report(4, row.status().ToString());
    if (!row.status().ok()) return report(0, row.status().ToString());
    if (!row.Valid() || format::number_from_key(view_of(row.key())) != id) {
      return report(expected.is_referenced ? 3 : 5, "it is missing");
    }
    try {
      const format::Digest found = format::digest_of(format::chunk_payload(view_of(row.value()), expected.length));
      if (found != expected.digest) {
        report(4, fmt::format("expected digest {}, found {}", format::to_hex(expected.digest), format::to_hex(found)));
      }
    } catch (const Error& error) {
      report(4, error.what());
    }
  }

  const Handles& handles_;
  const Database& database_;
  std::optional<rocksdb::ManagedSnapshot> snapshot_;
  format::StoreHeader header_;
  std::unordered_set<std::uint64_t> versions_;
  std::unordered_map<std::uint64_t, ExpectedState> states_;  // by state id
  std::map<std::uint64_t, Expected> chunks_;                 // by chunk id
  std::mutex mutex_;
  VerifyResult result_;  // problems are guarded by mutex_ while chunks are checked
};

}  // namespace

VerifyResult verify(const Database& database, unsigned threads, const Progress& progress) {
  // Rows and chunks are looked at one after the other.
  const std::shared_lock<std::shared_mutex> no_collection(database.collection_mutex());
  return Verifier(database).run(threads, progress);
}

}  // namespace cairn::storage
