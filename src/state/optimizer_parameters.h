// The parameters of a live optimizer, numbered as Python numbers them.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::optim {
class Optimizer;
class OptimizerParamState;
}  // namespace torch::optim

namespace cairn::state {

struct LiveParameter {
  std::int64_t number = 0;
  std::size_t group = 0;
  at::Tensor tensor;
};

struct LiveParameters {
  std::vector<LiveParameter> parameters;          ///< Each once, by number.
  std::vector<std::vector<std::int64_t>> groups;  ///< Numbers as listed, repeats included.
};

/// A parameter has the place of its first mention over all groups; later mentions leave their number unused.
LiveParameters live_parameters(const torch::optim::Optimizer& optimizer);

/// Of one parameter; null when it has none. Valid until the optimizer's state changes.
torch::optim::OptimizerParamState* find_state(const torch::optim::Optimizer& optimizer, const at::Tensor& parameter);

/// "float32 {3, 4}": what is recorded of a parameter, and compared.
std::string describe_parameter(const at::Tensor& parameter);

}  // namespace cairn::state
