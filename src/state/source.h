// Where an apply takes state from: a checkpoint in a store, or a snapshot in memory.
//
// The one interface of the project; it keeps RocksDB and FlatBuffers out of this layer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cairn/checkpoint_info.h"
#include "cairn/options.h"
#include "cairn/value.h"
#include "format/layout.h"

namespace cairn::state {

/// Tensor (layout set) or plain value (value set, owned by the source).
struct SourceEntry {
  std::string name;
  std::optional<format::TensorLayout> layout;
  const Value* value = nullptr;
};

struct SourceObject {
  std::string name;
  ObjectKind kind = ObjectKind::kStateDict;
  std::string type_name;
  std::vector<SourceEntry> entries;  ///< In the order of the state dict.
};

struct EntryRef {
  std::size_t object = 0;
  std::size_t entry = 0;
};

/// Copy of one tensor entry into a tensor of the same sizes; dtypes differ only where a cast was allowed.
struct TensorCopy {
  EntryRef from;
  at::Tensor to;
};

class Source {
 public:
  virtual ~Source() = default;

  /// Every object, with its entries; constant.
  virtual const std::vector<SourceObject>& objects() const = 0;
  /// Whether two tensor entries hold the same bytes in the same layout; false when that cannot be told cheaply and they
  /// may differ.
  virtual bool is_same_content(EntryRef left, EntryRef right) const = 0;
  /// Carries out all copies under no-grad, from several threads where it helps.
  virtual void copy(const std::vector<TensorCopy>& copies, const ApplyOptions& options, const Progress& progress) = 0;
  /// Checks the bytes that copy would read, without changing anything. Errors: kCorruption.
  virtual void check(const std::vector<TensorCopy>& copies, const ApplyOptions& options) = 0;
};

}  // namespace cairn::state
