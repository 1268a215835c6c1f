// Optimizers that do not fit, or fit in another order: names before positions, every difference told.
#include "state/live_state.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;
using torch::optim::Adam;
using torch::optim::AdamOptions;
using torch::optim::SGD;
using torch::optim::SGDOptions;

namespace {

/// Two parameters of one shape, declared in either order.
struct PairImpl : torch::nn::Module {
  explicit PairImpl(bool is_swapped) {
    if (is_swapped) b = register_parameter("b", torch::zeros({2, 2}));
    a = register_parameter("a", torch::zeros({2, 2}));
    if (!is_swapped) b = register_parameter("b", torch::zeros({2, 2}));
  }
  at::Tensor a;
  at::Tensor b;
};
TORCH_MODULE(Pair);

void step_with(torch::optim::Optimizer& optimizer, const std::vector<std::pair<at::Tensor, double>>& gradients) {
  for (const auto& [parameter, gradient] : gradients) parameter.mutable_grad() = torch::full_like(parameter, gradient);
  optimizer.step();
}

template <typename Optimizer>
void expect_mismatch(const Snapshot& snapshot, Optimizer& optimizer, std::initializer_list<const char*> parts,
                     const ApplyOptions& options = {}) {
  const Snapshot before = take({{"o", optimizer}});
  const std::string message = message_of([&] { apply(snapshot, {{"o", optimizer}}, options); });
  CAPTURE(message);
  CHECK(code_of([&] { apply(snapshot, {{"o", optimizer}}, options); }) == ErrorCode::kMismatch);
  for (const char* part : parts) {
    CAPTURE(part);
    CHECK(contains(message, part));
  }
  CHECK(same_entries(take({{"o", optimizer}})["o"], before["o"]));
}

}  // namespace

TEST_CASE("moments follow the names when parameters come in another order", "[apply][optimizer]") {
  Pair model(false);
  Adam adam(model->parameters());
  step_with(adam, {{model->a, 1.0}, {model->b, 100.0}});
  const Snapshot snapshot = take({{"model", model}, {"o", adam}});
  Pair swapped(true);
  Adam into(swapped->parameters());
  apply(snapshot, {{"model", swapped}, {"o", into}});
  const Snapshot reached = take({{"model", swapped}, {"o", into}});
  CHECK(same_bits(reached["o"].tensor("state.0.exp_avg"), snapshot["o"].tensor("state.1.exp_avg")));
  CHECK(same_bits(reached["o"].tensor("state.1.exp_avg"), snapshot["o"].tensor("state.0.exp_avg")));

  // Other models beside it change how names are spelled, not what they mean.
  Pair ema(false);
  Adam beside(swapped->parameters());
  apply(snapshot, {{"model", swapped}, {"o", beside}, {"ema", StateDict{}}}, [] {
    ApplyOptions options;
    options.only = {"model/*", "o/*"};
    return options;
  }());
  CHECK(same_entries(take({{"model", swapped}, {"o", beside}})["o"], reached["o"]));
  Snapshot both = take({{"model", model}, {"ema", ema}, {"o", adam}});
  CHECK(both["o"].value("param_groups.0.param_names") == Value(ValueList{"model/a", "model/b"}));
  both.erase("ema");
  Adam alone(swapped->parameters());
  apply(both, {{"model", swapped}, {"o", alone}});
  CHECK(same_entries(take({{"model", swapped}, {"o", alone}})["o"], reached["o"]));
  Adam renamed(swapped->parameters());
  ApplyOptions rename;
  rename.rename = {{"model", "net"}};
  apply(snapshot, {{"net", swapped}, {"o", renamed}}, rename);
  CHECK(same_entries(take({{"model", swapped}, {"o", renamed}})["o"], reached["o"]));
}

