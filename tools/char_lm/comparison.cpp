// Tensors are compared as bytes in row-major order, and floating-point values as their bits.
#include "char_lm/comparison.h"

#include <bit>
#include <cstring>

#include <cairn/checkpoint.h>
#include <cairn/snapshot.h>
#include <fmt/format.h>

namespace char_lm {

namespace {

bool same_bits(const cairn::Value& left, const cairn::Value& right);

bool same_bits(const cairn::ValueMap& left, const cairn::ValueMap& right) {
  if (left.size() != right.size()) return false;
  for (auto a = left.begin(), b = right.begin(); a != left.end(); ++a, ++b) {
    if (a->first != b->first || !same_bits(a->second, b->second)) return false;
  }
  return true;
}

bool same_bits(const cairn::Value& left, const cairn::Value& right) {
  if (left.type() != right.type()) return false;
  switch (left.type()) {
    case cairn::Value::Type::kDouble:
      return std::bit_cast<std::uint64_t>(left.as_double()) == std::bit_cast<std::uint64_t>(right.as_double());
    case cairn::Value::Type::kList: {
      const cairn::ValueList& a = left.as_list();
      const cairn::ValueList& b = right.as_list();
      if (a.size() != b.size()) return false;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (!same_bits(a[i], b[i])) return false;
      }
      return true;
    }
    case cairn::Value::Type::kMap:
      return same_bits(left.as_map(), right.as_map());
    default:
      return left == right;
  }
}

bool same_bits(const at::Tensor& left, const at::Tensor& right) {
  if (left.scalar_type() != right.scalar_type() || left.sizes() != right.sizes()) return false;
  const at::Tensor a = left.contiguous();
  const at::Tensor b = right.contiguous();
  return a.numel() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

void compare_entries(const std::string& place, const cairn::StateDict& left, const cairn::StateDict& right,
                     Comparison& result) {
  if (left.size() != right.size()) {
    result.differences.push_back(fmt::format("{}: {} entries against {}", place, left.size(), right.size()));
    return;
  }
  for (auto a = left.begin(), b = right.begin(); a != left.end(); ++a, ++b) {
    bool is_same =
        a->name == b->name && a->payload.index() == b->payload.index() && a->requires_grad == b->requires_grad;
    if (is_same && a->is_tensor()) {
      is_same = same_bits(a->tensor(), b->tensor());
      ++result.tensor_count;
      result.bytes += a->tensor().nbytes();
    } else if (is_same) {
      is_same = same_bits(a->value(), b->value());
      ++result.value_count;
    }
    if (!is_same) result.differences.push_back(fmt::format("{}/{}", place, a->name));
  }
}

void compare_checkpoints(const cairn::Checkpoint& left, const cairn::Checkpoint& right, Comparison& result) {
  const std::string place = fmt::format("checkpoint {}", left.version());
  const cairn::Snapshot a = left.read();
  const cairn::Snapshot b = right.read();
  ++result.checkpoint_count;
  result.value_count += a.metadata().size();
  if (!same_bits(a.metadata(), b.metadata())) {
    result.differences.push_back(fmt::format("{}, metadata: {} against {}", place,
                                             to_string(cairn::Value(a.metadata())),
                                             to_string(cairn::Value(b.metadata()))));
  }
  if (a.objects().size() != b.objects().size()) {
    result.differences.push_back(
        fmt::format("{}: {} objects against {}", place, a.objects().size(), b.objects().size()));
    return;
  }
  for (std::size_t i = 0; i < a.objects().size(); ++i) {
    const cairn::Snapshot::Object& one = a.objects()[i];
    const cairn::Snapshot::Object& other = b.objects()[i];
    if (one.name != other.name || one.kind != other.kind || one.type_name != other.type_name) {
      result.differences.push_back(fmt::format("{}: object '{}' against '{}'", place, one.name, other.name));
      continue;
    }
    compare_entries(fmt::format("{}, {}", place, one.name), one.state_dict, other.state_dict, result);
  }
}

}  // namespace

Comparison compare(const cairn::Store& left, const cairn::Store& right) {
  const std::vector<cairn::CheckpointInfo> a = left.list();
  const std::vector<cairn::CheckpointInfo> b = right.list();
  Comparison result;
  if (a.size() != b.size()) {
    result.differences.push_back(fmt::format("{} checkpoints against {}", a.size(), b.size()));
    return result;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    compare_checkpoints(left.checkpoint(a[i].version).value(), right.checkpoint(b[i].version).value(), result);
  }
  return result;
}

}  // namespace char_lm
