// What can be captured and applied to, behind one small type-erased reference.
//
// A Target refers to a live object and never owns it, except for handles (Tensor, Generator) and temporaries of
// StateDict. Objects are recognised by type, in this order:
//   1. user types with `StateDict to_state_dict(const T&)` and `void from_state_dict(T&, const StateDict&)`
//      found by argument-dependent lookup;
//   2. torch::nn::Module, a ModuleHolder, a std::shared_ptr to a module;
//   3. torch::optim::Optimizer: SGD, Adam, AdamW, Adagrad, RMSprop, LBFGS (another class needs door 1, and is
//      refused by name otherwise);
//   4. samplers of torch::data;
//   5. StateDict, Tensor, Generator.
// This header forward-declares LibTorch's classes; a user's own include makes them complete.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cairn/checkpoint_info.h"
#include "cairn/state_dict.h"

namespace torch {
namespace nn {
class Module;
}
namespace optim {
class Optimizer;
}
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize
}  // namespace torch

namespace cairn {

namespace detail {

template <typename T, typename = void>
struct HasStateDictDoor : std::false_type {};
template <typename T>
struct HasStateDictDoor<T, std::void_t<decltype(static_cast<StateDict>(to_state_dict(std::declval<const T&>()))),
                                       decltype(from_state_dict(std::declval<T&>(), std::declval<const StateDict&>()))>>
    : std::true_type {};

/// A ModuleHolder: has ptr(), a shared_ptr to a module.
template <typename T, typename = void>
struct IsModuleHolder : std::false_type {};
template <typename T>
struct IsModuleHolder<T, std::void_t<decltype(std::declval<const T&>().ptr())>>
    : std::is_convertible<decltype(std::declval<const T&>().ptr()), std::shared_ptr<torch::nn::Module>> {};

template <typename T, typename = void>
struct IsSampler : std::false_type {};
template <typename T>
struct IsSampler<T,
                 std::void_t<typename T::BatchRequestType,
                             decltype(std::declval<const T&>().save(std::declval<torch::serialize::OutputArchive&>())),
                             decltype(std::declval<T&>().load(std::declval<torch::serialize::InputArchive&>()))>>
    : std::true_type {};

template <typename T>
inline constexpr bool is_module_v = std::is_base_of_v<torch::nn::Module, T>;
template <typename T>
inline constexpr bool is_optimizer_v = std::is_base_of_v<torch::optim::Optimizer, T>;

struct TargetObject;  // src/state/target_object.h

}  // namespace detail

class Target {
 public:
  using ToStateDict = std::function<StateDict()>;
  using FromStateDict = std::function<void(const StateDict&)>;

  /// A user type, an optimizer class of one's own ..., through two functions. `type_name` is recorded and
  /// compared at apply. `from` is called after everything else of the same apply has been checked; what it
  /// throws passes through.
  static Target from_functions(std::string type_name, ToStateDict to, FromStateDict from);

  Target(torch::nn::Module& module);                  // NOLINT(google-explicit-constructor)
  Target(std::shared_ptr<torch::nn::Module> module);  // NOLINT(google-explicit-constructor)
  Target(torch::optim::Optimizer& optimizer);         // NOLINT(google-explicit-constructor)
  Target(at::Tensor tensor);                          // NOLINT(google-explicit-constructor)
  Target(const at::Generator& generator);             // NOLINT(google-explicit-constructor)
  Target(StateDict& state_dict);                      // NOLINT(google-explicit-constructor)
  /// Apply copies into its tensors; plain values in it cannot be reached afterwards.
  Target(StateDict&& state_dict);  // NOLINT(google-explicit-constructor)

  /// Everything else of the list above.
  template <typename T, std::enable_if_t<detail::HasStateDictDoor<T>::value, int> = 0>
  Target(T& object)  // NOLINT(google-explicit-constructor)
      : Target(make_user(
            typeid(object), [&object] { return to_state_dict(std::as_const(object)); },
            [&object](const StateDict& state_dict) { from_state_dict(object, state_dict); })) {}

