// What is written down of an optimizer: Python's entry names, numbers and names of parameters.
#include "state/live_state.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;
using torch::optim::Adam;
using torch::optim::AdamOptions;
using torch::optim::SGD;
using torch::optim::SGDOptions;

namespace {

struct PairImpl : torch::nn::Module {
  PairImpl() {
    a = register_parameter("a", torch::zeros({2, 2}));
    b = register_parameter("b", torch::zeros({2, 2}));
  }
  at::Tensor a;
  at::Tensor b;
};
TORCH_MODULE(Pair);

void step_with(torch::optim::Optimizer& optimizer, const std::vector<std::pair<at::Tensor, double>>& gradients) {
  for (const auto& [parameter, gradient] : gradients) parameter.mutable_grad() = torch::full_like(parameter, gradient);
  optimizer.step();
}

}  // namespace

TEST_CASE("an optimizer's entries are Python's state_dict, flattened", "[capture][optimizer]") {
  Pair model;
  Adam adam(model->parameters(), AdamOptions(0.1).betas({0.5, 0.6}));
  step_with(adam, {{model->a, 1.0}});
  const Snapshot snapshot = capture({{"model", model}, {"o", adam}});
  std::vector<std::string> names;
  for (const StateDict::Entry& entry : snapshot["o"]) names.push_back(entry.name);
  CHECK(names == std::vector<std::string>{"state.0.step", "state.0.exp_avg", "state.0.exp_avg_sq", "param_groups.0.lr",
                                          "param_groups.0.betas", "param_groups.0.eps", "param_groups.0.weight_decay",
                                          "param_groups.0.amsgrad", "param_groups.0.params",
                                          "param_groups.0.param_names", "param_groups.0.param_shapes"});
  CHECK(snapshot["o"].value("state.0.step") == Value(1));
  CHECK(snapshot["o"].value("param_groups.0.betas") == Value(ValueList{0.5, 0.6}));
  CHECK(snapshot["o"].value("param_groups.0.params") == Value(ValueList{0, 1}));
  CHECK(snapshot["o"].value("param_groups.0.param_names") == Value(ValueList{"a", "b"}));
  CHECK(snapshot["o"].value("param_groups.0.param_shapes") == Value(ValueList{"float32 {2, 2}", "float32 {2, 2}"}));
}

TEST_CASE("parameter names are qualified where models share them, null where no model holds one",
          "[capture][optimizer]") {
  Pair first;
  Pair second;
  const at::Tensor lonely = torch::zeros({1}).requires_grad_();
  SGD sgd(std::vector<at::Tensor>{first->a, second->a, lonely}, SGDOptions(0.1));
  CHECK(capture({{"raw", first}, {"ema", second}, {"o", sgd}})["o"].value("param_groups.0.param_names") ==
        Value(ValueList{"raw/a", "ema/a", nullptr}));
  CHECK(capture({{"raw", first}, {"o", sgd}})["o"].value("param_groups.0.param_names") ==
        Value(ValueList{"a", nullptr, nullptr}));
  CHECK_FALSE(capture({{"o", sgd}})["o"].contains("param_groups.0.param_names"));
}

TEST_CASE("a parameter listed twice, as a module registered twice lists it, has its state once",
          "[capture][optimizer]") {
  torch::nn::Linear shared(torch::nn::LinearOptions(2, 2).bias(false));
  struct TwiceImpl : torch::nn::Module {
    explicit TwiceImpl(const torch::nn::Linear& layer) {
      register_module("one", layer);
      register_module("two", layer);
    }
  };
  auto twice = std::make_shared<TwiceImpl>(shared);
  auto other = std::make_shared<TwiceImpl>(torch::nn::Linear(torch::nn::LinearOptions(2, 2).bias(false)));
  std::vector<at::Tensor> parameters = twice->parameters();
  parameters.push_back(torch::zeros({3}).requires_grad_());
  std::vector<at::Tensor> other_parameters = other->parameters();
  other_parameters.push_back(torch::zeros({3}).requires_grad_());
  REQUIRE(parameters.size() == 3);
  Adam adam(parameters);
  step_with(adam, {{parameters[0], 1.0}, {parameters[2], 1.0}});
  const Snapshot snapshot = take({{"m", twice}, {"o", adam}});
  CHECK(snapshot["o"].value("param_groups.0.params") == Value(ValueList{0, 0, 2}));
  CHECK(snapshot["m"].size() == 2);
  Adam into(other_parameters);
  apply(snapshot, {{"m", other}, {"o", into}});
  CHECK(into.state().size() == 2);
  CHECK(same_entries(take({{"m", other}, {"o", into}})["o"], snapshot["o"]));
}
