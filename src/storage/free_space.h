// Asking for space before anything is written.
//
// RocksDB's log must not be let run into a full disk: the distribution's builds end the process there. What is written
// outside the log (segments, tables) fails as an error, but is better not begun.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/database.h"

namespace cairn::storage {

/// Raises kOutOfSpace unless so many bytes, and a reserve beside them, are free. `what` needs them: "the checkpoint".
/// A batch counts twice: it goes to the log now, and to a table when it is flushed. Errors: kOutOfSpace, kIo.
void require_space(const Database& database, std::uint64_t segment_bytes, std::uint64_t batch_bytes,
                   std::uint64_t reserve, std::string_view what);

}  // namespace cairn::storage
