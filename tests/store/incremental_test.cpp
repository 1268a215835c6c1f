// What a create writes is what changed.
#include "store/scratch_store.h"
#include "support/torch_test.h"

using namespace cairn;
using namespace cairn::testing;

namespace {

/// 64 MiB in 64 tensors.
StateDict large_model() {
  StateDict model;
  for (int layer = 0; layer < 64; ++layer) {
    const std::string name = "layers." + std::to_string(layer) + ".weight";
    model.insert(name, certified(layer, name, {512, 512}));
  }
  return model;
}

}  // namespace

TEST_CASE("a resave of an unchanged 64 MiB model adds less than 64 KiB to the directory", "[store][dedup]") {
  ScratchStore scratch;
  StateDict model = large_model();
  Store store = scratch.open();
  const Created first = store.create_checkpoint({{"model", model}}, {{"step", 1}});
  CHECK(first.written_bytes >= std::uint64_t{64} << 20);
  const std::uint64_t before = bytes_below(scratch.path());
  const Created second = store.create_checkpoint({{"model", model}}, {{"step", 2}});
  CHECK(second.new_chunk_count == 0);
  CHECK(second.written_bytes == 0);
  CHECK(bytes_below(scratch.path()) - before < 64 * 1024);
}

TEST_CASE("a save with one changed tensor writes about that tensor", "[store][dedup]") {
  ScratchStore scratch;
  StateDict model = large_model();
  Store store = scratch.open();
  store.create_checkpoint({{"model", model}});
  const std::uint64_t before = bytes_below(scratch.path());
  at::Tensor changed = model.tensor("layers.17.weight");
  changed.add_(1);
  const Created created = store.create_checkpoint({{"model", model}});
  CHECK(created.new_chunk_count == 1);
  CHECK(created.written_bytes > changed.nbytes());
  CHECK(created.written_bytes < changed.nbytes() + 32 * 1024);
  CHECK(bytes_below(scratch.path()) - before < changed.nbytes() + 128 * 1024);
  CHECK(same_bits(store.latest()->tensor("model", "layers.17.weight"), changed));
  CHECK(same_bits(store.checkpoint(1)->tensor("model", "layers.16.weight"), model.tensor("layers.16.weight")));
}

TEST_CASE("an object that did not change shares its rows with the checkpoint before, also after a reopen",
          "[store][dedup]") {
  ScratchStore scratch;
  const at::Tensor frozen = certified(1, "frozen", {900, 900});
  for (int64_t step = 1; step <= 3; ++step) {
    Store store = scratch.open();
    const Created created = store.create_checkpoint(
        {{"backbone", StateDict{{"w", frozen}}}, {"head", StateDict{{"w", certified(step, "w", {100})}}}});
    if (step > 1) CHECK(created.written_bytes < 4096);
  }
}
