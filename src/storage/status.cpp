// RocksDB's codes and subcodes; what has no better place is an I/O error.
#include "storage/status.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "format/fail.h"

namespace cairn::storage {

namespace {

ErrorCode code_of(const rocksdb::Status& status) {
  if (status.subcode() == rocksdb::Status::kNoSpace || status.subcode() == rocksdb::Status::kSpaceLimit) {
    return ErrorCode::kOutOfSpace;
  }
  switch (status.code()) {
    case rocksdb::Status::kCorruption:
      return ErrorCode::kCorruption;
    case rocksdb::Status::kNotFound:
      return ErrorCode::kNotFound;
    case rocksdb::Status::kBusy:
      return ErrorCode::kBusy;
    default:
      return is_lock_taken(status) ? ErrorCode::kBusy : ErrorCode::kIo;
  }
}

}  // namespace

bool is_lock_taken(const rocksdb::Status& status) {
  if (!status.IsIOError()) return false;
  const std::string text = status.ToString();
  const auto holds = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  return holds("lock hold by current process") ||
         (holds("While lock file") && (holds(std::strerror(EAGAIN)) || holds(std::strerror(EACCES))));
}

void check(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return;
  fail(code_of(status), "{}: {}", what, status.ToString());
}

}  // namespace cairn::storage
