// Applying: check everything, then change (invariant 6).
#pragma once

#include "cairn/options.h"
#include "cairn/target.h"
#include "state/source.h"

namespace cairn::state {

/// The steps, in this order:
///   1. pair targets with objects of the source (rename, only, except)
///   2. plan every target: tensors to copy, what to read ahead, values to set; collect all differences
///   3. raise kMismatch with the whole list, if there is any
///   4. read ahead what cannot be copied in place (generators, samplers, user types), and check it
///   5. check the bytes of all tensors, if asked for before copying
///   6. hand user types their state dicts
///   7. copy tensors
///   8. set values: optimizer options and state, generators, samplers
ApplyReport apply(Source& source, const Targets& targets, const ApplyOptions& options);

}  // namespace cairn::state
