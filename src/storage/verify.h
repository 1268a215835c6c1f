// Walking a whole store and checking what must always hold: invariants 1, 3, 4, 5 and 9.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cairn/progress.h"
#include "storage/database.h"

namespace cairn::storage {

struct VerifyProblem {
  unsigned invariant = 0;     ///< 0: a row or chunk could not be read at all.
  std::uint64_t version = 0;  ///< First checkpoint that is affected; 0: none in particular.
  std::string object;
  std::string entry;
  std::string message;
};

struct VerifyResult {
  std::vector<VerifyProblem> problems;
  std::uint64_t checkpoint_count = 0;
  std::uint64_t entry_count = 0;
  std::uint64_t chunk_count = 0;
  std::uint64_t chunk_bytes = 0;
};

/// Reads every row and every chunk once and goes on after each problem; collections of this process wait for it. On one
/// consistent view of the rows:
///   1  every object's state has as many rows as its checkpoint says, and no entry row belongs to no checkpoint;
///   3  every chunk an entry refers to is there;
///   4  every chunk has its digest and length, every state its digest;
///   5  every digest row points to a chunk that is there and has that digest and length;
///   9  every version, state id and segment number in use is below the header's counters; parents are older.
VerifyResult verify(const Database& database, unsigned threads, const Progress& progress);

}  // namespace cairn::storage