TEST_CASE("an optimizer of another class is refused when it is applied", "[apply][optimizer][errors]") {
  Pair model(false);
  SGD sgd(model->parameters(), SGDOptions(0.1).momentum(0.9));
  step_with(sgd, {{model->a, 1.0}});
  Adam adam(model->parameters());
  step_with(adam, {{model->a, 1.0}});
  expect_mismatch(take({{"o", sgd}}), adam, {"o: optimizer of class SGD in the checkpoint, Adam in the call"});
  Snapshot module;
  module.insert({"o", ObjectKind::kModule, "", take({model})["model"]});
  expect_mismatch(module, adam, {"o: module in the checkpoint, optimizer in the call"});
  Snapshot untyped;
  untyped.insert("o", take({{"o", sgd}})["o"]);
  expect_mismatch(untyped, adam, {"param_groups.0.betas", "param_groups.0.momentum"});
}

TEST_CASE("a group count that differs is told with both layouts", "[apply][optimizer][errors]") {
  Pair model(false);
  Adam one(model->parameters());
  Adam two(std::vector<at::Tensor>{model->a});
  two.add_param_group(torch::optim::OptimizerParamGroup({model->b}));
  const auto call = [&](const Snapshot& snapshot, Adam& into) {
    return message_of([&] { apply(snapshot, {{"model", model}, {"o", into}}); });
  };
  CHECK(contains(call(take({{"model", model}, {"o", one}}), two),
                 "o: checkpoint has 1 param groups, optimizer 2; checkpoint: ['a', 'b']; optimizer: ['a'], ['b']"));
  CHECK(contains(call(take({{"model", model}, {"o", two}}), one), "checkpoint has 2 param groups, optimizer 1"));
  apply(take({{"model", model}, {"o", two}}), {{"model", model}, {"o", two}});
}

TEST_CASE("membership that differs names the parameters of each side", "[apply][optimizer][errors]") {
  TwoLayers model;
  Adam all(model->parameters());
  Adam some(std::vector<at::Tensor>{model->first->weight, model->second->weight});
  const Snapshot snapshot = take({model, {"o", all}});
  const std::string message = message_of([&] { apply(snapshot, {model, {"o", some}}); });
  CAPTURE(message);
  CHECK(contains(message, "checkpoint 4 parameters, optimizer 2"));
  CHECK(contains(message, "only in the checkpoint: 'first.bias', 'second.bias'"));
  CHECK(contains(message_of([&] {
                   apply(take({model, {"o", some}}), {model, {"o", all}});
                 }),
                 "only in the optimizer: 'first.bias', 'second.bias'"));
  expect_mismatch(take({{"o", all}}), some, {"checkpoint 4 parameters, optimizer 2"});

  const auto grouped = [](std::vector<at::Tensor> first, std::vector<at::Tensor> second) {
    auto adam = std::make_unique<Adam>(std::move(first));
    adam->add_param_group(torch::optim::OptimizerParamGroup(std::move(second)));
    return adam;
  };
  auto left = grouped({model->first->weight}, {model->first->bias});
  auto right = grouped({model->first->bias}, {model->first->weight});
  CHECK(contains(message_of([&] {
                   apply(take({model, {"o", *left}}), {model, {"o", *right}});
                 }),
                 "parameter 'first.weight' is in param group 0 of the checkpoint, 1 of the optimizer"));
}

TEST_CASE("a parameter of another shape or dtype is told, even where it has no state", "[apply][optimizer][errors]") {
  Adam small({torch::zeros({2, 2}).requires_grad_()});
  Adam large({torch::zeros({2, 3}).requires_grad_()});
  Adam half({torch::zeros({2, 2}, torch::kHalf).requires_grad_()});
  expect_mismatch(take({{"o", small}}), large, {"checkpoint float32 {2, 2}, optimizer float32 {2, 3}"});
  expect_mismatch(take({{"o", small}}), half, {"checkpoint float32 {2, 2}, optimizer float16 {2, 2}"});
}

TEST_CASE("a cast takes moments along with their parameters", "[apply][optimizer]") {
  const at::Tensor single = torch::zeros({2}).requires_grad_();
  const at::Tensor twice = torch::zeros({2}, torch::kDouble).requires_grad_();
  Adam from({single});
  Adam into({twice});
  step_with(from, {{single, 0.5}});
  ApplyOptions options;
  options.cast = true;
  CHECK(apply(take({{"o", from}}), {{"o", into}}, options).cast.size() == 2);
  CHECK(capture({{"o", into}})["o"].tensor("state.0.exp_avg").scalar_type() == torch::kDouble);
  step_with(into, {{twice, 0.5}});
}

