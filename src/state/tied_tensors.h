// Entries of the targets that are one tensor under several names.
#pragma once

#include <vector>

#include "state/differences.h"
#include "state/source.h"

namespace cairn::state {

/// Keeps one copy into each tensor; entries that would write different content to the same memory go into the
/// differences. Only whole tensors are compared: same memory, sizes, strides and dtype.
std::vector<TensorCopy> without_ties(std::vector<TensorCopy> copies, const Source& source, Differences& differences);

}  // namespace cairn::state
