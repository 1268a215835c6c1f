// Makes the stores that the tests of the command line look at: known numbers, and names and values
// that are hard to show.
//
//   make_store PATH          three checkpoints, versions 1, 2 and 4
//   make_store --empty PATH  none
//   make_store --hold PATH   as the first, then keeps the store open for writing until a signal
//   ends the process
#include <unistd.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <cairn/cairn.h>

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

template <typename T>
at::Tensor tensor_of(at::ScalarType dtype, std::vector<std::int64_t> sizes, std::vector<T> elements) {
  at::Tensor tensor = at::empty(sizes, dtype);
  std::copy(elements.begin(), elements.end(), static_cast<T*>(tensor.data_ptr()));
  return tensor;
}

cairn::StateDict model_state(std::int64_t step) {
  cairn::StateDict state;
  state.insert({"fc1.weight", tensor_of<float>(at::kFloat, {2, 3}, {0, 1, 2, 3, 4, 5}),
                /*requires_grad=*/true});
  state.insert("fc1.bias",
               tensor_of<float>(at::kFloat, {4}, {1, static_cast<float>(kNan), -static_cast<float>(kInfinity), 3}));
  state.insert("half", tensor_of<float>(at::kFloat, {3}, {1.5F, -2, 0.25F}).to(at::kBFloat16));
  state.insert("counts", tensor_of<std::int64_t>(at::kLong, {2, 2}, {1, kSmallest, kLargest, 0}));
  state.insert("mask", tensor_of<bool>(at::kBool, {3}, {true, false, true}));
  state.insert("spectrum", tensor_of<std::complex<float>>(at::kComplexFloat, {2}, {{1, 2}, {3, -4}}));
  state.insert("transposed", at::arange(6, at::kDouble).view({2, 3}).t());
  state.insert("empty", at::empty({0, 4}, at::kFloat));
  state.insert("scalar", tensor_of<double>(at::kDouble, {}, {7}));
  state.insert("layer/deep/name", tensor_of<std::int32_t>(at::kInt, {2}, {-1, 1}));
  state.insert("evil\x1b[31m\nname", tensor_of<std::uint8_t>(at::kByte, {1}, {255}));
  state.insert("caf\xc3\xa9", tensor_of<std::int16_t>(at::kShort, {1}, {1}));
  state.insert("bad\xff", tensor_of<std::int8_t>(at::kChar, {1}, {-1}));
  // More than 1 MiB, so that it goes into a segment; another chunk for every checkpoint.
  state.insert("big", at::arange(step * 1000, step * 1000 + (1 << 19), at::kFloat));
  return state;
}

cairn::StateDict optimizer_state() {
  cairn::StateDict state;
  state.insert("param_groups.0.lr", 0.001);
  state.insert("param_groups.0.params", cairn::ValueList{0, 1});
  state.insert("param_groups.0.amsgrad", false);
  state.insert("limits", cairn::ValueList{kNan, kInfinity, -kInfinity, kSmallest, kLargest, nullptr, true, 5.0});
  state.insert("note", "x\x1b]0;evil\x07 \xff y");
  return state;
}

void create(cairn::Store& store, std::int64_t step, cairn::Metadata metadata) {
  cairn::Snapshot snapshot;
  snapshot.insert({"model", cairn::ObjectKind::kModule, "", model_state(step)});
  snapshot.insert({"optimizer", cairn::ObjectKind::kOptimizer, "AdamW", optimizer_state()});
  metadata.set("step", step);
  snapshot.metadata() = std::move(metadata);
  store.commit(snapshot);
}

void create_all(cairn::Store& store) {
  create(store, 100, {{"loss", 2.5}, {"note", "first"}});
  create(store, 200, {{"loss", kNan}, {"config", cairn::ValueMap{{"lr", 0.001}, {"layers", cairn::ValueList{1, 2}}}}});
  create(store, 250, {{"loss", 2.0}});
  cairn::Metadata last = {{"loss", 1.25}, {"is_best", true}, {"note", "\x1b[2Jbytes \xff"}, {"key\x1b[7m", 1}};
  for (int i = 0; i < 12; ++i) last.set("metric_" + std::to_string(10 + i), 1000.5 + i);
  create(store, 300, std::move(last));
  store.remove(3);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (argc < 2 || argc > 3) return 2;
  try {
    cairn::Store store = cairn::Store::open(argv[argc - 1]);
    if (mode != "--empty") create_all(store);
    if (mode == "--hold") {
      std::printf("%d\n", static_cast<int>(getpid()));
      std::fflush(stdout);
      pause();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_store: %s\n", error.what());
    return 1;
  }
  return 0;
}
