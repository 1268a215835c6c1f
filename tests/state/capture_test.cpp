// What capture refuses, and that it takes references and changes nothing.
#include "state/live_state.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

/// An optimizer class that Cairn does not know, though it derives from one it does.
class WarmAdam : public torch::optim::Adam {
 public:
  using torch::optim::Adam::Adam;
};

struct TwinNamesImpl : torch::nn::Module {
  TwinNamesImpl() {
    register_parameter("x", torch::ones({1}));
    register_buffer("x", torch::ones({1}));
  }
};

}  // namespace

TEST_CASE("capture shares memory and leaves gradients alone", "[capture]") {
  TwoLayers model;
  const Snapshot snapshot = capture({model}, {{"step", 3}});
  CHECK(snapshot["model"].tensor("first.weight").data_ptr() == model->first->weight.data_ptr());
  CHECK_FALSE(snapshot["model"].tensor("first.weight").requires_grad());
  CHECK(model->first->weight.requires_grad());
  CHECK(snapshot.metadata().at("step").as_int() == 3);
  {
    const torch::NoGradGuard no_grad;
    model->first->weight.fill_(5);
  }
  CHECK(snapshot["model"].tensor("first.weight").mean().item<float>() == 5);
  CHECK(capture({}).objects().empty());
}

TEST_CASE("a frozen parameter is recorded as one that asks for no gradient", "[capture]") {
  TwoLayers model;
  model->first->weight.requires_grad_(false);
  const Snapshot snapshot = capture({model});
  CHECK_FALSE(snapshot["model"].find("first.weight")->requires_grad);
  CHECK(snapshot["model"].find("first.bias")->requires_grad);
}

TEST_CASE("everything that cannot be stored is refused at once, by object and entry", "[capture][errors]") {
  const StateDict odd{{"fine", torch::ones({1})},
                      {"sparse", torch::eye(2).to_sparse()},
                      {"quantized", torch::quantize_per_tensor(torch::ones({2}), 0.1, 2, torch::kQInt8)},
                      {"channels", torch::quantize_per_channel(torch::ones({2, 2}), torch::tensor({0.1, 0.2}),
                                                               torch::zeros({2}, torch::kLong), 0, torch::kQInt8)},
                      {"meta", torch::empty({2}, torch::kMeta)},
                      {"slot", at::Tensor()}};
  TwoLayers model;
  WarmAdam adam(model->parameters());
  StateDict copy = odd;
  const auto call = [&] {
    capture({model, {"odd", copy}, {"optimizer", static_cast<torch::optim::Optimizer&>(adam)}});
  };
  CHECK(code_of(call) == ErrorCode::kUnsupported);
  const std::string message = message_of(call);
  CAPTURE(message);
  CHECK(contains(message, "odd/sparse: sparse_coo tensors"));
  CHECK(contains(message, "odd/quantized: quantized tensors (qint8)"));
  CHECK(contains(message, "odd/channels: quantized tensors (qint8)"));
  CHECK(contains(message, "odd/meta: tensors on the meta device"));
  CHECK(contains(message, "odd/slot: the tensor is undefined"));
  CHECK(contains(message, "WarmAdam"));
  CHECK(contains(message, "from_functions"));
  CHECK_FALSE(contains(message, "odd/fine"));
}

TEST_CASE("an undefined tensor alone is a wrong argument", "[capture][errors]") {
  CHECK(code_of([] { capture({{"t", at::Tensor()}}); }) == ErrorCode::kInvalidArgument);
  CHECK(contains(message_of([] { capture({{"t", at::Tensor()}}); }), "t/value"));
}

TEST_CASE("a parameter and a buffer of one name are refused", "[capture][errors]") {
  auto twins = std::make_shared<TwinNamesImpl>();
  CHECK(contains(message_of([&] { capture({{"m", twins}}); }), "m/x"));
}

TEST_CASE("an optimizer of a class of one's own is refused on apply as well, before anything is changed",
          "[apply][errors]") {
  TwoLayers model;
  fill(*model, 1);
  torch::optim::Adam adam(model->parameters());
  const Snapshot snapshot = take({{"model", model}, {"optimizer", adam}});
  fill(*model, 50);
  const StateDict before = take({model})["model"];
  WarmAdam warm(model->parameters());
  CHECK(code_of([&] {
          apply(snapshot, {{"model", model}, {"optimizer", static_cast<torch::optim::Optimizer&>(warm)}});
        }) == ErrorCode::kUnsupported);
  CHECK(same_entries(take({model})["model"], before));
}
