// Reading in part: odd tensors come back as they were, rows read their own chunks, damage is named.
#include <complex>

#include "store/scratch_store.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

at::Tensor round_trip(const at::Tensor& tensor) {
  ScratchStore scratch;
  Store store = scratch.open();
  store.create_checkpoint({{"t", tensor}});
  const at::Tensor read = store.latest()->tensor("t", "value");
  at::Tensor applied = torch::zeros(tensor.sizes(), tensor.options());
  apply_checkpoint(*store.latest(), {{"t", applied}});
  CHECK(same_bits(applied, tensor));
  return read;
}

}  // namespace

TEST_CASE("tensors of every layout come back with the same values", "[checkpoint][layout]") {
  const at::Tensor base = certified(1, "base", {40, 60});
  const at::Tensor image = certified(1, "image", {8, 3, 30, 30}).contiguous(at::MemoryFormat::ChannelsLast);
  const std::vector<std::pair<std::string, at::Tensor>> tensors = {
      {"0-dim", torch::tensor(3.5)},
      {"one element", torch::ones({1})},
      {"no elements", torch::empty({0})},
      {"no elements, three dimensions", torch::empty({3, 0, 2}, torch::kInt8)},
      {"transposed", base.t()},
      {"slice", base.slice(0, 1, 30, 3).slice(1, 2, 50, 7)},
      {"diagonal", base.diagonal()},
      {"expanded", torch::ones({3, 1}).expand({3, 400})},
      {"channels last", image},
      {"permuted", image.permute({3, 0, 2, 1})},
      {"ends of a chunk", certified(1, "chunk", {262144})},
      {"one over a chunk", certified(1, "chunk", {262145})},
      {"one under a chunk", certified(1, "chunk", {262143})},
      {"two chunks, not dense", certified(1, "wide", {700, 1400}).slice(1, 0, 1300, 2)},
  };
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    const at::Tensor read = round_trip(tensor);
    CHECK(same_bits(read, tensor));
    CHECK(read.dim() == tensor.dim());
  }
}

TEST_CASE("a tensor that is dense in another order keeps its strides", "[checkpoint][layout]") {
  const at::Tensor image = certified(1, "image", {8, 3, 30, 30}).contiguous(at::MemoryFormat::ChannelsLast);
  CHECK(round_trip(image).strides() == image.strides());
  const at::Tensor transposed = certified(1, "t", {30, 50}).t();
  CHECK(round_trip(transposed).strides() == transposed.strides());
}

TEST_CASE("pending conjugation and negation are resolved", "[checkpoint][layout]") {
  at::Tensor complex = torch::empty({300}, torch::kComplexFloat);
  complex.copy_(torch::complex(certified(1, "re", {300}), certified(1, "im", {300})));
  const at::Tensor conjugate = torch::conj(complex);
  REQUIRE(conjugate.is_conj());
  const at::Tensor read = round_trip(conjugate);
  CHECK_FALSE(read.is_conj());
  CHECK(read.equal(conjugate.resolve_conj()));
  const at::Tensor negated = torch::imag(torch::conj(complex));
  REQUIRE(negated.is_neg());
  CHECK(round_trip(negated).equal(negated.resolve_neg()));
}

TEST_CASE("a slice of a large base costs its own bytes", "[checkpoint][layout]") {
  ScratchStore scratch;
  const at::Tensor base = torch::rand({4'000'000});
  Store store = scratch.open();
  const Created created = store.create_checkpoint({{"t", base.slice(0, 0, 1000)}});
  CHECK(created.logical_bytes == 4000);
  CHECK(created.written_bytes < 6000);
}

TEST_CASE("two entries on one storage are stored once", "[checkpoint][dedup]") {
  ScratchStore scratch;
  Store store = scratch.open();
  const at::Tensor weight = certified(1, "w", {1000, 700});
  const Created created = store.create_checkpoint({{"m", StateDict{{"embed", weight}, {"head", weight}}}});
  CHECK(created.logical_bytes == 2 * weight.nbytes());
  CHECK(created.written_bytes < weight.nbytes() + 4096);
  CHECK(same_bits(store.latest()->tensor("m", "head"), weight));
}

