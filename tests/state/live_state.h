// What the tests of this layer share: copies of snapshots that share no memory, small models, words of errors.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>

#include "cairn/apply.h"
#include "cairn/error.h"

namespace cairn::testing {

/// As a checkpoint that was read: the same content in memory of its own.
Snapshot deep_copy(const Snapshot& snapshot);
/// capture, then deep_copy.
Snapshot take(const Targets& targets, Metadata metadata = {});

/// Same dtype, sizes and logical bytes, NaN included, whatever the strides.
bool same_bits(const at::Tensor& left, const at::Tensor& right);
/// Same entries in the same order, tensors bit by bit.
bool same_entries(const StateDict& left, const StateDict& right);

/// Tensor of any dtype whose bytes are random.
at::Tensor random_bytes(at::IntArrayRef sizes, at::ScalarType type);

ErrorCode code_of(const std::function<void()>& call);
std::string message_of(const std::function<void()>& call);
bool contains(std::string_view text, std::string_view part);

/// Two linear layers, named "first" and "second".
struct TwoLayersImpl : torch::nn::Module {
  explicit TwoLayersImpl(std::int64_t width = 3);
  at::Tensor forward(const at::Tensor& input);

  torch::nn::Linear first{nullptr};
  torch::nn::Linear second{nullptr};
};
TORCH_MODULE(TwoLayers);

/// Fills parameters and buffers with what follows from `seed`.
void fill(torch::nn::Module& module, std::int64_t seed);

}  // namespace cairn::testing
