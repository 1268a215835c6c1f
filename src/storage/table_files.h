// RocksDB's files of one family: what is in them, dropping them whole, and rewriting neighbours as one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/families.h"

namespace cairn::storage {

struct TableFile {
  std::string name;  ///< As RocksDB has it: "/000012.sst".
  int level = 0;
  std::uint64_t bytes = 0;
  std::string smallest;  ///< Keys, both included.
  std::string largest;
  std::uint64_t rows = 0;           ///< Deletions included. Filled in by counted_table_files, as the next.
  std::uint64_t deletions = 0;      ///< Rows that hide others.
  std::uint64_t payload_bytes = 0;  ///< Of rows that are chunks.
};

/// All files of a family by level, then by key.
std::vector<TableFile> table_files(const Handles& handles, Family family);
/// The same with numbers of rows. Errors: kIo, kCorruption.
std::vector<TableFile> counted_table_files(const Handles& handles, Family family);

/// Runs of neighbours that are small and many: each is worth rewriting as one file. Every byte is rewritten a few times
/// at most, however many small files follow. Files of level 0, and such as hold chunks of a segment from
/// `first_uncommitted_segment` on, are left alone. Pure.
std::vector<std::span<const TableFile>> small_neighbours(std::span<const TableFile> files, Family family,
                                                         std::uint64_t first_uncommitted_segment);

/// Rewrites neighbours of one level through the family's filter, into files of at most `max_file_bytes`. Returns false
/// when RocksDB is at work on one of them, or has replaced it: nothing was done then. Errors: kIo, kOutOfSpace,
/// kCorruption.
bool rewrite_files(const Handles& handles, Family family, std::span<const TableFile> files, int output_level,
                   std::uint64_t max_file_bytes);

/// Drops the files, each whole, in one durable step; one that RocksDB is at work on stays. Requires: none is of level
/// 0, and no other file has a row between the keys of one of these that is still wanted.
void drop_files(const Handles& handles, Family family, std::span<const TableFile> files);

}  // namespace cairn::storage
