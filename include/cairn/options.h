// Options of the API, plain structs with a default for every field.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cairn/progress.h"
#include "cairn/retention.h"

namespace cairn {

enum class LogLevel { kInfo, kWarning, kError };
using LogCallback = std::function<void(LogLevel level, std::string_view message)>;

/// How a store's tables are read.
enum class FileAccess {
  kAutomatic,  ///< Mapped, except on a network file system.
  kMapped,     ///< The fastest. An error of the disk while a mapped page is read ends the process (SIGBUS).
  kRead,       ///< With read calls: an error of the disk is kIo. A copy more.
};

struct StoreOptions {
  /// Bytes of a chunk: a multiple of 64 KiB, 64 KiB to 16 MiB. Fixed when the store is created; an existing
  /// store keeps its own. Default: 1 MiB.
  std::uint32_t chunk_size = 1024 * 1024;
  FileAccess io = FileAccess::kAutomatic;
  /// Bytes that rotted in the log of recent commits hide all commits behind them. False: such a store is not opened for
  /// writing (kCorruption, naming the place), since its next commit would take their place; a reader is told by the
  /// log. True: it goes on from the last commit before the damage, with a warning. Default: false.
  bool drop_commits_behind_damage = false;
  /// What has no caller to throw to: a fallback of `resume`, left-overs dropped at open. Any thread may call
  /// it, one at a time. Default: warnings and errors to standard error.
  LogCallback log{};
  /// Applied after every commit. A failure is logged and told in `Created`; it does not undo the checkpoint. Default:
  /// everything is kept.
  std::optional<RetentionPolicy> retention{};
  /// With retention: also gives the space back (Store::gc), each time a quarter as many checkpoints have been removed
  /// as are left. The commit that meets it takes the longer. Default: true.
  bool collects = true;
};

/// When a create in the background returns.
enum class Staging {
  kBeforeReturn,  ///< When the state has been taken: its tensors may change at once.
  kOverlapped,    ///< At once: wait_staged has to be called before any tensor changes.
};

/// What a create in the background does while another one is under way.
enum class WhenBusy {
  kWait,  ///< Waits for the end of the other.
  kSkip,  ///< Nothing: its PendingCheckpoint says that it was skipped.
};

struct CreateOptions {
  /// Workers for digests and segments. 0: as many as the hardware has, at most 8. Default: 0.
  unsigned threads = 0;
  /// Bytes that staging of tensors which are not dense, or not on the CPU, may take. At least one chunk a
  /// worker is always taken. Default: 256 MiB.
  std::uint64_t memory_budget = std::uint64_t{256} << 20;
  /// Of a create in the background, it is called from its thread.
  Progress progress{};
  /// Of a create in the background. Defaults: kBeforeReturn, kWait.
  Staging staging = Staging::kBeforeReturn;
  WhenBusy when_busy = WhenBusy::kWait;
};

struct CopyOptions {
  /// Version in this store that the copy descends from; 0: none. Default: 0.
  std::uint64_t parent = 0;
  /// Gives the copy the source's number, which has to be above all that this store ever had. Default: the next number.
  bool keeps_version = false;
  /// As in CreateOptions.
  unsigned threads = 0;
  std::uint64_t memory_budget = std::uint64_t{256} << 20;
  Progress progress{};
};

enum class VerifyMode {
  kWhileCopying,   ///< Digests are checked chunk by chunk, in the pass that copies.
  kBeforeCopying,  ///< All chunks are read and checked first: damage leaves the targets untouched.
  kNever,
};

struct ApplyOptions {
  /// True: entries of target and checkpoint must be the same. False: what is missing on either side is left
  /// alone and listed in the report; no match at all is still an error. Default: true.
  bool strict = true;
  /// With strict: accept entries of the checkpoint that the target lacks / of the target that the checkpoint
  /// lacks. Defaults: false.
  bool allow_unexpected = false;
  bool allow_missing = false;
  /// Globs over `object/entry` (`*` any bytes, `?` one byte); `only` empty means all. What they leave out is
  /// neither checked nor changed.
  std::vector<std::string> only{};
  std::vector<std::string> except{};
  /// Pairs of prefixes, checkpoint's first: the first that fits `object/entry` renames the checkpoint's entry.
  /// A prefix ends at a dot, a slash or the end of the name; `{"model/module.", "model/"}` strips a wrapper.
  std::vector<std::pair<std::string, std::string>> rename{};
  /// Convert dtypes instead of refusing; the report lists the entries. Default: false.
  bool cast = false;
  VerifyMode verify = VerifyMode::kWhileCopying;
  /// Workers for reading. 0: as many as the hardware has, at most 8. Default: 0.
  unsigned threads = 0;
  Progress progress{};
};

/// What an apply did, names as `object/entry`.
struct ApplyReport {
  std::uint64_t applied_count = 0;  ///< Entries whose content now is the checkpoint's.
  std::uint64_t applied_bytes = 0;
  std::vector<std::string> missing{};     ///< In the target, not in the checkpoint; unchanged.
  std::vector<std::string> unexpected{};  ///< In the checkpoint, not in the target.
  std::vector<std::string> cast{};        ///< Converted from another dtype.
};

}  // namespace cairn
