// What the catalog knows of a checkpoint without reading any tensor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/value.h"

namespace cairn {

/// What an object was when it was captured. The numbers are part of the format on disk.
enum class ObjectKind : std::uint8_t {
  kStateDict = 0,
  kModule = 1,
  kOptimizer = 2,
  kGenerator = 3,
  kTensor = 4,
  kSampler = 5,
  kUser = 6,
};

std::string_view to_string(ObjectKind kind) noexcept;

struct ObjectInfo {
  std::string name;
  ObjectKind kind = ObjectKind::kStateDict;
  std::string type_name;  ///< Class for optimizers, samplers and user types ("Adam"); may be empty.
  std::uint64_t entry_count = 0;
  std::uint64_t bytes = 0;  ///< Tensor bytes, as if nothing were shared.
};

struct CheckpointInfo {
  std::uint64_t version = 0;       ///< 1, 2, 3 ...; never reused.
  std::uint64_t parent = 0;        ///< Version this state was derived from; 0: none.
  std::int64_t created_at_us = 0;  ///< Microseconds since 1970 UTC.
  Metadata metadata;
  std::vector<ObjectInfo> objects;  ///< In the order given at creation.
  std::uint64_t logical_bytes = 0;  ///< Tensor bytes of all objects.
  std::uint64_t written_bytes = 0;  ///< What this checkpoint added to the store: new chunks and entry rows.
};

/// One entry of an object: what its row says, without reading tensor bytes.
struct EntryInfo {
  std::string name;
  bool is_tensor = false;
  std::string dtype;                ///< Of a tensor, as in PyTorch: "float32".
  std::vector<std::int64_t> sizes;  ///< Of a tensor.
  std::uint64_t bytes = 0;          ///< Of a tensor: elements times element size.
  bool requires_grad = false;       ///< Of a tensor.
  Value value;                      ///< Of a plain value.
  /// Of the content, 32 hexadecimal digits: equal in two entries whose dtype, sizes, strides and bytes, or type and
  /// value, are equal.
  std::string digest;
};

}  // namespace cairn