TEST_CASE("state that an option needs and the checkpoint lacks is reported by name", "[apply][optimizer][errors]") {
  Pair model(false);
  Adam adam(model->parameters());
  step_with(adam, {{model->a, 1.0}, {model->b, 1.0}});
  Snapshot snapshot = take({{"model", model}, {"o", adam}});
  snapshot["o"].erase("state.1.exp_avg_sq");
  expect_mismatch(snapshot, adam, {"o/state.1.exp_avg_sq (parameter 'b'): not in the checkpoint"});
  Snapshot amsgrad = take({{"o", adam}});
  amsgrad["o"].set("param_groups.0.amsgrad", Value(true));
  ApplyOptions loose;
  loose.strict = false;
  expect_mismatch(amsgrad, adam, {"o/state.0.max_exp_avg_sq", "o/state.1.max_exp_avg_sq"}, loose);
  Snapshot stepless = take({{"o", adam}});
  stepless["o"].erase("state.0.step");
  expect_mismatch(stepless, adam, {"o/state.0.step"});
}

TEST_CASE("the step may be an int, a whole double or a tensor of one element", "[apply][optimizer]") {
  const at::Tensor weight = torch::zeros({2}).requires_grad_();
  Adam adam({weight});
  step_with(adam, {{weight, 1.0}});
  for (const std::variant<at::Tensor, Value>& step : {std::variant<at::Tensor, Value>(Value(7)),
                                                      {Value(7.0)},
                                                      {torch::tensor(7.f)},
                                                      {torch::tensor({7}, torch::kLong)}}) {
    Snapshot snapshot = take({{"o", adam}});
    if (const auto* tensor = std::get_if<at::Tensor>(&step)) {
      snapshot["o"].set("state.0.step", *tensor);
    } else {
      snapshot["o"].set("state.0.step", std::get<Value>(step));
    }
    apply(snapshot, {{"o", adam}});
    CHECK(capture({{"o", adam}})["o"].value("state.0.step") == Value(7));
  }
  for (const std::variant<at::Tensor, Value>& step : {std::variant<at::Tensor, Value>(Value(7.5)),
                                                      {Value(-1)},
                                                      {Value("7")},
                                                      {torch::tensor(7.5f)},
                                                      {torch::tensor({7, 8})}}) {
    Snapshot snapshot = take({{"o", adam}});
    if (const auto* tensor = std::get_if<at::Tensor>(&step)) {
      snapshot["o"].set("state.0.step", *tensor);
    } else {
      snapshot["o"].set("state.0.step", std::get<Value>(step));
    }
    expect_mismatch(snapshot, adam, {"o/state.0.step: checkpoint"});
  }
}

TEST_CASE("options one side does not know follow strict by name", "[apply][optimizer]") {
  const at::Tensor weight = torch::zeros({2}).requires_grad_();
  SGD sgd({weight}, SGDOptions(0.1));
  Snapshot snapshot = take({{"o", sgd}});
  snapshot["o"].insert("param_groups.0.foreach", Value());
  snapshot["o"].insert("state.0.unheard_of", torch::ones({2}));
  snapshot["o"].insert("odd", Value(1));
  snapshot["o"].erase("param_groups.0.nesterov");
  snapshot["o"].set("param_groups.0.weight_decay", Value(0));
  expect_mismatch(snapshot, sgd, {"'param_groups.0.foreach'", "'odd'", "'param_groups.0.nesterov'"});
  ApplyOptions loose;
  loose.strict = false;
  snapshot["o"].erase("state.0.unheard_of");
  const ApplyReport report = apply(snapshot, {{"o", sgd}}, loose);
  CHECK(report.missing == std::vector<std::string>{"o/param_groups.0.nesterov"});
  CHECK(report.unexpected == std::vector<std::string>{"o/odd", "o/param_groups.0.foreach"});
}