TEST_CASE("every row range reads what slicing the tensor gives", "[checkpoint][rows]") {
  ScratchStore scratch;
  Store store = scratch.open();
  const at::Tensor table = certified(1, "table", {1000, 700});  // a row is 2,800 bytes, chunks end inside rows
  const at::Tensor small = certified(1, "small", {7, 3});
  store.create_checkpoint({{"m", StateDict{{"table", table},
                                           {"transposed", table.t()},
                                           {"small", small},
                                           {"empty", torch::empty({0, 5})},
                                           {"scalar", torch::tensor(1.0)}}}});
  const Checkpoint checkpoint = *store.latest();
  for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 0}, {0, 1}, {374, 375}, {370, 380}, {999, 1000}, {1000, 1000}, {0, 1000}, {300, 900}}) {
    INFO(begin << " to " << end);
    CHECK(same_bits(checkpoint.rows("m", "table", begin, end), table.slice(0, begin, end)));
  }
  CHECK(same_bits(checkpoint.rows("m", "transposed", 100, 164), table.t().slice(0, 100, 164)));
  CHECK(same_bits(checkpoint.rows("m", "small", 2, 5), small.slice(0, 2, 5)));
  CHECK(same_bits(checkpoint.rows("m", "empty", 0, 0), torch::empty({0, 5})));
  CHECK_THROWS_AS(checkpoint.rows("m", "table", -1, 4), Error);
  CHECK_THROWS_AS(checkpoint.rows("m", "table", 5, 4), Error);
  CHECK_THROWS_AS(checkpoint.rows("m", "table", 0, 1001), Error);
  CHECK_THROWS_AS(checkpoint.rows("m", "scalar", 0, 0), Error);
}

TEST_CASE("reading everything and committing it again gives an equal checkpoint at no cost", "[checkpoint]") {
  ScratchStore scratch;
  Store store = scratch.open();
  torch::nn::Sequential model(torch::nn::Linear(300, 400), torch::nn::BatchNorm1d(400));
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-3));
  model->forward(torch::rand({8, 300})).sum().backward();
  optimizer.step();
  store.create_checkpoint({model, optimizer, cpu_rng()}, {{"step", 1}});
  const Snapshot read = store.latest()->read();
  const Created again = store.commit(read);
  CHECK(again.new_chunk_count == 0);
  CHECK(again.written_bytes == 0);
  CHECK(store.latest()->metadata().at("step").as_int() == 1);
  const Checkpoint latest = *store.latest();
  for (const ObjectInfo& object : latest.info().objects) {
    const auto before = store.checkpoint(1)->state_dict(object.name);
    const auto after = latest.state_dict(object.name);
    REQUIRE(before.size() == after.size());
    for (const StateDict::Entry& entry : before) {
      INFO(object.name << "/" << entry.name);
      if (entry.is_tensor()) {
        CHECK(same_bits(after.tensor(entry.name), entry.tensor()));
      } else {
        CHECK(after.value(entry.name) == entry.value());
      }
    }
  }
}

TEST_CASE("entries are listed without reading their bytes", "[checkpoint]") {
  ScratchStore scratch;
  Store store = scratch.open();
  torch::nn::Linear linear(3, 2);
  store.create_checkpoint({{"model", linear}, {"counter", StateDict{{"epoch", Value(3)}}}});
  const auto entries = store.latest()->entries("model");
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "weight");
  CHECK(entries[0].dtype == "float32");
  CHECK(entries[0].sizes == std::vector<int64_t>{2, 3});
  CHECK(entries[0].bytes == 24);
  CHECK(entries[0].requires_grad);
  CHECK(store.latest()->entries("counter").at(0).value == Value(3));
}

TEST_CASE("a flipped bit is found on every way to read it, with object and entry named", "[checkpoint][damage]") {
  ScratchStore scratch;
  const at::Tensor good = certified(1, "good", {600, 600});
  const at::Tensor bad = certified(1, "bad", {600, 600});
  {
    Store store = scratch.open();
    store.create_checkpoint({{"model", StateDict{{"good", good}, {"bad", bad}}}});
  }
  REQUIRE(damage(scratch.path(), std::string_view(static_cast<const char*>(bad.data_ptr()), 64)));
  scratch.expect_damage();
  Store store = scratch.open();
  const Checkpoint checkpoint = *store.latest();
  at::Tensor into_good = torch::zeros({600, 600});
  at::Tensor into_bad = torch::zeros({600, 600});
  const StateDict into{{"good", into_good}, {"bad", into_bad}};
  ApplyOptions before;
  before.verify = VerifyMode::kBeforeCopying;
  const std::vector<std::function<void()>> ways = {
      [&] { checkpoint.tensor("model", "bad"); },
      [&] { checkpoint.rows("model", "bad", 0, 1); },
      [&] { checkpoint.state_dict("model"); },
      [&] { checkpoint.read(); },
      [&] {
        apply_checkpoint(checkpoint, {{"model", StateDict(into)}});
      },
      [&] {
        apply_checkpoint(checkpoint, {{"model", StateDict(into)}}, before);
      },
  };
  for (std::size_t way = 0; way < ways.size(); ++way) {
    INFO("way " << way);
    into_good.zero_();
    try {
      ways[way]();
      FAIL("no error was raised");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kCorruption);
      CHECK_THAT(error.what(),
                 Catch::Matchers::ContainsSubstring("checkpoint 1") && Catch::Matchers::ContainsSubstring("model/bad"));
    }
  }
  CHECK(into_good.equal(torch::zeros({600, 600})));  // the last way checked before it copied
  CHECK(same_bits(checkpoint.tensor("model", "good"), good));
  const VerifyReport report = store.verify();
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].object == "model");
  CHECK(report.problems[0].entry == "bad");
  CHECK(report.problems[0].version == 1);
}
