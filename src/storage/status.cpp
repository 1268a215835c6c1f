// RocksDB's codes and subcodes; what has no better place is an I/O error.
#include "storage/status.h"

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
      return ErrorCode::kIo;
  }
}

}  // namespace

void check(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return;
  fail(code_of(status), "{}: {}", what, status.ToString());
}

}  // namespace cairn::storage
