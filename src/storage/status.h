// The one place where a rocksdb::Status becomes a cairn::Error (invariant 7).
#pragma once

#include <string_view>

#include <rocksdb/io_status.h>
#include <rocksdb/status.h>

namespace cairn::storage {

/// Raises an Error unless the status is OK: its code follows the status, its message is `what`, then RocksDB's own
/// text.
void check(const rocksdb::Status& status, std::string_view what);

/// True when the status says that somebody holds a lock: a distinction that RocksDB makes in its texts only.
bool is_lock_taken(const rocksdb::Status& status);

}  // namespace cairn::storage
