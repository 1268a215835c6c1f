// StateDict, Snapshot, names of targets, globs and prefixes.
#include "cairn/snapshot.h"
#include "cairn/target.h"
#include "state/live_state.h"
#include "state/selection.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

std::vector<std::string> names_of(const StateDict& state_dict) {
  std::vector<std::string> names;
  for (const StateDict::Entry& entry : state_dict) names.push_back(entry.name);
  return names;
}

std::vector<std::string> names_of(const Targets& targets) {
  std::vector<std::string> names;
  for (const NamedTarget& target : targets) names.push_back(target.name());
  return names;
}

}  // namespace

TEST_CASE("a state dict keeps its order through erase, rename and set", "[state_dict]") {
  StateDict dict{{"a", torch::ones({1})}, {"b", Value(2)}, {"c", torch::ones({3})}, {"d", Value("x")}};
  CHECK(names_of(dict) == std::vector<std::string>{"a", "b", "c", "d"});
  CHECK(dict.erase("b"));
  CHECK_FALSE(dict.erase("b"));
  dict.rename("c", "z");
  dict.set("a", torch::zeros({2}));
  dict.set("new", Value(5));
  CHECK(names_of(dict) == std::vector<std::string>{"a", "z", "d", "new"});
  CHECK(dict.tensor("a").sizes() == at::IntArrayRef{2});
  CHECK(dict.tensor("z").numel() == 3);
  CHECK(dict.value("d").as_string() == "x");
  CHECK(dict.value("new").as_int() == 5);
  CHECK_FALSE(dict.contains("c"));
  dict.rename("z", "z");
  CHECK(dict.contains("z"));
}

TEST_CASE("errors of a state dict say what is there", "[state_dict][errors]") {
  StateDict dict{{"weight", torch::ones({1})}, {"epoch", Value(2)}};
  CHECK(code_of([&] { dict.insert("epoch", Value(3)); }) == ErrorCode::kAlreadyExists);
  CHECK(code_of([&] { dict.rename("epoch", "weight"); }) == ErrorCode::kAlreadyExists);
  CHECK(code_of([&] { dict.rename("nothing", "x"); }) == ErrorCode::kNotFound);
  CHECK(code_of([&] { dict.tensor("epoch"); }) == ErrorCode::kInvalidArgument);
  CHECK(code_of([&] { dict.value("weight"); }) == ErrorCode::kInvalidArgument);
  CHECK(contains(message_of([&] { dict.tensor("wieght"); }), "'weight'"));
  CHECK(dict.find("nothing") == nullptr);
  CHECK(dict.size() == 2);
}

TEST_CASE("a state dict holds detached handles and remembers who asked for a gradient", "[state_dict]") {
  const at::Tensor leaf = torch::ones({2}).requires_grad_();
  StateDict dict;
  dict.insert("w", leaf);
  CHECK_FALSE(dict.tensor("w").requires_grad());
  CHECK(dict.find("w")->requires_grad);
  CHECK(dict.tensor("w").data_ptr() == leaf.data_ptr());
  dict.set("w", dict.tensor("w") * 2);
  CHECK(dict.find("w")->requires_grad);
  dict.set("w", Value(1));
  CHECK_FALSE(dict.find("w")->requires_grad);
  dict.insert("slot", at::Tensor());
  CHECK_FALSE(dict.tensor("slot").defined());
}

TEST_CASE("entry names are any bytes: slashes, NUL, 10,000 letters, names equal but for case", "[state_dict][names]") {
  const std::string nul("a\0b", 3);
  StateDict dict;
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("a//b"), std::string("../x"), std::string("/abs"), nul,
        std::string(10000, 'n'), std::string("Weight"), std::string("weight"), std::string("a.b_c"),
        std::string("a_b.c"), std::string("a%2Eb"), std::string("\xff\xfe")}) {
    dict.insert(name, torch::full({1}, static_cast<double>(dict.size())));
  }
  CHECK(dict.size() == 13);
  CHECK(dict.tensor(nul).item<float>() == 5);
  const Snapshot snapshot = take({{"odd", dict}});
  StateDict target = deep_copy(snapshot)["odd"];
  for (const StateDict::Entry& entry : target) entry.tensor().zero_();
  CHECK(apply(snapshot, {{"odd", target}}).applied_count == 13);
  CHECK(same_entries(target, dict));
}

