// Bits are counted word by word; the words at both ends are masked.
#include "storage/chunk_set.h"

#include <bit>

namespace cairn::storage {

namespace {

constexpr std::uint64_t kWordBits = 64;
constexpr std::uint64_t kBlockBits = 512;

}  // namespace

bool ChunkSet::add(std::uint64_t id, std::uint32_t bytes) {
  Block& block = blocks_[id / kBlockBits];
  std::uint64_t& word = block.bits[id % kBlockBits / kWordBits];
  const std::uint64_t bit = std::uint64_t{1} << id % kWordBits;
  if ((word & bit) != 0) return false;
  word |= bit;
  for (Total* total : {&block.total, &total_}) {
    ++total->count;
    total->bytes += bytes;
  }
  return true;
}

bool ChunkSet::contains(std::uint64_t id) const {
  const auto block = blocks_.find(id / kBlockBits);
  if (block == blocks_.end()) return false;
  return (block->second.bits[id % kBlockBits / kWordBits] >> id % kWordBits & 1) != 0;
}

std::uint64_t ChunkSet::Block::count(std::uint64_t first, std::uint64_t last) const {
  std::uint64_t found = 0;
  for (std::uint64_t word = first / kWordBits; word <= last / kWordBits; ++word) {
    std::uint64_t part = bits[word];
    if (word == first / kWordBits) part &= ~std::uint64_t{0} << first % kWordBits;
    if (word == last / kWordBits) part &= ~std::uint64_t{0} >> (kWordBits - 1 - last % kWordBits);
    found += static_cast<std::uint64_t>(std::popcount(part));
  }
  return found;
}

ChunkSet::Total ChunkSet::in_range(std::uint64_t first, std::uint64_t last) const {
  Total found;
  if (first > last) return found;
  const std::uint64_t last_block = last / kBlockBits;
  for (auto block = blocks_.lower_bound(first / kBlockBits); block != blocks_.end() && block->first <= last_block;
       ++block) {
    const std::uint64_t begin = block->first == first / kBlockBits ? first % kBlockBits : 0;
    const std::uint64_t end = block->first == last_block ? last % kBlockBits : kBlockBits - 1;
    const Total& whole = block->second.total;
    const std::uint64_t count = block->second.count(begin, end);
    found.count += count;
    found.bytes += whole.bytes * count / whole.count;
  }
  return found;
}

}  // namespace cairn::storage
