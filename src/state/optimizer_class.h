// Which of LibTorch's optimizers an optimizer is.
#pragma once

#include <string>

namespace torch::optim {
class Optimizer;
}

namespace cairn::state {

/// "Adam", for the exact class: a class derived from it has state of its own. Another class under its full name.
std::string optimizer_class(const torch::optim::Optimizer& optimizer);
bool is_known_optimizer(const torch::optim::Optimizer& optimizer);

}  // namespace cairn::state
