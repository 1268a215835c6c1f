// Targets: what a live object is called and how it is held.
#include "cairn/target.h"

#include <set>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Generator.h>
#include <c10/util/Type.h>

#include "format/fail.h"
#include "format/rows.h"
#include "state/optimizer_class.h"
#include "state/target_object.h"

namespace cairn {

namespace {

using detail::TargetObject;

template <typename Object>
std::shared_ptr<const TargetObject> make_object(ObjectKind kind, std::string type_name, Object object) {
  auto made = std::make_shared<TargetObject>();
  made->kind = kind;
  made->type_name = std::move(type_name);
  made->object = std::move(object);
  return made;
}

std::shared_ptr<const TargetObject> make_generator(const at::Generator& generator) {
  if (!generator.defined()) fail(ErrorCode::kInvalidArgument, "the generator is undefined");
  return make_object(ObjectKind::kGenerator, c10::DeviceTypeName(generator.device().type(), /*lower_case=*/true),
                     generator);
}

std::shared_ptr<const TargetObject> make_module(std::shared_ptr<torch::nn::Module> module) {
  if (module == nullptr) fail(ErrorCode::kInvalidArgument, "the module is null");
  torch::nn::Module* reference = module.get();
  return make_object(ObjectKind::kModule, {}, detail::ModuleObject{reference, std::move(module)});
}

std::string sampler_class(const std::type_info& type) {
  constexpr std::string_view kNamespace = "torch::data::samplers::";
  std::string name = c10::demangle(type.name());
  return name.rfind(kNamespace, 0) == 0 ? name.substr(kNamespace.size()) : name;
}

std::string_view default_name(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kModule:
      return "model";
    case ObjectKind::kOptimizer:
      return "optimizer";
    case ObjectKind::kGenerator:
      return "rng";
    case ObjectKind::kTensor:
      return "tensor";
    case ObjectKind::kStateDict:
      return "state";
    case ObjectKind::kSampler:
      return "sampler";
    case ObjectKind::kUser:
      return "object";
  }
  return "object";
}

std::string free_name(ObjectKind kind, const std::set<std::string, std::less<>>& taken) {
  std::string name(default_name(kind));
  for (int count = 2; taken.contains(name); ++count) name = fmt::format("{}_{}", default_name(kind), count);
  return name;
}

}  // namespace

Target Target::from_functions(std::string type_name, ToStateDict to, FromStateDict from) {
  if (!to || !from) fail(ErrorCode::kInvalidArgument, "Target::from_functions needs two functions");
  return Target(
      make_object(ObjectKind::kUser, std::move(type_name), detail::UserObject{std::move(to), std::move(from)}));
}

Target Target::make_user(const std::type_info& type, ToStateDict to, FromStateDict from) {
  return from_functions(c10::demangle(type.name()), std::move(to), std::move(from));
}

Target Target::make_sampler(const std::type_info& type, std::function<void(torch::serialize::OutputArchive&)> save,
                            std::function<void(torch::serialize::InputArchive&)> load) {
  return Target(
      make_object(ObjectKind::kSampler, sampler_class(type), detail::SamplerObject{std::move(save), std::move(load)}));
}

Target::Target(torch::nn::Module& module)
    : object_(make_object(ObjectKind::kModule, {}, detail::ModuleObject{&module, nullptr})) {}

Target::Target(std::shared_ptr<torch::nn::Module> module) : object_(make_module(std::move(module))) {}

Target::Target(torch::optim::Optimizer& optimizer)
    : object_(make_object(ObjectKind::kOptimizer, state::optimizer_class(optimizer),
                          detail::OptimizerObject{&optimizer})) {}

Target::Target(at::Tensor tensor) : object_(make_object(ObjectKind::kTensor, {}, std::move(tensor))) {}

Target::Target(const at::Generator& generator) : object_(make_generator(generator)) {}

Target::Target(StateDict& state_dict)
    : object_(make_object(ObjectKind::kStateDict, {}, detail::StateDictObject{&state_dict, nullptr})) {}

Target::Target(StateDict&& state_dict) {
  auto owned = std::make_shared<StateDict>(std::move(state_dict));
  StateDict* reference = owned.get();
  object_ = make_object(ObjectKind::kStateDict, {}, detail::StateDictObject{reference, std::move(owned)});
}

ObjectKind Target::kind() const noexcept { return object_->kind; }

Targets::Targets(std::initializer_list<NamedTarget> targets) : Targets(std::vector<NamedTarget>(targets)) {}

Targets::Targets(std::vector<NamedTarget> targets) : targets_(std::move(targets)) {
  std::set<std::string, std::less<>> taken;
  for (const NamedTarget& target : targets_) {
    if (!target.is_named()) continue;
    format::check_object_name(target.name());
    if (!taken.insert(target.name()).second) {
      fail(ErrorCode::kInvalidArgument, "object name '{}' is given twice", printable(target.name()));
    }
  }
  for (NamedTarget& target : targets_) {
    if (target.is_named()) continue;
    target = NamedTarget(free_name(target.target().kind(), taken), target.target());
    taken.insert(target.name());
  }
}

Target cpu_rng() { return Target(at::detail::getDefaultCPUGenerator()); }

}  // namespace cairn