TEST_CASE("malformed records of an optimizer are refused by entry", "[apply][optimizer][errors]") {
  Pair model(false);
  Adam adam(model->parameters());
  step_with(adam, {{model->a, 1.0}});
  const auto broken = [&](const std::string& name, const Value& value) {
    Snapshot snapshot = take({{"model", model}, {"o", adam}});
    snapshot["o"].set(name, value);
    return snapshot;
  };
  expect_mismatch(broken("param_groups.0.params", Value(3)), adam, {"o/param_groups.0.params"});
  expect_mismatch(broken("param_groups.0.params", Value(ValueList{0, "b"})), adam, {"o/param_groups.0.params"});
  expect_mismatch(broken("param_groups.0.param_names", Value(ValueList{"a"})), adam, {"o/param_groups.0.param_names"});
  expect_mismatch(broken("param_groups.0.param_shapes", Value("x")), adam, {"o/param_groups.0.param_shapes"});
  expect_mismatch(broken("param_groups.0.betas", Value(ValueList{0.5})), adam, {"o/param_groups.0.betas"});
  expect_mismatch(broken("param_groups.0.amsgrad", Value(1)), adam, {"o/param_groups.0.amsgrad"});
  expect_mismatch(broken("param_groups.0.lr", Value("fast")), adam, {"o/param_groups.0.lr"});
  expect_mismatch(broken("param_groups.2.params", Value(ValueList{})), adam, {"o/param_groups.1"});
  expect_mismatch(broken("param_groups.1.params", Value(ValueList{0})), adam, {"of another group"});
  expect_mismatch(broken("state.0.exp_avg", Value(1.0)), adam, {"o/state.0.exp_avg"});
  expect_mismatch(broken("state.99999999999999999999.exp_avg", Value(1.0)), adam,
                  {"'state.99999999999999999999.exp_avg'"});
  Snapshot shaped = take({{"o", adam}});
  shaped["o"].set("state.0.exp_avg", torch::zeros({3}));
  expect_mismatch(shaped, adam, {"o/state.0.exp_avg: checkpoint float32 {3}, optimizer float32 {2, 2}"});
}

TEST_CASE("numeric names sort by number: state 2 and state 10 are not exchanged", "[apply][optimizer]") {
  std::vector<at::Tensor> parameters;
  for (int i = 0; i < 12; ++i) parameters.push_back(torch::zeros({1}).requires_grad_());
  Adam adam(parameters);
  std::vector<std::pair<at::Tensor, double>> gradients;
  for (int i = 0; i < 12; ++i) gradients.emplace_back(parameters[static_cast<std::size_t>(i)], i + 1.0);
  step_with(adam, gradients);
  const Snapshot snapshot = take({{"o", adam}});
  std::vector<at::Tensor> others;
  for (int i = 0; i < 12; ++i) others.push_back(torch::zeros({1}).requires_grad_());
  Adam into(others);
  apply(snapshot, {{"o", into}});
  CHECK(same_entries(take({{"o", into}})["o"], snapshot["o"]));
  CHECK(std::abs(capture({{"o", into}})["o"].tensor("state.10.exp_avg").item<float>() - 1.1f) < 1e-4f);
}

TEST_CASE("presence of state is kept per parameter: never trained, frozen, unfrozen", "[apply][optimizer]") {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> others;
  for (int i = 0; i < 4; ++i) parameters.push_back(torch::zeros({2}).requires_grad_());
  for (int i = 0; i < 4; ++i) others.push_back(torch::zeros({2}).requires_grad_());
  SGD sgd(parameters, SGDOptions(0.1).momentum(0.9).dampening(0.5));
  SGD into(others, SGDOptions(0.1).momentum(0.9).dampening(0.5));
  step_with(sgd, {{parameters[1], 1.0}, {parameters[3], 1.0}});
  parameters[1].mutable_grad() = at::Tensor();
  step_with(into, {{others[0], 1.0}, {others[2], 1.0}});
  const Snapshot snapshot = take({{"o", sgd}});
  apply(snapshot, {{"o", into}});
  CHECK(into.state().size() == 2);
  CHECK(same_entries(take({{"o", into}})["o"], snapshot["o"]));
  others[0].mutable_grad() = at::Tensor();
  // The first gradient after the resume sets the buffer as if there never had been one.
  step_with(sgd, {{parameters[2], 3.0}});
  step_with(into, {{others[2], 3.0}});
  CHECK(capture({{"o", into}})["o"].tensor("state.2.momentum_buffer").equal(torch::full({2}, 3.f)));
}

