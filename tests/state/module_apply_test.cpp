// Applying modules, state dicts and tensors: names, shapes, dtypes, ties, and what stays unchanged.
#include "state/live_state.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

/// Module without tensors between two levels that have some; a batch norm, whose members are registered buffers.
struct NestedImpl : torch::nn::Module {
  NestedImpl() {
    scale = register_parameter("scale", torch::ones({2}));
    count = register_buffer("count", torch::zeros({1}, torch::kLong));
    middle = register_module("middle", torch::nn::Sequential(torch::nn::ReLU(), torch::nn::Linear(2, 2)));
    norm = register_module("norm", torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(2).affine(false)));
  }
  at::Tensor scale;
  at::Tensor count;
  torch::nn::Sequential middle{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
};
TORCH_MODULE(Nested);

std::vector<std::string> names_of(const StateDict& state_dict) {
  std::vector<std::string> names;
  for (const StateDict::Entry& entry : state_dict) names.push_back(entry.name);
  return names;
}

StateDict content(torch::nn::Module& module) { return take({{"m", module}})["m"]; }

}  // namespace

TEST_CASE("a module's entries have LibTorch's names in Python's order; undefined ones are left out",
          "[capture][names]") {
  Nested model;
  CHECK(names_of(capture({{"m", model}})["m"]) ==
        std::vector<std::string>{"scale", "count", "middle.1.weight", "middle.1.bias", "norm.running_mean",
                                 "norm.running_var", "norm.num_batches_tracked"});
  CHECK(capture({{"m", model}})["m"].find("scale")->requires_grad);
  CHECK_FALSE(capture({{"m", model}})["m"].find("count")->requires_grad);
  torch::nn::Sequential weightless(torch::nn::Linear(2, 2), torch::nn::ReLU(), torch::nn::Linear(2, 2));
  CHECK(names_of(capture({{"m", weightless}})["m"]) ==
        std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"});
}

TEST_CASE("apply copies into the module's own tensors and gives every value back", "[apply][module]") {
  Nested source;
  Nested target;
  fill(*source, 1);
  fill(*target, 100);
  const void* memory = target->scale.data_ptr();
  const Snapshot snapshot = take({{"m", source}});
  const ApplyReport report = apply(snapshot, {{"m", target}});
  CHECK(report.applied_count == 7);
  CHECK(report.applied_bytes == 2 * 4 + 8 + 16 + 8 + 8 + 8 + 8);
  CHECK(report.missing.empty());
  CHECK(report.unexpected.empty());
  CHECK(same_entries(content(*target), content(*source)));
  CHECK(target->scale.data_ptr() == memory);
  CHECK(target->scale.requires_grad());
  CHECK(target->scale.is_leaf());
}

TEST_CASE("restored batch norm statistics are those that forward uses", "[apply][module]") {
  torch::nn::BatchNorm1d trained(3);
  for (int i = 0; i < 5; ++i) trained(torch::randn({8, 3}) * 3 + 1);
  torch::nn::BatchNorm1d fresh(3);
  apply(take({{"m", trained}}), {{"m", fresh}});
  trained->eval();
  fresh->eval();
  const at::Tensor input = torch::randn({4, 3});
  CHECK(same_bits(fresh(input), trained(input)));
  CHECK(fresh->num_batches_tracked.item<int64_t>() == 5);
}

TEST_CASE("invariant 6: apply changes nothing until every name, shape and dtype has been checked", "[apply][errors]") {
  StateDict source{{"a", torch::ones({2})}, {"shape", torch::ones({3, 4})}, {"dtype", torch::ones({2}, torch::kDouble)},
                   {"kind", Value(3)},      {"extra", torch::ones({1})},    {"z", torch::ones({2})}};
  StateDict target{
      {"a", torch::zeros({2})},    {"shape", torch::zeros({5, 4})}, {"dtype", torch::zeros({2}, torch::kBFloat16)},
      {"kind", torch::zeros({1})}, {"absent", torch::zeros({1})},   {"z", torch::zeros({2})}};
  Snapshot snapshot;
  snapshot.insert("net", source);
  const std::string message = message_of([&] { apply(snapshot, {{"net", target}}); });
  CAPTURE(message);
  CHECK(code_of([&] { apply(snapshot, {{"net", target}}); }) == ErrorCode::kMismatch);
  CHECK(contains(message, "5 differences between checkpoint and targets"));
  CHECK(contains(message, "net/shape: checkpoint float32 {3, 4}, target float32 {5, 4}"));
  CHECK(contains(message, "net/dtype: checkpoint float64 {2}, target bfloat16 {2}"));
  CHECK(contains(message, "net/kind: a plain value in the checkpoint, a tensor in the target"));
  CHECK(contains(message, "1 entry of the checkpoint not in the target: 'extra'"));
  CHECK(contains(message, "1 entry of the target not in the checkpoint: 'absent'"));
  for (const StateDict::Entry& entry : target) CHECK(entry.tensor().equal(torch::zeros_like(entry.tensor())));
}

TEST_CASE("messages say which side is which", "[apply][errors]") {
  Snapshot snapshot;
  snapshot.insert("model", StateDict{{"weight", torch::ones({3, 4})}, {"bias", torch::ones({3})}});
  torch::nn::Linear model(4, 5);
  CHECK(contains(message_of([&] { apply(snapshot, {model}); }),
                 "model/weight: checkpoint float32 {3, 4}, model float32 {5, 4}"));
}

TEST_CASE("shapes are never broadcast, not even by non-strict apply", "[apply][shape]") {
  Snapshot snapshot;
  snapshot.insert("t", StateDict{{"value", torch::ones({1, 4, 3, 3})}});
  at::Tensor target = torch::zeros({2, 4, 3, 3});
  ApplyOptions options;
  options.strict = false;
  options.cast = true;
  CHECK(code_of([&] { apply(snapshot, {{"t", target}}, options); }) == ErrorCode::kMismatch);
  CHECK(target.equal(torch::zeros({2, 4, 3, 3})));
  at::Tensor scalar = torch::zeros({});
  snapshot["t"].set("value", torch::ones({1}));
  CHECK(code_of([&] { apply(snapshot, {{"t", scalar}}, options); }) == ErrorCode::kMismatch);
}

TEST_CASE("dtypes are only converted when asked, and the report lists what was", "[apply][dtype]") {
  Snapshot snapshot;
  snapshot.insert("t", StateDict{{"value", torch::tensor({0.1, 1e-8}, torch::kDouble)}});
  at::Tensor target = torch::zeros({2}, torch::kBFloat16);
  CHECK(contains(message_of([&] {
                   apply(snapshot, {{"t", target}});
                 }),
                 "t/value: checkpoint float64 {2}, target bfloat16 {2}"));
  CHECK(target.equal(torch::zeros({2}, torch::kBFloat16)));
  ApplyOptions options;
  options.cast = true;
  CHECK(apply(snapshot, {{"t", target}}, options).cast == std::vector<std::string>{"t/value"});
  CHECK(target.equal(torch::tensor({0.1, 1e-8}, torch::kDouble).to(torch::kBFloat16)));
  at::Tensor same = torch::zeros({2}, torch::kDouble);
  CHECK(apply(snapshot, {{"t", same}}, options).cast.empty());
  snapshot["t"].set("value", torch::zeros({2}, torch::kComplexFloat));
  CHECK(contains(message_of([&] { apply(snapshot, {{"t", same}}, options); }), "cannot be converted"));
}

TEST_CASE("strict apply refuses a model with more layers and names them", "[apply][strict]") {
  torch::nn::Sequential twelve;
  torch::nn::Sequential sixteen;
  for (int i = 0; i < 16; ++i) {
    if (i < 12) twelve->push_back(torch::nn::Linear(torch::nn::LinearOptions(2, 2).bias(false)));
    sixteen->push_back(torch::nn::Linear(torch::nn::LinearOptions(2, 2).bias(false)));
  }
  fill(*sixteen, 5);
  const StateDict before = content(*sixteen);
  const std::string message = message_of([&] { apply(take({{"m", twelve}}), {{"m", sixteen}}); });
  for (const char* name : {"12.weight", "13.weight", "14.weight", "15.weight"}) CHECK(contains(message, name));
  CHECK_FALSE(contains(message, "'11.weight'"));
  CHECK(same_entries(content(*sixteen), before));
}

TEST_CASE("the two allowances are separate", "[apply][strict]") {
  Snapshot snapshot;
  snapshot.insert("s", StateDict{{"a", torch::ones({1})}, {"extra", torch::ones({1})}});
  ApplyOptions unexpected;
  unexpected.allow_unexpected = true;
  ApplyOptions missing;
  missing.allow_missing = true;
  StateDict only_extra{{"a", torch::zeros({1})}};
  CHECK(apply(snapshot, {{"s", only_extra}}, unexpected).unexpected == std::vector<std::string>{"s/extra"});
  CHECK(code_of([&] { apply(snapshot, {{"s", only_extra}}, missing); }) == ErrorCode::kMismatch);
  StateDict both{{"a", torch::zeros({1})}, {"absent", torch::zeros({1})}};
  CHECK(code_of([&] { apply(snapshot, {{"s", both}}, unexpected); }) == ErrorCode::kMismatch);
  unexpected.allow_missing = true;
  CHECK(apply(snapshot, {{"s", both}}, unexpected).missing == std::vector<std::string>{"s/absent"});
  CHECK(both.tensor("a").item<float>() == 1);
  CHECK(both.tensor("absent").item<float>() == 0);
}

TEST_CASE("a non-strict apply that matches nothing is an error which shows both sets of names", "[apply][strict]") {
  Nested source;
  Nested target;
  Snapshot snapshot = take({{"m", source}});
  for (const std::string& name : names_of(snapshot["m"])) snapshot["m"].rename(name, "module._orig_mod." + name);
  ApplyOptions options;
  options.strict = false;
  const std::string message = message_of([&] { apply(snapshot, {{"m", target}}, options); });
  CAPTURE(message);
  CHECK(contains(message, "0 of 7"));
  CHECK(contains(message, "'scale'"));
  CHECK(contains(message, "'module._orig_mod.scale'"));
  at::Tensor lonely = torch::zeros({1});
  CHECK(code_of([&] { apply(snapshot, {{"other", lonely}}, options); }) == ErrorCode::kMismatch);
}

TEST_CASE("wrapper prefixes are stripped by a rule, and the error without one tells which", "[apply][rename]") {
  Nested source;
  Nested target;
  fill(*source, 1);
  fill(*target, 100);
  Snapshot snapshot = take({{"m", source}});
  for (const std::string& name : names_of(snapshot["m"])) snapshot["m"].rename(name, "module._orig_mod." + name);
  const std::string message = message_of([&] { apply(snapshot, {{"m", target}}); });
  CHECK(contains(message, "hint: the checkpoint's names start with 'module._orig_mod.'"));
  CHECK(contains(message, "{\"m/module._orig_mod.\", \"m/\"}"));
  ApplyOptions options;
  options.rename = {{"m/module._orig_mod.", "m/"}};
  CHECK(apply(snapshot, {{"m", target}}, options).applied_count == 7);
  CHECK(same_entries(content(*target), content(*source)));
}

TEST_CASE("renames respect separators, move whole objects and join them", "[apply][rename]") {
  Snapshot snapshot;
  snapshot.insert(
      "m",
      StateDict{{"enc.w", torch::ones({1})}, {"encoder.w", torch::full({1}, 2.)}, {"enc_2.w", torch::full({1}, 3.)}});
  snapshot.insert("tail", StateDict{{"w", torch::full({1}, 4.)}});
  StateDict target{{"x.w", torch::zeros({1})},
                   {"encoder.w", torch::zeros({1})},
                   {"enc_2.w", torch::zeros({1})},
                   {"end.w", torch::zeros({1})}};
  ApplyOptions options;
  options.rename = {{"m/enc", "net/x"}, {"m", "net"}, {"tail/", "net/end."}};
  CHECK(apply(snapshot, {{"net", target}}, options).applied_count == 4);
  CHECK(target.tensor("x.w").item<float>() == 1);
  CHECK(target.tensor("encoder.w").item<float>() == 2);
  CHECK(target.tensor("enc_2.w").item<float>() == 3);
  CHECK(target.tensor("end.w").item<float>() == 4);
  options.rename = {{"m/encoder", "m/enc"}};
  CHECK(code_of([&] { apply(snapshot, {{"m", target}}, options); }) == ErrorCode::kInvalidArgument);
  options.rename = {{"m/", ""}};
  CHECK(code_of([&] { apply(snapshot, {{"m", target}}, options); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("only and except choose entries, what they leave out is neither checked nor changed", "[apply][select]") {
  Snapshot snapshot;
  snapshot.insert("m",
                  StateDict{{"enc.w", torch::ones({1})}, {"enc.b", torch::ones({1})}, {"head.w", torch::ones({7})}});
  StateDict target{{"enc.w", torch::zeros({1})},
                   {"enc.b", torch::zeros({1})},
                   {"head.w", torch::zeros({2})},
                   {"new.w", torch::zeros({2})}};
  at::Tensor absent = torch::zeros({1});
  ApplyOptions options;
  options.only = {"m/enc.*"};
  options.except = {"*.b"};
  const ApplyReport report = apply(snapshot, {{"m", target}, {"absent", absent}}, options);
  CHECK(report.applied_count == 1);
  CHECK(report.missing.empty());
  CHECK(target.tensor("enc.w").item<float>() == 1);
  CHECK(target.tensor("enc.b").item<float>() == 0);
  options.only = {"typo/*"};
  CHECK(code_of([&] { apply(snapshot, {{"m", target}}, options); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("an object that is not in the checkpoint is not found, those beside it do not matter", "[apply][errors]") {
  Snapshot snapshot;
  snapshot.insert("model", StateDict{{"w", torch::ones({1})}});
  snapshot.insert("broken", StateDict{{"slot", at::Tensor()}});
  StateDict target{{"w", torch::zeros({1})}};
  CHECK(code_of([&] { apply(snapshot, {{"modle", target}}); }) == ErrorCode::kNotFound);
  CHECK(contains(message_of([&] { apply(snapshot, {{"modle", target}}); }), "'model'"));
  CHECK(apply(snapshot, {{"model", target}}).applied_count == 1);
  ApplyOptions options;
  options.strict = false;
  at::Tensor other = torch::zeros({1});
  CHECK(apply(snapshot, {{"model", target}, {"other", other}}, options).missing ==
        std::vector<std::string>{"other/value"});
}

TEST_CASE("plain values of a state dict are set, with their types", "[apply][state_dict]") {
  Snapshot snapshot;
  snapshot.insert("s", StateDict{{"scale", Value(256.0)},
                                 {"growth", Value(1999)},
                                 {"last", Value(-1)},
                                 {"flag", Value(true)},
                                 {"nested", Value(ValueList{1, 2.5, ValueMap{{"gamma", 0.9}}})}});
  StateDict target{
      {"scale", Value(1.0)}, {"growth", Value(0)}, {"last", Value(0)}, {"flag", Value(false)}, {"nested", Value()}};
  CHECK(apply(snapshot, {{"s", target}}).applied_count == 5);
  CHECK(same_entries(target, snapshot["s"]));
}

TEST_CASE("ties survive: both names keep one tensor, and one of them alone is enough", "[apply][ties]") {
  struct TiedImpl : torch::nn::Module {
    TiedImpl() {
      embed = register_module("embed", torch::nn::Linear(torch::nn::LinearOptions(3, 3).bias(false)));
      head = register_module("head", torch::nn::Linear(torch::nn::LinearOptions(3, 3).bias(false)));
      head->weight = head->register_parameter("weight2", embed->weight);
    }
    torch::nn::Linear embed{nullptr};
    torch::nn::Linear head{nullptr};
  };
  TiedImpl source;
  TiedImpl target;
  fill(source, 3);
  Snapshot snapshot = take({{"m", source}});
  CHECK(snapshot["m"].size() == 3);
  CHECK(apply(snapshot, {{"m", target}}).applied_count == 3);
  CHECK(target.head->weight.data_ptr() == target.embed->weight.data_ptr());
  CHECK(same_bits(target.head->weight, source.embed->weight));

  ApplyOptions options;
  options.only = {"m/embed.weight"};
  snapshot["m"].set("embed.weight", torch::full({3, 3}, 7.f));
  CHECK(apply(snapshot, {{"m", target}}, options).applied_count == 1);
  CHECK(target.head->weight.equal(torch::full({3, 3}, 7.f)));

  const std::string message = message_of([&] { apply(snapshot, {{"m", target}}); });
  CHECK(
      contains(message, "m/embed.weight and m/head.weight2 are one tensor in the target and differ in the checkpoint"));
}

TEST_CASE("targets of every layout are written in place; expanded ones are refused", "[apply][layout]") {
  const at::Tensor values = torch::randn({4, 6});
  for (at::Tensor target :
       {torch::zeros({6, 4}).t(), torch::zeros({8, 12}).slice(0, 0, 8, 2).slice(1, 1, 12, 2), torch::zeros({4, 6})}) {
    apply(take({{"t", values}}), {{"t", target}});
    CHECK(target.equal(values));
  }
  const at::Tensor base = torch::zeros({3, 1});
  CHECK(contains(message_of([&] {
                   apply(take({{"t", torch::ones({3, 4})}}), {{"t", base.expand({3, 4})}});
                 }),
                 "overlap"));
  CHECK(base.equal(torch::zeros({3, 1})));
  at::Tensor conjugate = torch::conj(torch::zeros({2}, torch::kComplexFloat));
  const at::Tensor complex = torch::complex(torch::randn({2}), torch::randn({2}));
  apply(take({{"t", complex}}), {{"t", conjugate}});
  CHECK(conjugate.resolve_conj().equal(complex));
}

TEST_CASE("a backward pass notices that apply has changed what it saved", "[apply][autograd]") {
  const at::Tensor weight = torch::ones({2}).requires_grad_();
  const at::Tensor loss = (weight * weight).sum();
  apply(take({{"w", torch::zeros({2})}}), {{"w", weight}});
  CHECK_THROWS_AS(loss.backward(), c10::Error);
  CHECK(weight.requires_grad());
}

TEST_CASE("a captured snapshot can be applied to the objects it shares memory with, entries swapped", "[apply]") {
  StateDict live{{"a", torch::ones({3})}, {"b", torch::zeros({3})}};
  Snapshot snapshot = capture({{"s", live}});
  CHECK(apply(snapshot, {{"s", live}}).applied_count == 2);
  snapshot["s"].rename("a", "c");
  snapshot["s"].rename("b", "a");
  snapshot["s"].rename("c", "b");
  apply(snapshot, {{"s", live}});
  CHECK(live.tensor("a").equal(torch::zeros({3})));
  CHECK(live.tensor("b").equal(torch::ones({3})));
}

TEST_CASE("progress of an apply runs from nothing to everything", "[apply]") {
  StateDict live{{"a", torch::ones({3})}, {"b", torch::zeros({30})}};
  const Snapshot snapshot = take({{"s", live}});
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  ApplyOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) { calls.emplace_back(done, total); };
  apply(snapshot, {{"s", live}}, options);
  REQUIRE(calls.size() >= 2);
  CHECK(calls.front() == std::pair<std::uint64_t, std::uint64_t>(0, 132));
  CHECK(calls.back() == std::pair<std::uint64_t, std::uint64_t>(132, 132));
}
