#include "benchmarks/state.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include <ATen/Functions.h>
#include <fmt/format.h>

namespace cairn::benchmarks {

namespace {

constexpr std::uint64_t kStretchBytes = std::uint64_t{1} << 20;

/// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<at::Tensor> random_tensors(std::uint64_t bytes, std::uint64_t count, std::uint64_t seed) {
  std::vector<at::Tensor> tensors;
  const auto elements = static_cast<std::int64_t>(std::max<std::uint64_t>(bytes / count / sizeof(float), 2));
  for (std::uint64_t i = 0; i < count; ++i) {
    at::Tensor tensor = at::empty({elements / 2, 2}, at::kFloat);
    auto* words = static_cast<std::uint64_t*>(tensor.data_ptr());
    for (std::int64_t word = 0; word < elements / 2; ++word) words[word] = next_random(seed);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

void change_all(const std::vector<at::Tensor>& tensors, std::uint64_t number) {
  std::uint64_t state = number;
  const std::uint64_t mask = next_random(state);
  for (const at::Tensor& tensor : tensors) {
    auto* words = static_cast<std::uint64_t*>(tensor.data_ptr());
    for (std::size_t word = 0; word < tensor.nbytes() / sizeof mask; ++word) words[word] ^= mask;
  }
}

void change_part(const std::vector<at::Tensor>& tensors, double part, std::uint64_t number) {
  std::uint64_t state = number;
  double due = 0;
  for (const at::Tensor& tensor : tensors) {
    auto* words = static_cast<std::uint64_t*>(tensor.data_ptr());
    for (std::uint64_t at = 0; at < tensor.nbytes(); at += kStretchBytes) {
      due += part;
      if (due < 1) continue;
      due -= 1;
      words[at / sizeof(std::uint64_t)] ^= next_random(state);
    }
  }
}

StateDict state_dict_of(const std::vector<at::Tensor>& tensors) {
  StateDict state;
  for (std::size_t i = 0; i < tensors.size(); ++i) state.insert(fmt::format("layer.{:05}.weight", i), tensors[i]);
  return state;
}

std::uint64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += tensor.nbytes();
  return bytes;
}

}  // namespace cairn::benchmarks
