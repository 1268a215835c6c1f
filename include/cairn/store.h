// A store of checkpoints: start here.
//
//   auto store = cairn::Store::open("runs/lm.cairn");
//   store.create_checkpoint({{"model", model}, {"optimizer", optimizer}}, {{"step", step}});
//   if (auto resumed = store.resume({{"model", model}, {"optimizer", optimizer}})) ...
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/apply.h"
#include "cairn/checkpoint.h"
#include "cairn/created.h"
#include "cairn/history.h"
#include "cairn/options.h"
#include "cairn/pending.h"
#include "cairn/query.h"
#include "cairn/retention.h"
#include "cairn/target.h"
#include "cairn/value.h"

namespace cairn {

namespace detail {
class StoreCore;  // src/store_core.h
}

struct Tag {
  std::string name;
  std::uint64_t version = 0;
};

struct Problem {
  unsigned invariant = 0;     ///< Number in src/README.md; 0: the store could not be read at this place.
  std::uint64_t version = 0;  ///< Checkpoint that is affected; 0: none in particular.
  std::string object;
  std::string entry;
  std::string message;  ///< One line, with version, object and entry where known.
};

struct VerifyReport {
  std::vector<Problem> problems;
  std::uint64_t checkpoint_count = 0;
  std::uint64_t entry_count = 0;
  std::uint64_t chunk_count = 0;
  std::uint64_t chunk_bytes = 0;
};

/// One directory, one writing process at a time, any number of readers.
///
/// Threads: every method may be called from any thread; creates, commits, removes and prunes run one after another,
/// those in the background included.
class Store {
 public:
  /// Opens a store for reading and writing, and creates it, with parent directories, when there is none.
  ///
  /// What a crash left behind is dropped. Takes the store's lock until the last handle (this, and Checkpoints)
  /// is gone.
  /// Errors: kInvalidArgument when the path is a file or a directory of something else; kUnsupportedVersion for a
  ///         newer format (nothing is touched); kBusy when another writer has it, naming its process where known;
  ///         kOutOfSpace; kIo; kCorruption.
  static Store open(const std::filesystem::path& path, StoreOptions options = {});
  /// Opens an existing store for reading, beside a writer or not. Sees what was committed before; writes nothing.
  /// Errors: as open, and kNotFound when there is no store.
  static Store open_read_only(const std::filesystem::path& path, StoreOptions options = {});

  /// Captures all targets and commits them as the next version: capture and commit in one.
  ///
  /// Durability: when it returns, the checkpoint survives a crash of the process and of the machine.
  /// Cost:       one pass over the bytes for digests, writes of the chunks that no earlier checkpoint has.
  /// Threads:    the targets must not change during the call.
  /// Errors:     those of capture; kInvalidArgument on a read-only store; kOutOfSpace before anything is written;
  ///             kIo; kFailed when an earlier commit had an unknown outcome; that of an earlier create in the
  ///             background which nobody has waited for.
  /// On error:   no checkpoint is added, earlier ones are whole. After an error of the commit itself the outcome is
  ///             unknown, and the store refuses writes (kFailed) until it is opened again.
  Created create_checkpoint(const Targets& targets, Metadata metadata = {}, const CreateOptions& options = {});
  Created commit(const Snapshot& snapshot, const CreateOptions& options = {});

  /// As create_checkpoint, in the background: returns once the state has been taken. Its tensors may change then, while
  /// what is new is written and committed.
  ///
  /// One create is under way at a time: another one waits for it, or is skipped, as options.when_busy says. With
  /// `staging = kOverlapped` it returns at once; then PendingCheckpoint::wait_staged has to be called before any tensor
  /// of the targets changes: what changes earlier makes a checkpoint of mixed moments.
  ///
  /// Durability: none before PendingCheckpoint::wait returns. Closing the store waits for it.
  /// Cost:       digests and look-ups, and a copy of the chunks that are new into memory that stays for the next one.
  /// Errors:     those of create_checkpoint up to that copy. Later ones are raised by PendingCheckpoint::wait, are
  ///             logged, and, unless they were waited for, are raised by the next create, which does nothing else.
  PendingCheckpoint create_checkpoint_async(const Targets& targets, Metadata metadata = {},
                                            const CreateOptions& options = {});
  PendingCheckpoint commit_async(Snapshot snapshot, const CreateOptions& options = {});

  /// Newest checkpoint; empty for an empty store.
  std::optional<Checkpoint> latest() const;
  std::optional<Checkpoint> checkpoint(std::uint64_t version) const;
  /// All checkpoints, oldest first. Cost: microseconds each.
  std::vector<CheckpointInfo> list() const;

  /// Applies the newest checkpoint that is whole; empty when the store has none at all.
  ///
  /// Chunks are checked before anything is copied (options.verify is not used). A damaged checkpoint is reported to
  /// the log and the one before is tried. Errors: those of apply_checkpoint; kCorruption when none is whole.
  std::optional<Checkpoint> resume(const Targets& targets, const ApplyOptions& options = {});

