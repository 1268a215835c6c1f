// The marks, the choice of files to rewrite, and the choice of files to merge: pure functions.
#include "storage/chunk_set.h"

#include <random>
#include <set>

#include <fmt/format.h>

#include "format/keys.h"
#include "storage/sparse_files.h"
#include "storage/table_files.h"
#include "support/catch.h"

using namespace cairn;
using storage::Family;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

/// A file of one segment with so many chunks of a mebibyte.
storage::TableFile segment_file(std::uint64_t segment, std::uint64_t chunks, std::uint64_t bytes) {
  storage::TableFile file;
  file.name = fmt::format("/{:06}.sst", segment);
  file.level = 6;
  file.bytes = bytes;
  file.smallest = format::number_key(format::chunk_id(segment, 0));
  file.largest = format::number_key(format::chunk_id(segment, chunks - 1));
  file.rows = chunks;
  return file;
}

/// Segments 1, 2 ... of 100 chunks each, of which so many are live.
struct Segments {
  std::vector<storage::TableFile> files;
  storage::DeadChunks dead;

  explicit Segments(const std::vector<std::uint64_t>& live) {
    for (std::uint64_t segment = 1; segment <= live.size(); ++segment) {
      files.push_back(segment_file(segment, 100, 100 * kMiB));
      for (std::uint64_t i = 0; i < live[segment - 1]; ++i) dead.live.add(format::chunk_id(segment, i), kMiB);
    }
    dead.first_unmarked_segment = live.size() + 1;
  }

  /// Numbers of the segments in each run.
  std::vector<std::vector<std::uint64_t>> sparse_runs() const {
    std::vector<std::vector<std::uint64_t>> runs;
    for (const auto run : storage::sparse_runs(files, dead)) {
      runs.emplace_back();
      for (const auto& file : run) {
        runs.back().push_back(format::segment_of(*format::number_from_key(file.smallest)));
      }
    }
    return runs;
  }
};

using Runs = std::vector<std::vector<std::uint64_t>>;

std::vector<std::size_t> merged_sizes(const std::vector<std::uint64_t>& mebibytes, std::uint64_t first_uncommitted) {
  std::vector<storage::TableFile> files;
  for (std::size_t i = 0; i < mebibytes.size(); ++i) {
    files.push_back(segment_file(i + 1, mebibytes[i], mebibytes[i] * kMiB));
  }
  std::vector<std::size_t> sizes;
  for (const auto run : storage::small_neighbours(files, Family::kChunk, first_uncommitted))
    sizes.push_back(run.size());
  return sizes;
}

}  // namespace

TEST_CASE("a set of chunks answers as a set of numbers does") {
  std::mt19937_64 random(std::random_device{}());
  const std::uint64_t seed = random();
  INFO("seed " << seed);
  random.seed(seed);
  storage::ChunkSet chunks;
  std::set<std::uint64_t> ids;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t segment = 1 + random() % 5;
    const std::uint64_t index = random() % 4 == 0 ? random() % format::kMaxChunksPerSegment : random() % 1500;
    const std::uint64_t id =
        random() % 2 == 0 ? format::chunk_id(segment, index) : format::small_chunk_id(segment, index);
    CHECK(chunks.add(id, 10) == ids.insert(id).second);
  }
  CHECK(chunks.total().count == ids.size());
  CHECK(chunks.total().bytes == 10 * ids.size());
  for (int i = 0; i < 3000; ++i) {
    std::uint64_t first =
        *std::next(ids.begin(), static_cast<std::ptrdiff_t>(random() % ids.size())) + random() % 3 - 1;
    std::uint64_t last = *std::next(ids.begin(), static_cast<std::ptrdiff_t>(random() % ids.size())) + random() % 3 - 1;
    if (first > last) std::swap(first, last);
    CHECK(chunks.contains(first) == (ids.count(first) == 1));
    const auto expected = static_cast<std::uint64_t>(std::distance(ids.lower_bound(first), ids.upper_bound(last)));
    const storage::ChunkSet::Total found = chunks.in_range(first, last);
    REQUIRE(found.count == expected);
    REQUIRE(found.bytes == 10 * expected);
  }
  CHECK(chunks.in_range(5, 4).count == 0);
}

TEST_CASE("files with nothing live are dropped, those less than half live are rewritten, neighbours together") {
  const Segments segments({100, 0, 40, 30, 100, 100, 100, 45, 100, 100});
  const auto dead = storage::dead_files(segments.files, segments.dead);
  REQUIRE(dead.size() == 1);
  CHECK(dead[0].name == "/000002.sst");
  Segments left = segments;
  left.files.erase(left.files.begin() + 1);
  CHECK(left.sparse_runs() == Runs{{3, 4}, {8}});
}

TEST_CASE("what is dead stays below a fifth of what is live") {
  CHECK(Segments({100, 90, 80, 95}).sparse_runs().empty());
  // 150 dead beside 450 live: the sparsest goes, and what is left is fine.
  CHECK(Segments({60, 60, 60, 90, 90, 90}).sparse_runs() == Runs{{1, 2}});
  CHECK(Segments({100, 100, 100}).sparse_runs().empty());
}

TEST_CASE("a segment begun after the marking is neither dropped nor rewritten") {
  Segments segments({0, 0});
  segments.dead.first_unmarked_segment = 2;
  const auto dead = storage::dead_files(segments.files, segments.dead);
  REQUIRE(dead.size() == 1);
  CHECK(dead[0].name == "/000001.sst");
  CHECK_FALSE(segments.dead.is_dead(format::chunk_id(2, 0)));
  CHECK(segments.dead.is_dead(format::chunk_id(1, 0)));
}

TEST_CASE("small neighbours are merged when they are many, and large ones are not copied along") {
  CHECK(merged_sizes({2, 2, 2, 2, 2, 2, 2}, 100).empty());
  CHECK(merged_sizes({2, 2, 2, 2, 2, 2, 2, 2}, 100) == std::vector<std::size_t>{8});
  CHECK(merged_sizes({30, 2, 2, 2, 2, 2, 2, 2, 2}, 100) == std::vector<std::size_t>{8});
  CHECK(merged_sizes({2, 2, 2, 2, 200, 2, 2, 2, 2}, 100).empty());
  CHECK(merged_sizes(std::vector<std::uint64_t>(64, 2), 100) == std::vector<std::size_t>{32, 32});
  // Segments that were never committed must stay whole files: the next open drops them.
  CHECK(merged_sizes({2, 2, 2, 2, 2, 2, 2, 2}, 8).empty());
  CHECK(merged_sizes({2, 2, 2, 2, 2, 2, 2, 2, 2}, 9) == std::vector<std::size_t>{8});
}
