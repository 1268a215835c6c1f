// A file's size stands for its bytes; live bytes come from the marks.
#include "storage/sparse_files.h"

#include <algorithm>
#include <numeric>

#include "format/keys.h"

namespace cairn::storage {

namespace {

/// What a rewrite may need beside the store, and how long it may hold the write lock.
constexpr std::uint64_t kMaxRunBytes = std::uint64_t{1} << 30;
/// Dead bytes for which no file is rewritten that is more than half live.
constexpr std::uint64_t kNegligibleBytes = std::uint64_t{1} << 20;

}  // namespace

FileContents contents_of(const TableFile& file, const DeadChunks& dead) {
  const auto first = format::number_from_key(file.smallest);
  const auto last = format::number_from_key(file.largest);
  if (!first || !last || format::segment_of(*last) >= dead.first_unmarked_segment) return {file.bytes, 0};
  const ChunkSet::Total live = dead.live.in_range(*first, *last);
  return {live.bytes, file.rows - std::min(file.rows, live.count)};
}

std::vector<TableFile> dead_files(std::span<const TableFile> files, const DeadChunks& dead) {
  std::vector<TableFile> found;
  for (const TableFile& file : files) {
    if (file.level != 0 && contents_of(file, dead).live_bytes == 0) found.push_back(file);
  }
  return found;
}

std::vector<std::span<const TableFile>> sparse_runs(std::span<const TableFile> files, const DeadChunks& dead) {
  std::vector<FileContents> contents(files.size());
  std::vector<std::size_t> candidates;
  std::uint64_t live_bytes = 0;
  std::uint64_t dead_bytes = 0;
  const auto dead_bytes_of = [&](std::size_t i) {
    return files[i].bytes - std::min(files[i].bytes, contents[i].live_bytes);
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    contents[i] = contents_of(files[i], dead);
    live_bytes += contents[i].live_bytes;
    if (files[i].level == 0 || contents[i].dead_rows == 0) continue;
    dead_bytes += dead_bytes_of(i);
    candidates.push_back(i);
  }
  const auto live_share = [&](std::size_t i) {
    return static_cast<double>(contents[i].live_bytes) /
           static_cast<double>(std::max<std::uint64_t>(files[i].bytes, 1));
  };
  std::sort(candidates.begin(), candidates.end(),
            [&](std::size_t left, std::size_t right) { return live_share(left) < live_share(right); });
  std::vector<bool> is_chosen(files.size());
  for (const std::size_t i : candidates) {
    const bool is_too_much = dead_bytes > kNegligibleBytes && dead_bytes * 5 > live_bytes;
    if (live_share(i) >= 0.5 && !is_too_much) break;
    is_chosen[i] = true;
    dead_bytes -= dead_bytes_of(i);
  }
  std::vector<std::span<const TableFile>> runs;
  for (std::size_t begin = 0; begin < files.size();) {
    std::size_t end = begin;
    std::uint64_t bytes = 0;
    while (end < files.size() && is_chosen[end] && files[end].level == files[begin].level &&
           (end == begin || bytes + contents[end].live_bytes <= kMaxRunBytes)) {
      bytes += contents[end++].live_bytes;
    }
    if (end > begin) runs.push_back(files.subspan(begin, end - begin));
    begin = std::max(end, begin + 1);
  }
  return runs;
}

}  // namespace cairn::storage
