// Numbers of an optimizer's record: plain values, or tensors of one element, as Python writes them. The latter are read
// before anything is changed, and put in place once they are known.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "state/target_plan.h"

namespace cairn::state {

class LateNumbers {
 public:
  explicit LateNumbers(const PlanContext& context) : side_(context.side()) {}

  /// Sets `field` now, or in settle(); it must stay where it is until then. A count that is not known yet is 1. What is
  /// no such number goes into the differences; false then.
  bool read_count(const PlanContext& context, const SourceView::Item& item, std::int64_t& field);
  bool read_integer(const PlanContext& context, const SourceView::Item& item, std::int64_t& field);
  bool read_real(const PlanContext& context, const SourceView::Item& item, double& field);

  /// Tensors to be read before settle().
  const std::vector<TensorCopy>& copies() const noexcept { return copies_; }
  void settle(Differences& differences) const;

 private:
  using Assign = std::function<bool(const at::Tensor& number)>;  // false when it does not fit

  bool read(const PlanContext& context, const SourceView::Item& item, std::string_view wanted,
            const std::function<bool(const Value&)>& assign_value, Assign assign_tensor);

  struct Late {
    std::string path;
    std::string wanted;
    at::Tensor number;
    Assign assign;
  };

  std::string side_;
  std::vector<Late> late_;
  std::vector<TensorCopy> copies_;
};

}  // namespace cairn::state
