// Which checkpoints a retention policy keeps. Pure: no I/O, no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cairn/retention.h"
#include "cairn/value.h"

namespace cairn::storage {

struct RetentionCandidate {
  std::uint64_t version = 0;
  std::int64_t created_at_us = 0;
  const Metadata* metadata = nullptr;
  bool is_tagged = false;
};

/// Errors: kInvalidArgument when the policy has no rule, or a number in it makes no sense.
void check_policy(const RetentionPolicy& policy);

/// For each of the candidates, which go from oldest to newest, whether it is kept. `added_bytes` is asked only for a
/// byte budget: what keeping this candidate takes beside those it was asked for before.
/// Errors: those of check_policy.
std::vector<bool> kept_by(const RetentionPolicy& policy, std::span<const RetentionCandidate> candidates,
                          std::int64_t now_us, const std::function<std::uint64_t(std::size_t candidate)>& added_bytes);

}  // namespace cairn::storage
