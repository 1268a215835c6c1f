// commit() is the protocol; the steps have the numbers of schemas/FORMAT.md. Step 1, capture, is the caller's.
#include "storage/commit.h"

#include <exception>
#include <optional>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "format/fail.h"
#include "storage/catalog.h"
#include "storage/checkpoint_rows.h"
#include "storage/chunk_staging.h"
#include "storage/families.h"
#include "storage/free_space.h"
#include "storage/ingestion_guard.h"
#include "storage/new_chunks.h"
#include "storage/recovery.h"
#include "storage/status.h"
#include "storage/store_directory.h"

namespace cairn::storage {

namespace {

/// New bytes up to here go into the batch: one sync instead of a segment's file, link and manifest syncs.
constexpr std::uint64_t kMaxSmallBytes = std::uint64_t{1} << 20;

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

/// Undoes step 5 after an error: best effort, the next open does the same.
void drop_uncommitted(Database& database, std::uint64_t first_segment) noexcept {
  try {
    const Handles& handles = database.handles();
    // When it was the manifest that failed, resuming begins a new one; until then the old one may name the new tables.
    check(handles.db().Resume(), "cannot go on after the error");
    database.ingestion_guard().delete_kept();
    drop_segments_from(handles, first_segment);
    delete_files_in(database.file_system(), database.staging_path());
  } catch (const std::exception& error) {
    database.log(Severity::kWarning,
                 fmt::format("left-overs of a failed create stay until the next open: {}", error.what()));
  }
}

}  // namespace

CommitResult commit(Database& database, const NewCheckpoint& checkpoint, const CommitOptions& options) {
  CheckpointRows rows(checkpoint, database.chunk_size());
  ChunkPlan& chunks = rows.chunks();
  ProgressMeter progress(options.progress, rows.logical_bytes(), /*passes=*/2);

  WriteLock lock(database);
  if (checkpoint.parent >= lock.next_version()) {
    fail(ErrorCode::kInvalidArgument, "parent {} is not an earlier checkpoint", checkpoint.parent);
  }
  // 2. Digest every chunk; copy what is new when the caller does not wait for the rest.
  std::size_t staged_bytes = 0;
  if (options.staged) {
    staged_bytes = digest_and_stage(chunks, database, lock.staging_memory(), options, progress);
    options.staged();
  } else {
    chunks.digest(options, progress);
  }
  // 3. Look up the digests: what the store has is not written again.
  chunks.look_up(database, progress);
  // 4. Check the space, before a byte is written.
  const bool is_small = chunks.new_bytes() <= kMaxSmallBytes;
  require_space(database, is_small ? 0 : chunks.new_bytes(), rows.row_bytes() + (is_small ? chunks.new_bytes() : 0),
                database.options().space_reserve, "the checkpoint");

  const std::uint64_t first_segment = lock.next_segment();
  rocksdb::WriteBatch batch;
  try {
    // 5. Write the new chunks: durable afterwards, but nothing refers to them yet.
    if (is_small) {
      put_small_chunks(chunks, lock, batch, progress);
    } else {
      write_segments(chunks, lock, options, progress);
    }
    rows.put(lock, batch, known_states(database, checkpoint.parent));
    put_digest_rows(chunks, database, batch);
    progress.finish();  // here its callback may still stop the create
  } catch (...) {
    drop_uncommitted(database, first_segment);
    throw;
  }
  // 6. Commit: one synced batch, the only commit point. After an error its outcome is unknown, so nothing is undone
  // here.
  lock.commit(batch);
  if (options.staged) lock.staging_memory().keep(staged_bytes);
  return rows.result();
}

}  // namespace cairn::storage
