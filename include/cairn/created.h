// What a create did.
#pragma once

#include <cstdint>
#include <string>

namespace cairn {

struct Created {
  std::uint64_t version = 0;
  std::uint64_t logical_bytes = 0;  ///< Tensor bytes of all objects.
  std::uint64_t written_bytes = 0;  ///< Chunks and entry rows that were new.
  std::uint64_t chunk_count = 0;    ///< Chunks the tensors have.
  std::uint64_t new_chunk_count = 0;
  std::uint64_t pruned_count = 0;  ///< Checkpoints that StoreOptions::retention removed afterwards.
  std::string retention_error{};   ///< Why that failed; empty: it did not. The checkpoint is committed either way.
};

}  // namespace cairn
