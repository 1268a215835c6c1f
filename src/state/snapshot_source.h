// A snapshot in memory as the source of an apply.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "cairn/snapshot.h"
#include "state/source.h"

namespace cairn::state {

class SnapshotSource final : public Source {
 public:
  /// Keeps a reference to the snapshot. Objects that are not wanted are listed without entries.
  /// Errors: as TensorBytes::of for a tensor that cannot be stored.
  SnapshotSource(const Snapshot& snapshot, const std::function<bool(std::string_view object)>& is_wanted);

  const std::vector<SourceObject>& objects() const override { return objects_; }
  bool is_same_content(EntryRef left, EntryRef right) const override;
  void copy(const std::vector<TensorCopy>& copies, const ApplyOptions& options, const Progress& progress) override;
  void check(const std::vector<TensorCopy>&, const ApplyOptions&) override {}

 private:
  const at::Tensor& tensor(EntryRef entry) const;

  std::vector<SourceObject> objects_;
  std::vector<std::vector<const StateDict::Entry*>> entries_;  // as objects_
};

}  // namespace cairn::state
