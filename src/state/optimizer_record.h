// What a source recorded of an optimizer: the flattened entries (optimizer_capture.h), sorted back into groups,
// parameters and state. Python's own state dicts read the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "state/target_plan.h"

namespace cairn::state {

using RecordedFields = std::map<std::string, const SourceView::Item*, std::less<>>;

struct RecordedParameter {
  std::int64_t number = 0;
  std::size_t group = 0;
  std::optional<std::string> name;
  std::optional<std::string> shape;  ///< "float32 {3, 4}"
};

struct OptimizerRecord {
  std::vector<RecordedParameter> parameters;      ///< Each once, by group, in the group's order.
  std::vector<RecordedFields> groups;             ///< Options; the lists of parameters are taken out.
  std::map<std::int64_t, RecordedFields> states;  ///< By parameter number.
  std::vector<std::string> unknown;               ///< Entry names that are none of these.
};

/// Adds what is malformed to the differences, and is empty then.
std::optional<OptimizerRecord> read_optimizer_record(const PlanContext& context);

}  // namespace cairn::state
