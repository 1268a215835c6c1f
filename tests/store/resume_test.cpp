// The main job: train, stop, resume, and be bit for bit where the uninterrupted run is.
#include <optional>

#include "store/scratch_store.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

struct Run {
  torch::nn::Sequential model{torch::nn::Linear(12, 64), torch::nn::BatchNorm1d(64), torch::nn::ReLU(),
                              torch::nn::Dropout(0.3), torch::nn::Linear(64, 1)};
  torch::optim::AdamW optimizer{model->parameters(), torch::optim::AdamWOptions(1e-2)};
  torch::data::samplers::RandomSampler sampler{64};
  double rate = 1e-2;

  Targets state() { return {{"model", model}, {"optimizer", optimizer}, {"sampler", sampler}, {"rng", cpu_rng()}}; }

  double step() {
    const auto indices = sampler.next(4);
    if (!indices) {
      sampler.reset();
      return step();
    }
    rate *= 0.97;
    static_cast<torch::optim::AdamWOptions&>(optimizer.param_groups()[0].options()).lr(rate);
    at::Tensor x = torch::randn({4, 12});
    for (std::size_t i = 0; i < indices->size(); ++i)
      x[static_cast<int64_t>(i)].add_(static_cast<double>((*indices)[i]));
    optimizer.zero_grad();
    auto loss = (model->forward(x) - 1).square().mean();
    loss.backward();
    optimizer.step();
    return loss.item<double>();
  }
};

}  // namespace

TEST_CASE("a resumed run goes on bit for bit as the uninterrupted one", "[store][resume]") {
  ScratchStore scratch;
  constexpr int kSteps = 40;
  std::vector<double> losses;
  std::vector<at::Tensor> weights;
  {
    torch::manual_seed(7);
    Run run;
    Store store = scratch.open();
    for (int step = 0; step < kSteps; ++step) {
      if (step % 5 == 0) store.create_checkpoint(run.state(), {{"step", step}, {"rate", run.rate}});
      losses.push_back(run.step());
    }
    for (const auto& parameter : run.model->parameters()) weights.push_back(parameter.detach().clone());
  }
  for (const std::uint64_t version : {8u, 5u, 2u}) {
    torch::manual_seed(99);
    Run run;
    Store store = scratch.open();
    const Checkpoint checkpoint = *store.checkpoint(version);
    const ApplyReport report = apply_checkpoint(checkpoint, run.state());
    CHECK(report.applied_count > 10);
    run.rate = checkpoint.metadata().at("rate").as_double();
    for (auto step = static_cast<std::size_t>(checkpoint.metadata().at("step").as_int()); step < kSteps; ++step) {
      const double loss = run.step();
      INFO("from version " << version << " at step " << step);
      REQUIRE(std::memcmp(&loss, &losses[step], sizeof loss) == 0);
    }
    const auto parameters = run.model->parameters();
    for (std::size_t i = 0; i < weights.size(); ++i) CHECK(same_bits(parameters[i], weights[i]));
  }
}

TEST_CASE("resume falls back to the checkpoint before when a chunk is damaged, and says so", "[store][resume]") {
  ScratchStore scratch;
  const at::Tensor newest = certified(2, "t", {600, 600});
  {
    Store store = scratch.open();
    store.create_checkpoint({{"t", certified(1, "t", {600, 600})}}, {{"step", 1}});
    store.create_checkpoint({{"t", newest}}, {{"step", 2}});
  }
  REQUIRE(damage(scratch.path(), std::string_view(static_cast<const char*>(newest.data_ptr()), 64)));
  scratch.expect_damage();
  std::string log;
  StoreOptions options;
  options.log = [&](LogLevel, std::string_view message) { log += message; };
  Store store = scratch.open(options);
  at::Tensor tensor = torch::zeros({600, 600});
  const auto resumed = store.resume({{"t", tensor}});
  REQUIRE(resumed);
  CHECK(resumed->version() == 1);
  CHECK(same_bits(tensor, certified(1, "t", {600, 600})));
  CHECK_THAT(log, Catch::Matchers::ContainsSubstring("checkpoint 2") && Catch::Matchers::ContainsSubstring("t/value"));
}

TEST_CASE("resume with no whole checkpoint raises and leaves the targets alone", "[store][resume]") {
  ScratchStore scratch;
  const at::Tensor only = certified(1, "t", {600, 600});
  scratch.open().create_checkpoint({{"t", only}});
  REQUIRE(damage(scratch.path(), std::string_view(static_cast<const char*>(only.data_ptr()), 64)));
  scratch.expect_damage();
  StoreOptions quiet;
  quiet.log = [](LogLevel, std::string_view) {};
  Store store = scratch.open(quiet);
  at::Tensor tensor = torch::zeros({600, 600});
  try {
    store.resume({{"t", tensor}});
    FAIL("no error was raised");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kCorruption);
  }
  CHECK(tensor.equal(torch::zeros({600, 600})));
}

TEST_CASE("resume does not hide a mismatch behind an older checkpoint", "[store][resume]") {
  ScratchStore scratch;
  Store store = scratch.open();
  store.create_checkpoint({{"t", torch::ones({2})}});
  store.create_checkpoint({{"t", torch::ones({3})}});
  at::Tensor tensor = torch::zeros({2});
  try {
    store.resume({{"t", tensor}});
    FAIL("no error was raised");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kMismatch);
  }
  CHECK(tensor.equal(torch::zeros({2})));
}

TEST_CASE("a model is applied without the optimizer beside it, even when the optimizer is damaged", "[store][resume]") {
  ScratchStore scratch;
  const at::Tensor moment = certified(1, "moment", {600, 600});
  const at::Tensor weight = certified(1, "weight", {600, 600});
  scratch.open().create_checkpoint({{"model", StateDict{{"w", weight}}}, {"optimizer", StateDict{{"m", moment}}}});
  REQUIRE(damage(scratch.path(), std::string_view(static_cast<const char*>(moment.data_ptr()), 64)));
  scratch.expect_damage();
  at::Tensor target = torch::zeros({600, 600});
  apply_checkpoint(*scratch.open().latest(), {{"model", StateDict{{"w", target}}}});
  CHECK(same_bits(target, weight));
}

TEST_CASE("several models in one checkpoint do not mix", "[store][resume]") {
  ScratchStore scratch;
  Store store = scratch.open();
  torch::nn::Linear raw(20, 20), ema(20, 20), raw_target(20, 20), ema_target(20, 20);
  store.create_checkpoint({{"raw", raw}, {"ema", ema}}, {{"decay_count", 12}});
  apply_checkpoint(*store.latest(), {{"raw", raw_target}, {"ema", ema_target}});
  CHECK(raw_target->weight.equal(raw->weight));
  CHECK(ema_target->weight.equal(ema->weight));
  CHECK_FALSE(raw->weight.equal(ema->weight));
}
