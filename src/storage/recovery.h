// What a crash before the commit point leaves behind, and how the next writer drops it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/database.h"
#include "storage/families.h"

namespace cairn::storage {

/// Drops every segment whose number is at least `first`: no committed row can refer to one (invariant 3). Returns how
/// many files went. Requires: no create is under way. Errors: kIo; kCorruption when such a file cannot be dropped.
std::uint64_t drop_segments_from(const Handles& handles, std::uint64_t first);

/// A line for each log of the database that rotted in front of a whole record (log_check.h). Errors: kIo.
std::vector<std::string> damage_of_logs(const Database& database);

/// Before the database is opened: RocksDB would drop the commits behind such damage without a word, and give their
/// versions again. A reader is told by the log. Errors: kIo; kCorruption when opened for writing, unless the options
/// accept it.
void require_whole_logs(const Database& database);

}  // namespace cairn::storage
