// Which recorded parameter of an optimizer is which live one.
#pragma once

#include <cstddef>
#include <vector>

#include "state/optimizer_parameters.h"
#include "state/optimizer_record.h"
#include "state/target_plan.h"

namespace cairn::state {

/// Places in OptimizerRecord::parameters and in LiveParameters::parameters.
struct ParameterPair {
  std::size_t recorded = 0;
  std::size_t live = 0;
};

/// Pairs by name where both sides have names, the rest by position within their group; without names on one side all
/// by position. Group counts, membership and shapes are compared; what differs goes into the differences. Pairs come in
/// the order of the live parameters.
std::vector<ParameterPair> pair_parameters(const PlanContext& context, const OptimizerRecord& record,
                                           const LiveParameters& live);

}  // namespace cairn::state
