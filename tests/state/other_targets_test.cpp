// Generators, samplers and user types.
#include "state/live_state.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

namespace user {

struct Counter {
  std::int64_t epoch = 0;
  at::Tensor history = torch::zeros({2});
};

cairn::StateDict to_state_dict(const Counter& counter) {
  return {{"epoch", cairn::Value(counter.epoch)}, {"history", counter.history}};
}

void from_state_dict(Counter& counter, const cairn::StateDict& state_dict) {
  counter.epoch = state_dict.value("epoch").as_int();
  counter.history = state_dict.tensor("history").clone();
}

}  // namespace user

namespace {

/// Rest of an epoch.
template <typename Sampler>
std::vector<std::size_t> drain(Sampler& sampler) {
  std::vector<std::size_t> indices;
  while (auto batch = sampler.next(3)) indices.insert(indices.end(), batch->begin(), batch->end());
  return indices;
}

template <typename Sampler>
void check_sampler(Sampler& sampler, Sampler& fresh) {
  sampler.next(4);
  const Snapshot snapshot = take({sampler});
  const std::vector<std::size_t> rest = drain(sampler);
  REQUIRE_FALSE(rest.empty());
  apply(snapshot, {fresh});
  CHECK(drain(fresh) == rest);
  apply(snapshot, {sampler});
  CHECK(drain(sampler) == rest);
}

}  // namespace

TEST_CASE("a generator draws on as it did, a cached normal value included", "[apply][generator]") {
  at::Generator generator = at::detail::createCPUGenerator(7);
  torch::rand({5}, generator);
  // 16-bit draws of an odd number leave a normal value over for the next call.
  torch::randn({3}, generator, torch::kDouble);
  const Snapshot snapshot = take({generator});
  CHECK(snapshot["rng"].tensor("state").numel() == 5056);
  const at::Tensor first = torch::randn({5}, generator, torch::kDouble);
  const at::Tensor more = torch::rand({50}, generator);
  apply(snapshot, {generator});
  CHECK(same_bits(torch::randn({5}, generator, torch::kDouble), first));
  CHECK(same_bits(torch::rand({50}, generator), more));
}

TEST_CASE("the default generator makes dropout and randn go on", "[apply][generator]") {
  torch::manual_seed(3);
  const Snapshot snapshot = take({cpu_rng()});
  const at::Tensor drawn = torch::randn({5});
  const at::Tensor dropped = torch::dropout(torch::ones({50}), 0.5, true);
  apply(snapshot, {cpu_rng()});
  CHECK(same_bits(torch::randn({5}), drawn));
  CHECK(same_bits(torch::dropout(torch::ones({50}), 0.5, true), dropped));
}

TEST_CASE("a generator's state that does not fit is refused before anything is changed", "[apply][generator][errors]") {
  at::Generator generator = at::detail::createCPUGenerator(7);
  at::Tensor beside = torch::zeros({2});
  Snapshot snapshot = take({{"rng", generator}, {"t", torch::ones({2})}});
  const auto refuse = [&](ErrorCode code) {
    CHECK(code_of([&] { apply(snapshot, {{"rng", generator}, {"t", beside}}); }) == code);
    CHECK(beside.equal(torch::zeros({2})));
  };
  snapshot["rng"].set("state", torch::zeros({5056}, torch::kByte));  // no state of a Mersenne twister
  refuse(ErrorCode::kMismatch);
  snapshot["rng"].set("state", torch::zeros({16}, torch::kByte));
  refuse(ErrorCode::kMismatch);
  CHECK(contains(message_of([&] {
                   apply(snapshot, {{"rng", generator}});
                 }),
                 "checkpoint uint8 {16}, generator uint8 {5056}"));
  snapshot["rng"].set("state", Value(3));
  refuse(ErrorCode::kMismatch);
  Snapshot other;
  other.insert({"rng", ObjectKind::kGenerator, "cuda", take({generator})["rng"]});
  CHECK(contains(message_of([&] { apply(other, {generator}); }), "class cuda in the checkpoint, cpu in the call"));
}

TEST_CASE("samplers go on with exactly the same remaining indices", "[apply][sampler]") {
  namespace samplers = torch::data::samplers;
  samplers::RandomSampler random(20);
  samplers::RandomSampler random_fresh(20);
  check_sampler(random, random_fresh);
  samplers::SequentialSampler sequential(20);
  samplers::SequentialSampler sequential_fresh(20);
  check_sampler(sequential, sequential_fresh);
  samplers::DistributedRandomSampler distributed(40, 2, 1);
  distributed.set_epoch(3);
  distributed.reset();
  samplers::DistributedRandomSampler distributed_fresh(40, 2, 1);
  check_sampler(distributed, distributed_fresh);
  samplers::DistributedSequentialSampler ordered(40, 2, 1);
  samplers::DistributedSequentialSampler ordered_fresh(40, 2, 1);
  check_sampler(ordered, ordered_fresh);
  samplers::StreamSampler stream(20);
  samplers::StreamSampler stream_fresh(20);
  stream.next(4);
  apply(take({stream}), {stream_fresh});
  CHECK(stream_fresh.next(100)->size() == 16);
}

