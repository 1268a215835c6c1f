// Bringing a state back into live tensors.
#include <fcntl.h>
#include <unistd.h>

#include <torch/serialize.h>

#include "benchmarks/cases.h"
#include "benchmarks/controls.h"
#include "benchmarks/state.h"
#include "cairn/apply.h"
#include "cairn/store.h"

namespace fs = std::filesystem;

namespace cairn::benchmarks {

namespace {

/// Takes the files of a store that is closed out of the page cache.
void forget(const fs::path& folder) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
  }
}

/// Reads all files of a store with large read calls, as a copy of the store would.
void read_all(const fs::path& folder) {
  std::vector<char> buffer(std::size_t{1} << 20);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    while (read(file, buffer.data(), buffer.size()) > 0) {
    }
    close(file);
  }
}

Row cold_row(const Settings& settings, const fs::path& path, std::uint64_t bytes, const std::vector<at::Tensor>& live) {
  StateDict target = state_dict_of(live);
  ApplyOptions options;
  options.threads = settings.threads;
  const auto cairn = [&] {
    forget(path);
    return seconds_of([&] { apply_checkpoint(*Store::open_read_only(path).latest(), {{"state", target}}, options); });
  };
  const auto plain = [&] {
    forget(path);
    return seconds_of([&] { read_all(path); });
  };
  const std::vector<double> seconds = medians_in_turns(settings.repeats, {cairn, plain});
  return at_least("open and apply, verified, page cache cold", bytes, seconds[0], "read calls, one thread", seconds[1],
                  0.8);
}

}  // namespace

std::vector<Row> apply_rows(const Settings& settings) {
  const std::vector<at::Tensor> tensors = random_tensors(settings.bytes, settings.tensors, 3);
  const std::vector<at::Tensor> live = random_tensors(settings.bytes, settings.tensors, 4);
  const std::uint64_t bytes = bytes_of(tensors);
  const fs::path store_path = settings.folder / "apply.cairn";
  const fs::path torch_path = settings.folder / "apply.pt";
  clear(store_path);
  clear(torch_path);
  std::vector<Row> rows;
  {
    Store store = Store::open(store_path);
    StateDict state = state_dict_of(tensors);
    store.create_checkpoint({{"state", state}});
    torch::save(tensors, torch_path.string());
    const std::optional<Checkpoint> checkpoint = store.latest();
    StateDict target = state_dict_of(live);
    ApplyOptions options;
    options.threads = settings.threads;
    const auto cairn = [&] { return seconds_of([&] { apply_checkpoint(*checkpoint, {{"state", target}}, options); }); };
    const auto copy = [&] { return seconds_of([&] { copy_all(tensors, live, settings.threads); }); };
    const auto torch = [&] {
      return seconds_of([&] {
        std::vector<at::Tensor> loaded;
        torch::load(loaded, torch_path.string());
        for (std::size_t i = 0; i < live.size(); ++i) live[i].copy_(loaded[i]);
      });
    };
    const std::vector<double> seconds = medians_in_turns(settings.repeats, {cairn, copy, torch});
    rows = {at_least("apply, verified, page cache warm", bytes, seconds[0], "memcpy", seconds[1], 1.0),
            at_least("apply, verified, page cache warm", bytes, seconds[0], "torch::load + copy", seconds[2], 3.0)};
  }
  rows.push_back(cold_row(settings, store_path, bytes, live));
  clear(store_path);
  clear(torch_path);
  return rows;
}

}  // namespace cairn::benchmarks
