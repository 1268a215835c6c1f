// A store in a directory of its own, removed at the end; whoever leaves it damaged must say so.
//
// Also state that certifies itself: a tensor filled from (step, name), so that any committed checkpoint can be judged
// without an oracle.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cairn/cairn.h"

namespace cairn::testing {

class ScratchStore {
 public:
  ScratchStore();
  /// Opens the store once more and checks that verify finds nothing, unless it was expected to be damaged.
  ~ScratchStore();
  ScratchStore(const ScratchStore&) = delete;
  ScratchStore& operator=(const ScratchStore&) = delete;

  std::filesystem::path path() const { return root_ / "run.cairn"; }
  const std::filesystem::path& root() const { return root_; }
  Store open(StoreOptions options = {}) const { return Store::open(path(), std::move(options)); }
  void expect_damage() { is_damaged_ = true; }

 private:
  std::filesystem::path root_;
  bool is_damaged_ = false;
};

/// Bytes of all files below a directory.
std::uint64_t bytes_below(const std::filesystem::path& directory);

/// float32 tensor whose every element follows from step, name and position.
at::Tensor certified(std::int64_t step, std::string_view name, std::vector<std::int64_t> sizes);

/// Same dtype, sizes and bytes (NaN included), whatever the strides.
bool same_bits(const at::Tensor& left, const at::Tensor& right);

/// Flips one bit in the middle of the first run of `needle` found in a file of the store; false when no file holds it.
bool damage(const std::filesystem::path& store, std::string_view needle);

}  // namespace cairn::testing
