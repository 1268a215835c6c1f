// What a Target refers to. One struct of alternatives instead of a class per kind: capture and apply visit it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include "cairn/target.h"

namespace cairn::detail {

struct ModuleObject {
  torch::nn::Module* module = nullptr;
  std::shared_ptr<torch::nn::Module> keep_alive;  // null when the target was a reference
};

struct OptimizerObject {
  torch::optim::Optimizer* optimizer = nullptr;
};

struct StateDictObject {
  StateDict* state_dict = nullptr;
  std::shared_ptr<StateDict> owned;  // set when the target was a temporary
};

struct SamplerObject {
  std::function<void(torch::serialize::OutputArchive&)> save;
  std::function<void(torch::serialize::InputArchive&)> load;
};

struct UserObject {
  Target::ToStateDict to;
  Target::FromStateDict from;
};

struct TargetObject {
  ObjectKind kind = ObjectKind::kStateDict;
  std::string type_name;  // optimizer class, sampler class, user type; else empty
  std::variant<ModuleObject, OptimizerObject, StateDictObject, SamplerObject, UserObject, at::Tensor, at::Generator>
      object;
};

}  // namespace cairn::detail