  /// SQL (SQLite's) over the store as it is now; no data is copied first. `?` in the statement take `parameters`: null,
  /// bool, int, double or string.
  ///
  /// Tables:    checkpoints(version, parent, created_at, logical_bytes, written_bytes, tags, metadata, and a column for
  ///            every top-level metadata key that any checkpoint has); objects(version, name, kind, type_name,
  ///            entry_count, bytes); entries(version, object, name, dtype, shape, numel, bytes, value, digest,
  ///            changed); tags(name, version). created_at is text in UTC, tags and metadata are JSON, `changed` is 1
  ///            unless the parent has the entry with the same content. NaN is NULL.
  /// Functions: tensor_norm, tensor_mean, tensor_std, tensor_min, tensor_max, tensor_nan_count (version, object,
  ///            entry); tensor_distance(version_a, version_b, object, entry): 2-norm of the difference.
  /// Cost:      conditions on version are looked up; others scan. `entries` reads one object's rows at a time.
  /// Errors:    kInvalidArgument for a statement that SQLite does not accept, with the place, for one that is not a
  /// single
  ///            SELECT, and for parameters that do not fit; kNotFound when a function names what is not there;
  ///            kCorruption; kIo.
  QueryResult query(std::string_view sql, const ValueList& parameters = {}) const;
  /// The checkpoints that a condition on the columns of `checkpoints` holds for: what stands behind WHERE, with ORDER
  /// BY and LIMIT where wanted: `find("val_loss < 0.3 ORDER BY val_loss LIMIT 1")`. Oldest first unless ordered.
  std::vector<Checkpoint> find(std::string_view condition, const ValueList& parameters = {}) const;

  /// What became of one entry, oldest first: a period for every stretch of checkpoints in which it is the same.
  /// Cost: a look-up for each checkpoint whose object changed. Errors: kNotFound when no checkpoint has it; the message
  ///       names the nearest that exist; kCorruption; kIo.
  std::vector<EntryPeriod> history(std::string_view object, std::string_view entry) const;
  /// What became different from one checkpoint to another. Cost: the entry rows of the objects that are not shared;
  /// with options.measures also the chunks of tensors that changed. Errors: kNotFound; kCorruption; kIo.
  Difference diff(std::uint64_t before, std::uint64_t after, const DiffOptions& options = {}) const;

  /// Commits a checkpoint of another store, or of this one, as this store's next version, with its metadata and its
  /// time of creation; its parent is as CopyOptions says. Chunks that this store has are not written again.
  ///
  /// Durability, errors: as create_checkpoint; kCorruption when a chunk of the source is damaged: nothing is added
  /// then. Cost: reads all bytes of the source; memory is bounded by options.memory_budget, whatever the size of the
  /// state.
  Created copy_checkpoint(const Checkpoint& source, const CopyOptions& options = {});

  /// Makes what another process has committed visible to a store that was opened for reading; checkpoints, tags, and
  /// the files of chunks. Handles stay valid. Does nothing on a store open for writing. Cost: a few milliseconds when
  /// there is something new. Errors: as open_read_only.
  void refresh();

  /// Gives a version a name. Names are unique; one that stands for this version already stays. A tagged checkpoint
  /// cannot be removed.
  ///
  /// A name is 1 to 255 bytes of UTF-8, neither a number nor `latest`, without `~` and control characters.
  /// Durability: as a commit. Errors: kInvalidArgument for the name; kNotFound; kAlreadyExists when the name stands for
  ///             another version: `move_tag` moves it.
  void tag(std::uint64_t version, std::string_view name);
  /// As tag, and takes the name away from the version it stood for.
  void move_tag(std::uint64_t version, std::string_view name);
  /// False when there is no such tag.
  bool untag(std::string_view name);
  /// In the order of the names' bytes.
  std::vector<Tag> tags() const;
  /// The checkpoint that a tag stands for.
  std::optional<Checkpoint> tagged(std::string_view name) const;

  /// Removes a checkpoint, and the states no other one uses. Its chunks stay until they are collected.
  /// Errors: kNotFound; kBusy while this process holds a Checkpoint of it, or while it has a tag.
  void remove(std::uint64_t version);

  /// Removes what the policy does not keep, oldest first: a crash leaves each checkpoint whole or gone.
  ///
  /// The newest checkpoint and tagged ones always stay; those this process holds a Checkpoint of stay and are reported.
  /// Chunks stay until they are collected (gc). Cost: a scan of the list of checkpoints; a byte budget and a dry run
  /// also read entry rows.
  /// Errors: kInvalidArgument for a policy without a rule, or on a read-only store unless it is a dry run; kOutOfSpace;
  ///         kIo; kFailed.
  PruneReport prune(const RetentionPolicy& policy, const PruneOptions& options = {});

  /// Gives the space of what was removed back to the file system.
  ///
  /// Deletes chunks that no checkpoint refers to, and rewrites files that are mostly such chunks; when it returns the
  /// files are smaller, as far as no reader has them open. May be cut short at any moment: checkpoints stay whole, and
  /// the next call finds what was left.
  /// Threads: creates wait while it looks for what is needed, a moment for a store of a few thousand entries, and
  ///          may go on between the files it rewrites. Readers, in other processes too, go on.
  /// Cost:    a scan of all entry rows; rewrites at most what frees a sixth of it.
  /// Errors:  kInvalidArgument on a read-only store; kCorruption when an entry row is damaged (nothing is deleted
  /// then);
  ///          kOutOfSpace; kIo; kFailed.
  GcReport gc(const GcOptions& options = {});

  /// Where the bytes are: by object and by checkpoint, shared and own. Cost: a scan of all entry rows.
  UsageReport usage() const;

  /// Reads every row and chunk and checks invariants 1, 3, 4, 5 and 9 of src/README.md. Damage is reported, not
  /// thrown. Cost: reads the whole store once.
  VerifyReport verify(const Progress& progress = {}) const;

  const std::filesystem::path& path() const noexcept;
  bool is_read_only() const noexcept;

 private:
  explicit Store(std::shared_ptr<detail::StoreCore> core);

  std::shared_ptr<detail::StoreCore> core_;
};

}  // namespace cairn
