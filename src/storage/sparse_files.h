// Which files of chunks a collection drops, and which it rewrites. Pure: looks at what is known of the files.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "storage/chunk_filter.h"
#include "storage/table_files.h"

namespace cairn::storage {

struct FileContents {
  std::uint64_t live_bytes = 0;
  std::uint64_t dead_rows = 0;  ///< 0 for a file whose keys are no chunk ids: such a file is left alone.
};

FileContents contents_of(const TableFile& file, const DeadChunks& dead);

/// Files that hold nothing live, but for those of level 0, which cannot be dropped.
std::vector<TableFile> dead_files(std::span<const TableFile> files, const DeadChunks& dead);

/// Files worth rewriting, neighbours together, up to a gigabyte at a time: those that are less than half live, and the
/// sparsest of the others while more than a sixth of what is left would be dead. So what is dead stays below a fifth of
/// what is live, and rewriting pays for itself. Level 0 is left out.
std::vector<std::span<const TableFile>> sparse_runs(std::span<const TableFile> files, const DeadChunks& dead);

}  // namespace cairn::storage