TEST_CASE("a sampler of another class or length is refused", "[apply][sampler][errors]") {
  torch::data::samplers::RandomSampler random(20);
  torch::data::samplers::RandomSampler shorter(10);
  torch::data::samplers::SequentialSampler sequential(20);
  const Snapshot snapshot = take({random});
  CHECK(contains(message_of([&] { apply(snapshot, {shorter}); }),
                 "sampler/indices: checkpoint int64 {20}, sampler int64 {10}"));
  CHECK(contains(message_of([&] { apply(snapshot, {sequential}); }),
                 "class RandomSampler in the checkpoint, SequentialSampler"));
  Snapshot outside = take({random});
  outside["sampler"].tensor("index").fill_(21);
  CHECK(code_of([&] { apply(outside, {random}); }) == ErrorCode::kMismatch);
  Snapshot empty = take({random});
  empty["sampler"].erase("index");
  CHECK(contains(message_of([&] { apply(empty, {random}); }), "'index'"));
  CHECK(shorter.next(100)->size() == 10);
}

TEST_CASE("user types join through two functions found by their argument", "[apply][user]") {
  user::Counter counter{5, torch::ones({2})};
  const Snapshot snapshot = take({{"counter", counter}});
  CHECK(snapshot.find("counter")->kind == ObjectKind::kUser);
  CHECK(snapshot.find("counter")->type_name == "user::Counter");
  user::Counter restored;
  CHECK(apply(snapshot, {{"counter", restored}}).applied_count == 2);
  CHECK(restored.epoch == 5);
  CHECK(restored.history.equal(torch::ones({2})));
}

TEST_CASE("user types join through lambdas; their class is compared", "[apply][user]") {
  std::int64_t value = 3;
  const auto target = [&value](const std::string& type) {
    return Target::from_functions(
        type,
        [&value] {
          return StateDict{{"value", Value(value)}};
        },
        [&value](const StateDict& dict) { value = dict.value("value").as_int(); });
  };
  const Snapshot snapshot = take({{"x", target("scaler")}});
  value = 9;
  CHECK(contains(message_of([&] {
                   apply(snapshot, {{"x", target("other")}});
                 }),
                 "class scaler in the checkpoint, other in the call"));
  CHECK(value == 9);
  apply(snapshot, {{"x", target("scaler")}});
  CHECK(value == 3);
}

TEST_CASE("what a user's function throws passes through and leaves the other targets unchanged", "[apply][user]") {
  at::Tensor tensor = torch::zeros({2});
  at::Generator generator = at::detail::createCPUGenerator(1);
  const auto make = [](bool is_throwing) {
    return Target::from_functions(
        "x",
        [] {
          return StateDict{{"value", Value(1)}};
        },
        [is_throwing](const StateDict&) {
          if (is_throwing) throw std::domain_error("user");
        });
  };
  const Snapshot snapshot = take({{"t", torch::ones({2})}, {"rng", generator}, {"x", make(false)}});
  torch::rand({3}, generator);
  const at::Tensor before = generator.get_state();
  CHECK_THROWS_AS(apply(snapshot, {{"t", tensor}, {"rng", generator}, {"x", make(true)}}), std::domain_error);
  CHECK(tensor.equal(torch::zeros({2})));
  CHECK(generator.get_state().equal(before));
  apply(snapshot, {{"t", tensor}, {"rng", generator}, {"x", make(false)}});
  CHECK(tensor.equal(torch::ones({2})));
}

TEST_CASE("several models of one call do not mix", "[apply][module]") {
  TwoLayers raw;
  TwoLayers ema;
  fill(*raw, 1);
  fill(*ema, 50);
  const Snapshot snapshot = take({{"raw", raw}, {"ema", ema}, {"decay", StateDict{{"count", Value(7)}}}});
  TwoLayers raw_target;
  TwoLayers ema_target;
  StateDict decay{{"count", Value(0)}};
  apply(snapshot, {{"ema", ema_target}, {"raw", raw_target}, {"decay", decay}});
  CHECK(raw_target->first->weight.equal(raw->first->weight));
  CHECK(ema_target->first->weight.equal(ema->first->weight));
  CHECK(decay.value("count").as_int() == 7);
}

TEST_CASE("metadata keeps NaN, infinities and the extremes of int64", "[capture][metadata]") {
  const double tiny = 5e-324;
  const Snapshot snapshot = capture({}, {{"nan", std::nan("")},
                                         {"inf", -std::numeric_limits<double>::infinity()},
                                         {"tiny", tiny},
                                         {"min", std::numeric_limits<std::int64_t>::min()},
                                         {"history", ValueList{}}});
  CHECK(std::isnan(snapshot.metadata().at("nan").as_double()));
  CHECK(snapshot.metadata().at("tiny").as_double() == tiny);
  CHECK(snapshot.metadata().at("min").as_int() == std::numeric_limits<std::int64_t>::min());
  CHECK(snapshot.metadata().at("history").as_list().empty());
}
