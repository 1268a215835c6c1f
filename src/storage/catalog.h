// The list of committed checkpoints (invariant 1: a checkpoint exists if and only if its row does), and the entry rows
// their states consist of.
//
// Threads: all functions may be called at any time. Each reads one consistent state of the database.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cairn/checkpoint_info.h"
#include "format/rows.h"
#include "storage/database.h"

namespace cairn::storage {

struct StoredCheckpoint {
  std::uint64_t version = 0;
  format::CheckpointRow row;

  CheckpointInfo info() const;
  /// Null when there is no object of that name.
  const format::ObjectRow* find_object(std::string_view name) const;
};

std::optional<StoredCheckpoint> latest_checkpoint(const Database& database);
std::optional<StoredCheckpoint> find_checkpoint(const Database& database, std::uint64_t version);
/// Greatest version below the one given.
std::optional<std::uint64_t> version_before(const Database& database, std::uint64_t version);
/// Oldest first.
std::vector<StoredCheckpoint> all_checkpoints(const Database& database);

/// One entry; a single look-up.
std::optional<format::EntryRow> find_entry(const Database& database, std::uint64_t state, std::string_view name);
/// All entries of a state in the order of their state dict; one scan. Errors: kCorruption when their number or
/// ordinals are not what the object row says.
std::vector<format::Entry> read_state(const Database& database, const format::ObjectRow& object);

}  // namespace cairn::storage
