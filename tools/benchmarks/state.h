// The state that is saved: random bytes in float32 tensors, so that nothing compresses and no two chunks are equal.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cairn/state_dict.h"

namespace cairn::benchmarks {

/// `count` tensors of about `bytes` in all, every page touched.
std::vector<at::Tensor> random_tensors(std::uint64_t bytes, std::uint64_t count, std::uint64_t seed);

/// Changes every element of every tensor; once more with another number gives other bytes again.
void change_all(const std::vector<at::Tensor>& tensors, std::uint64_t number);
/// Changes one element in a part of all stretches of 1 MiB, evenly spread.
void change_part(const std::vector<at::Tensor>& tensors, double part, std::uint64_t number);

/// Aliases of the tensors under names.
StateDict state_dict_of(const std::vector<at::Tensor>& tensors);
std::uint64_t bytes_of(const std::vector<at::Tensor>& tensors);

}  // namespace cairn::benchmarks
