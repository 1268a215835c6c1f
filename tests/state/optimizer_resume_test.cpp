// Every optimizer in several settings: a run that is stopped, captured and resumed in fresh objects goes on bit for bit
// as the one that was not. Guards against lost options, moments, step counters and LBFGS's history.
#include "state/live_state.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

constexpr int kStepsBefore = 3;
constexpr int kStepsAfter = 3;

struct Run {
  TwoLayers model;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

using MakeOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(TwoLayers& model)>;

Run start(const MakeOptimizer& make, std::int64_t seed) {
  Run run;
  run.model->to(torch::kDouble);
  fill(*run.model, seed);
  {
    const torch::NoGradGuard no_grad;
    for (at::Tensor& parameter : run.model->parameters()) parameter.mul_(0.05);
  }
  run.optimizer = make(run.model);
  return run;
}

void step(Run& run, int index) {
  const at::Tensor input = torch::linspace(-1, 1, 15, torch::kDouble).view({5, 3}) + 0.1 * index;
  run.optimizer->step([&] {
    run.optimizer->zero_grad();
    const at::Tensor loss = (run.model(input) - input.sum(1, true)).square().mean();
    loss.backward();
    return loss;
  });
}

template <typename Optimizer, typename Options>
MakeOptimizer with(Options options) {
  return [options](TwoLayers& model) { return std::make_unique<Optimizer>(model->parameters(), options); };
}

/// Two groups with options of their own; the second layer belongs to the second.
template <typename Optimizer, typename Options>
MakeOptimizer with_groups(Options first, Options second) {
  return [first, second](TwoLayers& model) {
    std::vector<torch::optim::OptimizerParamGroup> groups;
    groups.emplace_back(model->first->parameters(), std::make_unique<Options>(first));
    groups.emplace_back(model->second->parameters(), std::make_unique<Options>(second));
    return std::make_unique<Optimizer>(std::move(groups), Options(0.5));
  };
}

void check_resume(const std::string& what, const MakeOptimizer& make, const MakeOptimizer& make_other) {
  INFO(what);
  Run straight = start(make, 1);
  for (int i = 0; i < kStepsBefore; ++i) step(straight, i);
  const Snapshot snapshot = take({straight.model, *straight.optimizer});
  for (int i = kStepsBefore; i < kStepsBefore + kStepsAfter; ++i) step(straight, i);
  const Snapshot end = take({straight.model, *straight.optimizer});

  // Into an optimizer that has not stepped, and into one of other options that has.
  Run fresh = start(make, 70);
  Run stepped = start(make_other, 70);
  for (int i = 0; i < 2; ++i) step(stepped, 5);
  for (Run* run : {&fresh, &stepped}) {
    apply(snapshot, {run->model, *run->optimizer});
    CHECK(same_entries(take({run->model, *run->optimizer})["optimizer"], snapshot["optimizer"]));
    for (int i = kStepsBefore; i < kStepsBefore + kStepsAfter; ++i) step(*run, i);
    const Snapshot reached = take({run->model, *run->optimizer});
    CHECK(same_entries(reached["model"], end["model"]));
    CHECK(same_entries(reached["optimizer"], end["optimizer"]));
  }
}

}  // namespace

TEST_CASE("a resumed SGD goes on bit for bit", "[resume][optimizer]") {
  using torch::optim::SGD;
  using Options = torch::optim::SGDOptions;
  const auto other = with<SGD>(Options(0.7).momentum(0.1));
  check_resume("plain", with<SGD>(Options(0.1)), other);
  check_resume("momentum", with<SGD>(Options(0.1).momentum(0.9)), other);
  check_resume("dampening", with<SGD>(Options(0.1).momentum(0.9).dampening(0.5).weight_decay(0.01)), other);
  check_resume("nesterov", with<SGD>(Options(0.05).momentum(0.8).nesterov(true)), with<SGD>(Options(1)));
  check_resume("groups", with_groups<SGD>(Options(0.1).momentum(0.9), Options(0.001)),
               with_groups<SGD>(Options(0.3), Options(0.2).momentum(0.4)));
}

TEST_CASE("a resumed Adam goes on bit for bit", "[resume][optimizer]") {
  using torch::optim::Adam;
  using Options = torch::optim::AdamOptions;
  const auto other = with<Adam>(Options(0.7).amsgrad(true));
  check_resume("default", with<Adam>(Options(0.01)), other);
  check_resume("amsgrad", with<Adam>(Options(0.01).amsgrad(true).weight_decay(0.1)), with<Adam>(Options(1)));
  check_resume("groups",
               with_groups<Adam>(Options(0.1).betas({0.5, 0.6}).weight_decay(0.3).amsgrad(true), Options(0.001)),
               with_groups<Adam>(Options(0.3), Options(0.2).eps(1)));
}

