// One process's share of a training run: it resumes from the store when there is something to
// resume from, trains, and commits a checkpoint every few steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace char_lm {

struct TrainingOptions {
  std::filesystem::path store;
  std::filesystem::path text;                ///< File or folder to learn from.
  std::int64_t steps = 200;                  ///< Of the whole run, from the first process on.
  std::int64_t checkpoint_every = 8;         ///< Steps; the last step always makes one.
  std::optional<std::int64_t> kill_at_step;  ///< End this process by SIGKILL while it commits after this step.
};

/// Errors: std::runtime_error when the store belongs to a run with other options; cairn::Error.
void train(const TrainingOptions& options);

}  // namespace char_lm
