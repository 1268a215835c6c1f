// State of a sampler of torch::data: what it writes into an archive, under the archive's keys.
//
// A sequential sampler writes its position alone; how many examples there are is the dataset's business, and is not
// compared. A random one writes its permutation as well, whose length is.
#pragma once

#include <memory>
#include <string_view>

#include "cairn/state_dict.h"
#include "state/target_object.h"

namespace cairn::state {

/// Errors: kUnsupported when the sampler writes something else than tensors, numbers, bools and strings.
StateDict sampler_state(const detail::SamplerObject& sampler, std::string_view owner);

/// Archive from which a sampler loads the state.
std::shared_ptr<torch::serialize::InputArchive> sampler_archive(const StateDict& state_dict);

}  // namespace cairn::state