TEST_CASE("a resumed AdamW goes on bit for bit", "[resume][optimizer]") {
  using torch::optim::AdamW;
  using Options = torch::optim::AdamWOptions;
  const auto other = with<AdamW>(Options(0.7).amsgrad(true));
  check_resume("default", with<AdamW>(Options(0.01)), other);
  check_resume("amsgrad", with<AdamW>(Options(0.01).amsgrad(true).weight_decay(0)), with<AdamW>(Options(1)));
  check_resume("groups", with_groups<AdamW>(Options(0.1).betas({0.5, 0.6}), Options(0.001).eps(1e-3)),
               with_groups<AdamW>(Options(0.3), Options(0.2)));
}

TEST_CASE("a resumed Adagrad goes on bit for bit", "[resume][optimizer]") {
  using torch::optim::Adagrad;
  using Options = torch::optim::AdagradOptions;
  const auto other = with<Adagrad>(Options(0.7));
  check_resume("default", with<Adagrad>(Options(0.1)), other);
  check_resume("decay", with<Adagrad>(Options(0.1).lr_decay(0.01).weight_decay(0.1).initial_accumulator_value(0.5)),
               other);
}

TEST_CASE("a resumed RMSprop goes on bit for bit", "[resume][optimizer]") {
  using torch::optim::RMSprop;
  using Options = torch::optim::RMSpropOptions;
  const auto other = with<RMSprop>(Options(0.7).centered(true).momentum(0.3));
  check_resume("default", with<RMSprop>(Options(0.01)), other);
  check_resume("momentum", with<RMSprop>(Options(0.01).momentum(0.9)), other);
  check_resume("centered", with<RMSprop>(Options(0.01).alpha(0.8).centered(true).weight_decay(0.1)),
               with<RMSprop>(Options(1)));
  check_resume("both", with<RMSprop>(Options(0.01).momentum(0.5).centered(true)), with<RMSprop>(Options(1)));
}

TEST_CASE("a resumed LBFGS goes on bit for bit", "[resume][optimizer]") {
  using torch::optim::LBFGS;
  using Options = torch::optim::LBFGSOptions;
  const auto other = with<LBFGS>(Options(0.7).max_iter(2).history_size(5));
  check_resume("default", with<LBFGS>(Options(0.5).max_iter(3)), other);
  check_resume("short history", with<LBFGS>(Options(0.5).max_iter(4).history_size(2)), other);
  check_resume("line search", with<LBFGS>(Options(1).max_iter(3).line_search_fn("strong_wolfe")), other);
  check_resume("one iteration", with<LBFGS>(Options(0.1).max_iter(1).max_eval(7)), other);
}

TEST_CASE("an LBFGS that stopped before its first iteration resumes", "[resume][optimizer]") {
  at::Tensor weight = torch::zeros({3}).requires_grad_();
  torch::optim::LBFGS optimizer({weight}, torch::optim::LBFGSOptions(1));
  const auto closure = [&] {
    optimizer.zero_grad();
    const at::Tensor loss = weight.square().sum();
    loss.backward();
    return loss;
  };
  optimizer.step(closure);  // the gradient is zero
  const Snapshot snapshot = take({optimizer});
  CHECK(snapshot["optimizer"].value("state.0.n_iter").as_int() == 0);
  CHECK_FALSE(snapshot["optimizer"].contains("state.0.t"));
  apply(snapshot, {optimizer});
  {
    const torch::NoGradGuard no_grad;
    weight.fill_(1);
  }
  optimizer.step(closure);
  CHECK(weight.detach().abs().max().item<float>() < 1e-3);
}

TEST_CASE("an optimizer that never stepped is restored as such, and clears one that has", "[resume][optimizer]") {
  const auto make = with<torch::optim::Adam>(torch::optim::AdamOptions(0.01));
  Run straight = start(make, 1);
  const Snapshot snapshot = take({straight.model, *straight.optimizer});
  Run stepped = start(make, 9);
  step(stepped, 0);
  apply(snapshot, {stepped.model, *stepped.optimizer});
  CHECK(stepped.optimizer->state().empty());
  step(stepped, 1);
  step(straight, 1);
  CHECK(same_entries(take({stepped.model})["model"], take({straight.model})["model"]));
}

TEST_CASE("a schedule made before or after apply goes on as uninterrupted", "[resume][scheduler]") {
  const auto make = with<torch::optim::SGD>(torch::optim::SGDOptions(1.0));
  Run straight = start(make, 1);
  torch::optim::StepLR schedule(*straight.optimizer, 2, 0.5);
  for (int i = 0; i < 4; ++i) schedule.step();
  const double lr = straight.optimizer->param_groups()[0].options().get_lr();
  const Snapshot snapshot = take({straight.model, *straight.optimizer});
  Run before = start(make, 1);
  torch::optim::StepLR made_before(*before.optimizer, 2, 0.5);
  apply(snapshot, {before.model, *before.optimizer});
  CHECK(before.optimizer->param_groups()[0].options().get_lr() == lr);
  Run after = start(make, 1);
  apply(snapshot, {after.model, *after.optimizer});
  torch::optim::StepLR made_after(*after.optimizer, 2, 0.5);
  CHECK(after.optimizer->param_groups()[0].options().get_lr() == lr);
}