TEST_CASE("apply copies: the optimizers it went to do not share state with it or each other", "[apply][optimizer]") {
  Pair model(false);
  Adam adam(model->parameters());
  step_with(adam, {{model->a, 1.0}, {model->b, 2.0}});
  const Snapshot snapshot = capture({{"o", adam}});
  const Snapshot content = deep_copy(snapshot);
  Pair first(false);
  Pair second(false);
  Adam one(first->parameters());
  Adam two(second->parameters());
  apply(snapshot, {{"o", one}});
  apply(snapshot, {{"o", two}});
  step_with(one, {{first->a, 5.0}, {first->b, 5.0}});
  CHECK(same_entries(take({{"o", two}})["o"], content["o"]));
  CHECK(same_entries(snapshot["o"], content["o"]));
}

TEST_CASE("applying 200 times keeps the same tensors and entries", "[apply][optimizer]") {
  Pair model(false);
  Adam adam(model->parameters());
  step_with(adam, {{model->a, 1.0}, {model->b, 2.0}});
  const Snapshot snapshot = take({{"o", adam}});
  const void* memory = capture({{"o", adam}})["o"].tensor("state.0.exp_avg").data_ptr();
  for (int i = 0; i < 200; ++i) apply(snapshot, {{"o", adam}});
  CHECK(adam.state().size() == 2);
  CHECK(capture({{"o", adam}})["o"].tensor("state.0.exp_avg").data_ptr() == memory);
  CHECK(same_entries(take({{"o", adam}})["o"], snapshot["o"]));
}

TEST_CASE("an optimizer is applied whole or not at all", "[apply][optimizer][select]") {
  Pair model(false);
  Adam adam(model->parameters(), AdamOptions(0.1));
  Adam into(model->parameters(), AdamOptions(0.5));
  const Snapshot snapshot = take({{"model", model}, {"o", adam}});
  ApplyOptions options;
  options.except = {"o/*"};
  apply(snapshot, {{"model", model}, {"o", into}}, options);
  CHECK(into.param_groups()[0].options().get_lr() == 0.5);
  options.except = {"o/param_groups.*.lr"};
  CHECK(code_of([&] { apply(snapshot, {{"model", model}, {"o", into}}, options); }) == ErrorCode::kInvalidArgument);
  CHECK(into.param_groups()[0].options().get_lr() == 0.5);
}

TEST_CASE("LBFGS refuses parameters in another order and vectors of another length", "[apply][optimizer][errors]") {
  Pair model(false);
  torch::optim::LBFGS lbfgs(model->parameters());
  const Snapshot snapshot = take({{"model", model}, {"o", lbfgs}});
  Pair swapped(true);
  torch::optim::LBFGS into(swapped->parameters());
  CHECK(contains(message_of([&] { apply(snapshot, {{"model", swapped}, {"o", into}}); }), "in another order"));
}

TEST_CASE("an option that may be none stays none when the checkpoint does not know it", "[apply][optimizer]") {
  torch::optim::LBFGS lbfgs({torch::zeros({2}).requires_grad_()});
  Snapshot snapshot = take({{"o", lbfgs}});
  CHECK(snapshot["o"].value("param_groups.0.line_search_fn").is_null());
  snapshot["o"].erase("param_groups.0.line_search_fn");
  ApplyOptions loose;
  loose.allow_missing = true;
  CHECK(apply(snapshot, {{"o", lbfgs}}, loose).missing == std::vector<std::string>{"o/param_groups.0.line_search_fn"});
  CHECK(take({{"o", lbfgs}})["o"].value("param_groups.0.line_search_fn").is_null());
}

TEST_CASE("a param group with options of another class is refused", "[optimizer][errors]") {
  Adam adam({torch::zeros({2}).requires_grad_()});
  const Snapshot snapshot = take({{"o", adam}});
  adam.param_groups()[0].set_options(std::make_unique<SGDOptions>(0.1));
  CHECK(code_of([&] { capture({{"o", adam}}); }) == ErrorCode::kUnsupported);
  CHECK(code_of([&] { apply(snapshot, {{"o", adam}}); }) == ErrorCode::kMismatch);
}
