// How long training stands still for a create in the background.
#include "benchmarks/cases.h"
#include "benchmarks/controls.h"
#include "benchmarks/state.h"
#include "cairn/store.h"

namespace fs = std::filesystem;

namespace cairn::benchmarks {

std::vector<Row> background_rows(const Settings& settings) {
  const std::vector<at::Tensor> tensors = random_tensors(settings.bytes, settings.tensors, 5);
  const std::vector<at::Tensor> warm = random_tensors(settings.bytes, settings.tensors, 6);
  const std::uint64_t bytes = bytes_of(tensors);
  const fs::path store_path = settings.folder / "background.cairn";
  std::uint64_t number = 0;
  CreateOptions options;
  options.threads = settings.threads;
  std::optional<Store> store;
  const auto cairn = [&] {
    if (number % 3 == 0) {  // a store that keeps its warm memory and does not fill the disk
      store.reset();
      clear(store_path);
      store = Store::open(store_path);
      StateDict state = state_dict_of(tensors);
      store->create_checkpoint_async({{"state", state}}, {}, options).wait();
    }
    change_all(tensors, ++number);
    StateDict state = state_dict_of(tensors);
    std::optional<PendingCheckpoint> pending;
    const double seconds = seconds_of([&] {
      pending = store->create_checkpoint_async({{"state", state}}, {}, options);
    });
    pending->wait();
    return seconds;
  };
  const auto copy = [&] { return seconds_of([&] { copy_all(tensors, warm, settings.threads); }); };
  const std::vector<double> seconds = medians_in_turns(settings.repeats, {cairn, copy});
  store.reset();
  clear(store_path);
  return {
      at_most("background create until it returns, all changed", bytes, seconds[0], "memcpy, warm", seconds[1], 1.3)};
}

}  // namespace cairn::benchmarks
