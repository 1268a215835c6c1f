// Which checkpoint is meant: `N`, `latest`, `latest~K` (K checkpoints before the latest that are
// still there).
#pragma once

#include <string>

#include "cairn/store.h"

namespace cairn::tools {

/// What is wrong with the text of a version; empty when nothing is. In the form of a CLI11 check.
std::string check_version(const std::string& text);

/// Errors: CommandError when the store has no such checkpoint, naming those it has.
Checkpoint resolve_version(const Store& store, const std::string& text);

}  // namespace cairn::tools