TEST_CASE("a snapshot finds its objects by name and refuses wrong or repeated names", "[snapshot]") {
  Snapshot snapshot;
  snapshot.insert("model", StateDict{{"w", torch::ones({1})}});
  snapshot.insert("empty", StateDict());
  CHECK(snapshot.contains("model"));
  snapshot["model"].insert("epoch", Value(3));
  CHECK(std::as_const(snapshot)["model"].size() == 2);
  CHECK(code_of([&] { snapshot.insert("model", StateDict()); }) == ErrorCode::kAlreadyExists);
  CHECK(code_of([&] { snapshot["modle"]; }) == ErrorCode::kNotFound);
  CHECK(contains(message_of([&] { snapshot["modle"]; }), "'model'"));
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("a\0b", 3)}) {
    CHECK(code_of([&] { snapshot.insert(name, StateDict()); }) == ErrorCode::kInvalidArgument);
  }
  CHECK(snapshot.erase("empty"));
  CHECK_FALSE(snapshot.erase("empty"));
  CHECK(snapshot.objects().size() == 1);
}

TEST_CASE("targets without a name get that of their kind, numbered from the second", "[target]") {
  TwoLayers first;
  auto second = std::make_shared<TwoLayersImpl>();
  torch::nn::Sequential third(torch::nn::Linear(1, 1));
  torch::optim::SGD sgd(first->parameters(), torch::optim::SGDOptions(0.1));
  StateDict dict;
  const at::Tensor tensor = torch::ones({1});
  torch::data::samplers::SequentialSampler sampler(10);
  CHECK(names_of(Targets{first, sgd, cpu_rng(), second, *third, tensor, dict, sampler}) ==
        std::vector<std::string>{"model", "optimizer", "rng", "model_2", "model_3", "tensor", "state", "sampler"});
  CHECK(names_of(Targets{first, {"model", second}}) == std::vector<std::string>{"model_2", "model"});
  CHECK(names_of(Targets{{"net", first}, {"sgd", sgd}}) == std::vector<std::string>{"net", "sgd"});
}

TEST_CASE("object names that are empty, given twice, or hold a slash or NUL are refused", "[target][errors]") {
  const at::Tensor t = torch::ones({1});
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("/"), std::string("a\0b", 3)}) {
    CHECK(code_of([&] { Targets{{name, t}}; }) == ErrorCode::kInvalidArgument);
  }
  CHECK(contains(message_of([&] { Targets{{"a", t}, {"a", t}}; }), "'a' is given twice"));
  CHECK(code_of([] { Target(std::shared_ptr<torch::nn::Module>()); }) == ErrorCode::kInvalidArgument);
  CHECK(code_of([] { Target(at::Generator()); }) == ErrorCode::kInvalidArgument);
  CHECK(code_of([] { Target::from_functions("x", {}, {}); }) == ErrorCode::kInvalidArgument);
}

TEST_CASE("targets know kind and class", "[target]") {
  TwoLayers model;
  torch::optim::AdamW adam(model->parameters());
  torch::data::samplers::RandomSampler sampler(10);
  CHECK(Target(model).kind() == ObjectKind::kModule);
  CHECK(Target(*model).kind() == ObjectKind::kModule);
  CHECK(Target(model.ptr()).kind() == ObjectKind::kModule);
  CHECK(Target(torch::ones({1})).kind() == ObjectKind::kTensor);
  const Snapshot snapshot = capture({model, adam, sampler, cpu_rng()});
  CHECK(snapshot.find("optimizer")->type_name == "AdamW");
  CHECK(snapshot.find("sampler")->type_name == "RandomSampler");
  CHECK(snapshot.find("rng")->type_name == "cpu");
  CHECK(snapshot.find("rng")->kind == ObjectKind::kGenerator);
}

TEST_CASE("globs fit whole names", "[selection]") {
  using state::glob_fits;
  CHECK(glob_fits("model/*", "model/fc.weight"));
  CHECK(glob_fits("*", ""));
  CHECK(glob_fits("*.weight", "model/fc.weight"));
  CHECK(glob_fits("m?del/*w*t", "model/fc.weight"));
  CHECK(glob_fits("a*b*c", "aXbYbZc"));
  CHECK_FALSE(glob_fits("model/*.bias", "model/fc.weight"));
  CHECK_FALSE(glob_fits("model", "model/fc.weight"));
  CHECK_FALSE(glob_fits("?", ""));
  CHECK_FALSE(glob_fits("", "a"));
  CHECK_FALSE(glob_fits(std::string(30, '*') + "b", std::string(1000, 'a')));
}

TEST_CASE("a prefix ends at a dot, a slash or the end of the name", "[selection][names]") {
  using state::prefix_fits;
  CHECK(prefix_fits("model/enc", "model/enc.w"));
  CHECK(prefix_fits("model/enc", "model/enc"));
  CHECK(prefix_fits("model/enc.", "model/enc.w"));
  CHECK(prefix_fits("model", "model/enc.w"));
  CHECK(prefix_fits("", "model/enc.w"));
  CHECK_FALSE(prefix_fits("model/enc", "model/encoder.w"));
  CHECK_FALSE(prefix_fits("model/enc", "model/enc_2.w"));
  CHECK_FALSE(prefix_fits("mod", "model/enc.w"));
  CHECK_FALSE(prefix_fits("model/enc.w.x", "model/enc.w"));
}
