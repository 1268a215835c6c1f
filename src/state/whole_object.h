// Targets that are applied as a whole or not at all: optimizers, generators, samplers, user types.
#pragma once

#include <string_view>

#include "state/target_plan.h"

namespace cairn::state {

/// Whether kind and class recorded are those of the target; what differs goes into the differences. A plain state dict
/// recorded no class and is judged by its entries.
bool is_same_class(const PlanContext& context);

/// The one tensor entry of such an object, others being unexpected; null when it is not there, which is a difference.
const SourceView::Item* only_item(const PlanContext& context, std::string_view name);

}  // namespace cairn::state