  template <typename T, std::enable_if_t<!detail::HasStateDictDoor<T>::value && detail::is_module_v<T> &&
                                             !std::is_same_v<T, torch::nn::Module>,
                                         int> = 0>
  Target(T& module)  // NOLINT(google-explicit-constructor)
      : Target(static_cast<torch::nn::Module&>(module)) {}

  template <typename T, std::enable_if_t<!detail::HasStateDictDoor<std::remove_const_t<T>>::value &&
                                             detail::IsModuleHolder<std::remove_const_t<T>>::value,
                                         int> = 0>
  Target(T& holder)  // NOLINT(google-explicit-constructor)
      : Target(std::shared_ptr<torch::nn::Module>(holder.ptr())) {}

  template <typename T, std::enable_if_t<!detail::HasStateDictDoor<T>::value && detail::is_module_v<T> &&
                                             !std::is_same_v<T, torch::nn::Module>,
                                         int> = 0>
  Target(std::shared_ptr<T> module)  // NOLINT(google-explicit-constructor)
      : Target(std::shared_ptr<torch::nn::Module>(std::move(module))) {}

  template <typename T, std::enable_if_t<!detail::HasStateDictDoor<T>::value && detail::is_optimizer_v<T> &&
                                             !std::is_same_v<T, torch::optim::Optimizer>,
                                         int> = 0>
  Target(T& optimizer)  // NOLINT(google-explicit-constructor)
      : Target(static_cast<torch::optim::Optimizer&>(optimizer)) {}

  template <typename T, std::enable_if_t<!detail::HasStateDictDoor<T>::value && detail::IsSampler<T>::value, int> = 0>
  Target(T& sampler)  // NOLINT(google-explicit-constructor)
      : Target(make_sampler(
            typeid(sampler), [&sampler](torch::serialize::OutputArchive& archive) { sampler.save(archive); },
            [&sampler](torch::serialize::InputArchive& archive) { sampler.load(archive); })) {}

  ObjectKind kind() const noexcept;
  const std::shared_ptr<const detail::TargetObject>& object() const noexcept { return object_; }

 private:
  explicit Target(std::shared_ptr<const detail::TargetObject> object) : object_(std::move(object)) {}

  static Target make_user(const std::type_info& type, ToStateDict to, FromStateDict from);
  static Target make_sampler(const std::type_info& type, std::function<void(torch::serialize::OutputArchive&)> save,
                             std::function<void(torch::serialize::InputArchive&)> load);

  std::shared_ptr<const detail::TargetObject> object_;
};

/// A Target with a name; without one it gets its kind's: "model", "optimizer", "rng", "tensor", "state",
/// "sampler", "object", the second of a kind "model_2" and so on.
class NamedTarget {
 public:
  NamedTarget(std::string name, Target target) : name_(std::move(name)), target_(std::move(target)) {}

  template <typename T,
            std::enable_if_t<!std::is_same_v<std::decay_t<T>, NamedTarget> && std::is_constructible_v<Target, T&&>,
                             int> = 0>
  NamedTarget(T&& object)  // NOLINT(google-explicit-constructor)
      : target_(std::forward<T>(object)), is_named_(false) {}

  const std::string& name() const noexcept { return name_; }
  const Target& target() const noexcept { return target_; }
  bool is_named() const noexcept { return is_named_; }

 private:
  std::string name_;
  Target target_;
  bool is_named_ = true;
};

/// List of named targets, written as {{"model", model}, {"optimizer", optimizer}} or {model, optimizer}.
///
/// Errors: kInvalidArgument when a name is empty, holds '/' or NUL, or is given twice.
class Targets {
 public:
  Targets(std::initializer_list<NamedTarget> targets);
  explicit Targets(std::vector<NamedTarget> targets);

  std::vector<NamedTarget>::const_iterator begin() const noexcept { return targets_.begin(); }
  std::vector<NamedTarget>::const_iterator end() const noexcept { return targets_.end(); }
  std::size_t size() const noexcept { return targets_.size(); }

 private:
  std::vector<NamedTarget> targets_;  // all named
};

/// LibTorch's default CPU generator, which dropout, randn and shuffles draw from.
Target cpu_rng();

}  // namespace cairn
