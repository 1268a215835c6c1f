// An optimizer as a state dict: Python's optimizer.state_dict(), flattened.
//
//   state.<n>.exp_avg             tensor; state of parameter n, absent where the optimizer has none
//   state.<n>.step                int
//   param_groups.<g>.lr           options; a tuple is a list, a missing option null
//   param_groups.<g>.params       list of the group's parameter numbers, counted over all groups
//   param_groups.<g>.param_names  list, one a parameter, null for one that no module of the call holds; absent when all
//                                 would be null
//   param_groups.<g>.param_shapes list of "float32 {3, 4}", one a parameter; not Python's, which ignores it
//
// LBFGS: state.<first>.old_dirs.<k>, old_stps.<k>, ro.<k>, al.<k>, and al_size, the number of slots in al.
#pragma once

#include "cairn/state_dict.h"
#include "state/parameter_names.h"

namespace torch::optim {
class Optimizer;
}

namespace cairn::state {

/// Tensors are aliases. Requires: is_known_optimizer(optimizer).
StateDict capture_optimizer(const torch::optim::Optimizer& optimizer, const ParameterNames& names);

}  // namespace cairn::state
