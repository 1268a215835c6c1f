// Segments are whole files of the family `chunk`, disjoint and in the last level, so a range of ids is a set of files.
#include "storage/recovery.h"

#include <string>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/file_system.h>
#include <rocksdb/metadata.h>

#include "format/fail.h"
#include "format/keys.h"
#include "storage/log_check.h"
#include "storage/status.h"
#include "storage/store_directory.h"

namespace cairn::storage {

namespace {

/// Files of the family `chunk` that hold an id of segment `first` or above.
std::vector<rocksdb::LiveFileMetaData> segment_files_from(const Handles& handles, std::uint64_t first) {
  std::vector<rocksdb::LiveFileMetaData> files;
  handles.db().GetLiveFilesMetaData(&files);
  std::erase_if(files, [&](const rocksdb::LiveFileMetaData& file) {
    if (file.column_family_name != name_of(Family::kChunk)) return true;
    const auto largest = format::number_from_key(file.largestkey);
    return largest && format::segment_of(*largest) < first;
  });
  return files;
}

}  // namespace

std::uint64_t drop_segments_from(const Handles& handles, std::uint64_t first) {
  const std::vector<rocksdb::LiveFileMetaData> files = segment_files_from(handles, first);
  if (files.empty()) return 0;
  const std::string begin = format::number_key(format::chunk_id(first, 0));
  const std::string end = format::number_key(format::kSmallChunkBit - 1);
  const rocksdb::Slice begin_slice(begin);
  const rocksdb::Slice end_slice(end);
  const rocksdb::RangePtr range(&begin_slice, &end_slice);
  check(rocksdb::DeleteFilesInRanges(&handles.db(), handles.family(Family::kChunk), &range, 1, /*include_end=*/true),
        "cannot drop segments that no checkpoint refers to");
  const std::vector<rocksdb::LiveFileMetaData> left = segment_files_from(handles, first);
  if (!left.empty()) {
    fail(ErrorCode::kCorruption, "file {} holds chunks of segment {} or above, which was never committed, and others",
         left.front().name, first);
  }
  return files.size();
}

std::vector<std::string> damage_of_logs(const Database& database) {
  const std::filesystem::path directory = database.path() / "db";
  std::vector<std::string> lines;
  for (const std::string& name : files_in(database.file_system(), directory)) {
    if (!name.ends_with(".log")) continue;
    std::string log;
    const rocksdb::Status status =
        rocksdb::ReadFileToString(&database.file_system(), (directory / name).string(), &log);
    if (status.IsPathNotFound() || status.IsNotFound()) continue;  // a writer has emptied it meanwhile
    check(status, fmt::format("cannot read '{}'", (directory / name).string()));
    if (const auto place = rot_in_log(log)) {
      lines.push_back(fmt::format("the log '{}' is damaged at byte {}, and commits lie behind it", name, *place));
    }
  }
  return lines;
}

void require_whole_logs(const Database& database) {
  for (const std::string& line : damage_of_logs(database)) {
    if (!database.is_read_only() && !database.options().drop_commits_behind_damage) {
      fail(ErrorCode::kCorruption,
           "store '{}': {}, which would be lost; StoreOptions::drop_commits_behind_damage goes on without them",
           database.path().string(), line);
    }
    database.log(Severity::kWarning, fmt::format("store '{}': {}, which are lost", database.path().string(), line));
  }
}

}  // namespace cairn::storage
