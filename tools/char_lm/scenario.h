// The whole show: a run that is killed and resumed, a run that is not, and what the two have in
// common.
#pragma once

#include <cstdint>
#include <filesystem>

namespace char_lm {

struct ScenarioOptions {
  std::filesystem::path folder;  ///< For the two stores; empty: a temporary one.
  std::filesystem::path text;
  std::int64_t steps = 200;
  bool keeps_stores = false;  ///< Of a temporary folder; a named one is always kept.
};

/// Fewest steps that leave room for checkpoints before and after the kill.
inline constexpr std::int64_t kLeastSteps = 4;

/// Tells on standard output what happens. Returns whether everything went as it should, the
/// comparison included.
bool play(const ScenarioOptions& options);

}  // namespace char_lm
