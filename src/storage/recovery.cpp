// Segments are whole files of the family `chunk`, disjoint and in the last level, so a range of ids is a set of files.
#include "storage/recovery.h"

#include <string>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/metadata.h>

#include "format/fail.h"
#include "format/keys.h"
#include "storage/status.h"

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

}  // namespace cairn::storage
