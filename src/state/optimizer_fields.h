// What each of LibTorch's optimizers keeps: its options and the state of a parameter, field by field, under the names
// that Python's optimizer.state_dict() gives them.
//
// Capture and apply walk over the same lists, so a field cannot be written and not read. Heavy: includes the
// optimizers.
#pragma once

#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

namespace cairn::state {

/// Whether a field of a parameter's state must be there for the next step to work.
enum class Presence { kRequired, kOptional };

/// Shape of a tensor of the state: that of what it belongs to, or of a single number.
enum class Extent { kParameter, kNumber };

constexpr Presence required_if(bool condition) { return condition ? Presence::kRequired : Presence::kOptional; }

/// Options, State, kName; visit_options(options, visit) calls visit(name, field) for each option; visit_state(state,
/// options, visit) calls visit.count, visit.number, visit.tensor, visit.tensors or visit.slots for each field.
template <typename Optimizer>
struct OptimizerFields;

template <>
struct OptimizerFields<torch::optim::SGD> {
  using Options = torch::optim::SGDOptions;
  using State = torch::optim::SGDParamState;
  static constexpr std::string_view kName = "SGD";

  template <typename O, typename Visit>
  static void visit_options(O& options, Visit& visit) {
    visit("lr", options.lr());
    visit("momentum", options.momentum());
    visit("dampening", options.dampening());
    visit("weight_decay", options.weight_decay());
    visit("nesterov", options.nesterov());
  }
  template <typename S, typename Visit>
  static void visit_state(S& state, const Options& options, Visit& visit) {
    visit.tensor("momentum_buffer", state.momentum_buffer(), required_if(options.momentum() != 0));
  }
};

/// Adam and AdamW differ in what they do, not in what they keep.
template <typename AdamOptions, typename AdamState>
struct AdamFields {
  using Options = AdamOptions;
  using State = AdamState;

  template <typename O, typename Visit>
  static void visit_options(O& options, Visit& visit) {
    visit("lr", options.lr());
    visit("betas", options.betas());
    visit("eps", options.eps());
    visit("weight_decay", options.weight_decay());
    visit("amsgrad", options.amsgrad());
  }
  template <typename S, typename Visit>
  static void visit_state(S& state, const Options& options, Visit& visit) {
    visit.count("step", state.step());
    visit.tensor("exp_avg", state.exp_avg(), Presence::kRequired);
    visit.tensor("exp_avg_sq", state.exp_avg_sq(), Presence::kRequired);
    visit.tensor("max_exp_avg_sq", state.max_exp_avg_sq(), required_if(options.amsgrad()));
  }
};

template <>
struct OptimizerFields<torch::optim::Adam> : AdamFields<torch::optim::AdamOptions, torch::optim::AdamParamState> {
  static constexpr std::string_view kName = "Adam";
};

template <>
struct OptimizerFields<torch::optim::AdamW> : AdamFields<torch::optim::AdamWOptions, torch::optim::AdamWParamState> {
  static constexpr std::string_view kName = "AdamW";
};

template <>
struct OptimizerFields<torch::optim::Adagrad> {
  using Options = torch::optim::AdagradOptions;
  using State = torch::optim::AdagradParamState;
  static constexpr std::string_view kName = "Adagrad";

  template <typename O, typename Visit>
  static void visit_options(O& options, Visit& visit) {
    visit("lr", options.lr());
    visit("lr_decay", options.lr_decay());
    visit("eps", options.eps());
    visit("weight_decay", options.weight_decay());
    visit("initial_accumulator_value", options.initial_accumulator_value());
  }
  template <typename S, typename Visit>
  static void visit_state(S& state, const Options&, Visit& visit) {
    visit.count("step", state.step());
    visit.tensor("sum", state.sum(), Presence::kRequired);
  }
};

template <>
struct OptimizerFields<torch::optim::RMSprop> {
  using Options = torch::optim::RMSpropOptions;
  using State = torch::optim::RMSpropParamState;
  static constexpr std::string_view kName = "RMSprop";

  template <typename O, typename Visit>
  static void visit_options(O& options, Visit& visit) {
    visit("lr", options.lr());
    visit("momentum", options.momentum());
    visit("alpha", options.alpha());
    visit("eps", options.eps());
    visit("centered", options.centered());
    visit("weight_decay", options.weight_decay());
  }
  template <typename S, typename Visit>
  static void visit_state(S& state, const Options& options, Visit& visit) {
    visit.count("step", state.step());
    visit.tensor("square_avg", state.square_avg(), Presence::kRequired);
    visit.tensor("momentum_buffer", state.momentum_buffer(), required_if(options.momentum() > 0));
    visit.tensor("grad_avg", state.grad_avg(), required_if(options.centered()));
  }
};

/// Has one state for all parameters together, kept with the first; its vectors are the parameters laid end to end.
template <>
struct OptimizerFields<torch::optim::LBFGS> {
  using Options = torch::optim::LBFGSOptions;
  using State = torch::optim::LBFGSParamState;
  static constexpr std::string_view kName = "LBFGS";

  template <typename O, typename Visit>
  static void visit_options(O& options, Visit& visit) {
    visit("lr", options.lr());
    visit("max_iter", options.max_iter());
    visit("max_eval", options.max_eval());
    visit("tolerance_grad", options.tolerance_grad());
    visit("tolerance_change", options.tolerance_change());
    visit("history_size", options.history_size());
    visit("line_search_fn", options.line_search_fn());
  }
  template <typename S, typename Visit>
  static void visit_state(S& state, const Options&, Visit& visit) {
    visit.count("func_evals", state.func_evals());
    visit.count("n_iter", state.n_iter());
    // Before the first iteration t and prev_loss hold whatever was in memory, and nothing else is there.
    const Presence after_first = required_if(state.n_iter() > 0);
    visit.tensor("d", state.d(), after_first);
    visit.number("t", state.t(), after_first);
    visit.tensors("old_dirs", state.old_dirs(), Extent::kParameter);
    visit.tensors("old_stps", state.old_stps(), Extent::kParameter);
    visit.tensors("ro", state.ro(), Extent::kNumber);
    visit.tensor("H_diag", state.H_diag(), after_first, Extent::kNumber);
    visit.tensor("prev_flat_grad", state.prev_flat_grad(), after_first);
    visit.number("prev_loss", state.prev_loss(), after_first);
    visit.slots("al", state.al());
  }
};

template <typename Optimizer>
inline constexpr bool has_one_state_v = std::is_same_v<std::remove_const_t<Optimizer>, torch::optim::LBFGS>;

/// Calls visit(optimizer as its exact class); false when the class is none of these.
template <typename Base, typename Visit>
bool visit_optimizer(Base& optimizer, Visit&& visit) {
  const auto visit_as = [&]<typename Optimizer>(std::type_identity<Optimizer>) {
    if (typeid(optimizer) != typeid(Optimizer)) return false;
    using Reference = std::conditional_t<std::is_const_v<Base>, const Optimizer&, Optimizer&>;
    visit(static_cast<Reference>(optimizer));
    return true;
  };
  return visit_as(std::type_identity<torch::optim::SGD>()) || visit_as(std::type_identity<torch::optim::Adam>()) ||
         visit_as(std::type_identity<torch::optim::AdamW>()) || visit_as(std::type_identity<torch::optim::Adagrad>()) ||
         visit_as(std::type_identity<torch::optim::RMSprop>()) || visit_as(std::type_identity<torch::optim::LBFGS>());
}

template <typename Optimizer>
using FieldsOf = OptimizerFields<std::remove_const_t<Optimizer>>;

}  // namespace cairn::state
