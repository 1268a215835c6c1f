#include "state/live_state.h"

#include <cstring>
#include <stdexcept>
#include <utility>

#include <torch/torch.h>

namespace cairn::testing {

namespace {

/// Row-major bytes, without the code that is tested. Copies as integers: a bool is any byte here, and not every dtype
/// has a copy of its own.
std::vector<std::byte> bytes_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().resolve_conj().resolve_neg();
  std::vector<std::byte> out(plain.nbytes());
  if (out.empty()) return out;
  const at::ScalarType integer = plain.element_size() == 1   ? at::kByte
                                 : plain.element_size() == 2 ? at::kShort
                                 : plain.element_size() == 4 ? at::kInt
                                 : plain.element_size() == 8 ? at::kLong
                                                             : plain.scalar_type();
  const at::Tensor order = plain.view(integer).contiguous();
  std::memcpy(out.data(), order.data_ptr(), out.size());
  return out;
}

}  // namespace

Snapshot deep_copy(const Snapshot& snapshot) {
  Snapshot copy;
  for (const Snapshot::Object& object : snapshot.objects()) {
    Snapshot::Object made{object.name, object.kind, object.type_name, {}};
    for (const StateDict::Entry& entry : object.state_dict) {
      StateDict::Entry cloned = entry;
      if (entry.is_tensor()) cloned.payload = entry.tensor().clone();
      made.state_dict.insert(std::move(cloned));
    }
    copy.insert(std::move(made));
  }
  copy.metadata() = snapshot.metadata();
  return copy;
}

Snapshot take(const Targets& targets, Metadata metadata) { return deep_copy(capture(targets, std::move(metadata))); }

bool same_bits(const at::Tensor& left, const at::Tensor& right) {
  return left.scalar_type() == right.scalar_type() && left.sizes() == right.sizes() &&
         bytes_of(left) == bytes_of(right);
}

bool same_entries(const StateDict& left, const StateDict& right) {
  if (left.size() != right.size()) return false;
  auto other = right.begin();
  for (const StateDict::Entry& entry : left) {
    if (entry.name != other->name || entry.is_tensor() != other->is_tensor()) return false;
    if (entry.is_tensor() ? !same_bits(entry.tensor(), other->tensor()) : entry.value() != other->value()) return false;
    ++other;
  }
  return true;
}

at::Tensor random_bytes(at::IntArrayRef sizes, at::ScalarType type) {
  at::Tensor tensor = at::empty(sizes, at::TensorOptions().dtype(type));
  const auto nbytes = static_cast<std::int64_t>(tensor.nbytes());
  const at::Tensor bytes = at::randint(256, {nbytes}, at::kByte);
  if (nbytes != 0) std::memcpy(tensor.data_ptr(), bytes.data_ptr(), static_cast<std::size_t>(nbytes));
  return tensor;
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  throw std::logic_error("the call did not fail");
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  throw std::logic_error("the call did not fail");
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

TwoLayersImpl::TwoLayersImpl(std::int64_t width) {
  first = register_module("first", torch::nn::Linear(width, 4));
  second = register_module("second", torch::nn::Linear(4, 2));
}

at::Tensor TwoLayersImpl::forward(const at::Tensor& input) { return second(torch::tanh(first(input))); }

void fill(torch::nn::Module& module, std::int64_t seed) {
  const torch::NoGradGuard no_grad;
  const auto fill_one = [&seed](at::Tensor& tensor) {
    tensor.copy_(torch::arange(tensor.numel(), torch::kDouble).view(tensor.sizes()) / 7 + static_cast<double>(seed++));
  };
  for (at::Tensor& parameter : module.parameters()) fill_one(parameter);
  for (at::Tensor& buffer : module.buffers()) fill_one(buffer);
}

}  // namespace cairn::testing
