// Answers to SQL over the history of a run. The tables and functions are told at Store::query.
#pragma once

#include <string>
#include <vector>

#include "cairn/value.h"

namespace cairn {

struct QueryResult {
  std::vector<std::string> columns{};  ///< As SQLite names them: what stands behind AS, or the expression.
  /// Values in the order of the columns: null, int, double or string.
  std::vector<ValueList> rows{};
};

}  // namespace cairn
