// Levels from 1 on hold disjoint files in the order of their keys, so neighbours can be rewritten without touching
// others.
#include "storage/table_files.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <unordered_map>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/table_properties.h>

#include "format/fail.h"
#include "format/keys.h"
#include "storage/status.h"

namespace cairn::storage {

namespace {

constexpr std::uint64_t kMergedBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kSmallBytes = kMergedBytes / 2;
/// Fewer are not worth it: merging by eight rewrites a byte log8(64 MiB / size of the smallest) times.
constexpr std::size_t kManyFiles = 8;

bool is_small(const TableFile& file, Family family, std::uint64_t first_uncommitted_segment) {
  if (file.level == 0 || file.bytes >= kSmallBytes) return false;
  if (family != Family::kChunk && family != Family::kSmallChunk) return true;
  const auto largest = format::number_from_key(file.largest);
  return largest && format::segment_of(*largest) < first_uncommitted_segment;
}

/// Leaves out leading files that are as large as all the others together: merging would only copy them.
std::span<const TableFile> without_large_head(std::span<const TableFile> files) {
  std::uint64_t total = 0;
  for (const TableFile& file : files) total += file.bytes;
  while (!files.empty() && 2 * files.front().bytes > total) {
    total -= files.front().bytes;
    files = files.subspan(1);
  }
  return files;
}

}  // namespace

std::vector<TableFile> table_files(const Handles& handles, Family family) {
  rocksdb::ColumnFamilyMetaData metadata;
  handles.db().GetColumnFamilyMetaData(handles.family(family), &metadata);
  std::vector<TableFile> files;
  for (rocksdb::LevelMetaData& level : metadata.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      files.push_back({file.name, level.level, file.size, file.smallestkey, file.largestkey});
    }
  }
  std::sort(files.begin(), files.end(), [](const TableFile& left, const TableFile& right) {
    return std::tie(left.level, left.smallest) < std::tie(right.level, right.smallest);
  });
  return files;
}

std::vector<TableFile> counted_table_files(const Handles& handles, Family family) {
  // The metadata's own numbers are filled in only as statistics are gathered, which opening leaves out.
  rocksdb::TablePropertiesCollection properties;
  check(handles.db().GetPropertiesOfAllTables(handles.family(family), &properties), "cannot look at the tables");
  std::unordered_map<std::string, const rocksdb::TableProperties*> by_name;
  for (const auto& [path, table] : properties) {
    by_name.emplace("/" + std::filesystem::path(path).filename().string(), table.get());
  }
  std::vector<TableFile> files = table_files(handles, family);
  for (TableFile& file : files) {
    const auto found = by_name.find(file.name);
    if (found == by_name.end()) continue;
    file.rows = found->second->num_entries;
    file.deletions = found->second->num_deletions;
    file.payload_bytes = found->second->raw_value_size - std::min(found->second->raw_value_size, file.rows);
  }
  return files;
}

std::vector<std::span<const TableFile>> small_neighbours(std::span<const TableFile> files, Family family,
                                                         std::uint64_t first_uncommitted_segment) {
  std::vector<std::span<const TableFile>> runs;
  for (std::size_t begin = 0; begin < files.size();) {
    std::size_t end = begin;
    std::uint64_t bytes = 0;
    while (end < files.size() && bytes < kMergedBytes && files[end].level == files[begin].level &&
           is_small(files[end], family, first_uncommitted_segment)) {
      bytes += files[end++].bytes;
    }
    const auto run = without_large_head(files.subspan(begin, end - begin));
    if (run.size() >= kManyFiles) runs.push_back(run);
    begin = std::max(end, begin + 1);
  }
  return runs;
}

bool rewrite_files(const Handles& handles, Family family, std::span<const TableFile> files, int output_level,
                   std::uint64_t max_file_bytes) {
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kNoCompression;
  options.output_file_size_limit = max_file_bytes;
  std::vector<std::string> names;
  for (const TableFile& file : files) names.push_back(file.name);
  const rocksdb::Status status = handles.db().CompactFiles(options, handles.family(family), names, output_level);
  if (status.IsAborted() || status.IsInvalidArgument()) return false;
  check(status, fmt::format("cannot rewrite {} file(s) of family '{}'", files.size(), name_of(family)));
  return true;
}

void drop_files(const Handles& handles, Family family, std::span<const TableFile> files) {
  if (files.empty()) return;
  std::vector<rocksdb::Slice> keys;
  keys.reserve(2 * files.size());
  std::vector<rocksdb::RangePtr> ranges;
  for (const TableFile& file : files) {
    keys.emplace_back(file.smallest);
    keys.emplace_back(file.largest);
    ranges.emplace_back(&keys[keys.size() - 2], &keys[keys.size() - 1]);
  }
  check(rocksdb::DeleteFilesInRanges(&handles.db(), handles.family(family), ranges.data(), ranges.size(),
                                     /*include_end=*/true),
        fmt::format("cannot drop {} file(s) of family '{}'", files.size(), name_of(family)));
}

}  // namespace cairn::storage
