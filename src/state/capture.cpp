// Every target as a state dict of aliases; what cannot be stored is refused, all of it at once.
#include <utility>
#include <vector>

#include <c10/core/GradMode.h>

#include "cairn/apply.h"
#include "format/fail.h"
#include "state/differences.h"
#include "state/generator_state.h"
#include "state/module_entries.h"
#include "state/optimizer_capture.h"
#include "state/optimizer_class.h"
#include "state/parameter_names.h"
#include "state/sampler_state.h"
#include "state/target_object.h"
#include "state/tensor_bytes.h"

namespace cairn {

namespace {

/// What stands in the way of a capture.
class Problems {
 public:
  void add(ErrorCode code, std::string line) {
    // An unsupported kind is the greater news than an undefined tensor.
    if (lines_.empty() || code == ErrorCode::kUnsupported) code_ = code;
    lines_.push_back(std::move(line));
  }

  void raise_if_any() const {
    constexpr std::size_t kShown = 200;
    if (lines_.empty()) return;
    if (lines_.size() == 1) fail(code_, "cannot capture {}", lines_.front());
    std::string text = fmt::format("cannot capture {} entries:", lines_.size());
    for (std::size_t i = 0; i < lines_.size() && i < kShown; ++i) text += "\n  " + lines_[i];
    if (lines_.size() > kShown) text += fmt::format("\n  and {} more", lines_.size() - kShown);
    throw Error(code_, text);
  }

 private:
  ErrorCode code_ = ErrorCode::kUnsupported;
  std::vector<std::string> lines_;
};

/// Visitor over detail::TargetObject::object.
struct Capturer {
  const NamedTarget& target;
  const state::ParameterNames& names;
  Problems& problems;

  StateDict operator()(const detail::ModuleObject& module) const {
    StateDict state_dict;
    for (state::ModuleEntry& entry : state::module_entries(*module.module)) {
      if (state_dict.contains(entry.name)) {
        problems.add(ErrorCode::kInvalidArgument, fmt::format("{}: a parameter and a buffer have this name",
                                                              state::path_of(target.name(), entry.name)));
        continue;
      }
      state_dict.insert(std::move(entry.name), std::move(entry.tensor));
    }
    return state_dict;
  }
  StateDict operator()(const detail::OptimizerObject& optimizer) const {
    if (state::is_known_optimizer(*optimizer.optimizer)) return state::capture_optimizer(*optimizer.optimizer, names);
    problems.add(
        ErrorCode::kUnsupported,
        fmt::format("{}: optimizer class {} is none of LibTorch's own; give it to_state_dict and from_state_dict, "
                    "or use Target::from_functions",
                    printable(target.name()), target.target().object()->type_name));
    return {};
  }
  StateDict operator()(const detail::StateDictObject& state_dict) const { return *state_dict.state_dict; }
  StateDict operator()(const detail::SamplerObject& sampler) const {
    return state::sampler_state(sampler, printable(target.name()));
  }
  StateDict operator()(const detail::UserObject& user) const { return user.to(); }
  StateDict operator()(const at::Tensor& tensor) const {
    StateDict state_dict;
    state_dict.insert("value", tensor);
    return state_dict;
  }
  StateDict operator()(const at::Generator& generator) const {
    StateDict state_dict;
    state_dict.insert("state", state::generator_state(generator));
    return state_dict;
  }
};

void check_tensors(const std::string& object, const StateDict& state_dict, Problems& problems) {
  for (const StateDict::Entry& entry : state_dict) {
    if (!entry.is_tensor()) continue;
    const std::string problem = state::storable_problem(entry.tensor());
    if (problem.empty()) continue;
    problems.add(entry.tensor().defined() ? ErrorCode::kUnsupported : ErrorCode::kInvalidArgument,
                 fmt::format("{}: {}", state::path_of(object, entry.name), problem));
  }
}

}  // namespace

Snapshot capture(const Targets& targets, Metadata metadata) {
  const state::ParameterNames names(targets);
  Snapshot snapshot;
  Problems problems;
  for (const NamedTarget& target : targets) {
    const detail::TargetObject& object = *target.target().object();
    StateDict state_dict = std::visit(Capturer{target, names, problems}, object.object);
    check_tensors(target.name(), state_dict, problems);
    snapshot.insert({target.name(), object.kind, object.type_name, std::move(state_dict)});
  }
  problems.raise_if_any();
  snapshot.metadata() = std::move(metadata);
  return snapshot;
}

}  // namespace cairn
