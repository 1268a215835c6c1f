// A set of chunk ids, as blocks of 512 bits: two bits of memory a chunk where ids are dense, as they are in segments,
// and some hundred bytes a chunk at worst, whatever the ids.
//
// Pure: no I/O. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>

namespace cairn::storage {

class ChunkSet {
 public:
  struct Total {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };

  /// Adds a chunk of so many bytes; returns whether it was not there before.
  bool add(std::uint64_t id, std::uint32_t bytes);
  bool contains(std::uint64_t id) const;
  const Total& total() const noexcept { return total_; }
  /// Chunks with ids from first to last, both included. Their number is exact; where a block lies in the range only in
  /// part, its bytes are taken in proportion.
  Total in_range(std::uint64_t first, std::uint64_t last) const;

 private:
  struct Block {
    std::array<std::uint64_t, 8> bits{};
    Total total;

    /// Bits of the places from first to last, both included.
    std::uint64_t count(std::uint64_t first, std::uint64_t last) const;
  };

  std::map<std::uint64_t, Block> blocks_;  // by id / 512
  Total total_;
};

}  // namespace cairn::storage
