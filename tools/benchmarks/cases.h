// The rows of the report, by what they are about. Each function runs its cases in a folder of its own and adds their
// rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/harness.h"

namespace cairn::benchmarks {

struct Settings {
  std::filesystem::path folder;  ///< Exists; on the disk that is measured.
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint64_t tensors = 256;
  std::uint64_t checkpoints = 10'000;
  std::uint64_t archive = 100'000;  ///< Checkpoints of the larger store.
  unsigned repeats = 5;
  unsigned threads = 2;
};

std::vector<Row> save_rows(const Settings& settings);
std::vector<Row> resave_rows(const Settings& settings);
std::vector<Row> apply_rows(const Settings& settings);
std::vector<Row> background_rows(const Settings& settings);
std::vector<Row> small_rows(const Settings& settings);
std::vector<Row> long_run_rows(const Settings& settings);
std::vector<Row> archive_rows(const Settings& settings);
std::vector<Row> memory_rows(const Settings& settings);

/// Bytes of all files below a folder.
std::uint64_t bytes_below(const std::filesystem::path& folder);
/// Deletes what is there, and waits until the disk has nothing left to write: nothing of it runs into the next timing.
void clear(const std::filesystem::path& path);

}  // namespace cairn::benchmarks
