// Whole saves and saves of what changed.
#include <unistd.h>

#include <torch/serialize.h>

#include "benchmarks/cases.h"
#include "benchmarks/controls.h"
#include "benchmarks/memory.h"
#include "benchmarks/state.h"
#include "cairn/store.h"

namespace fs = std::filesystem;

namespace cairn::benchmarks {

namespace {

CreateOptions with_threads(const Settings& settings) {
  CreateOptions options;
  options.threads = settings.threads;
  return options;
}

/// Bytes written since it was made: what the files grew by, or what went to the device (whole pages, and what was
/// deleted since), whichever is more.
class BytesWritten {
 public:
  explicit BytesWritten(fs::path folder)
      : folder_(std::move(folder)), files_(bytes_below(folder_)), device_(device_bytes_written()) {}

  std::uint64_t so_far() const {
    const std::uint64_t files = bytes_below(folder_);
    return std::max(files - std::min(files, files_), device_bytes_written() - device_);
  }

 private:
  fs::path folder_;
  std::uint64_t files_;
  std::uint64_t device_;
};

}  // namespace

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

void clear(const fs::path& path) {
  fs::remove_all(path);
  sync();
}

std::vector<Row> save_rows(const Settings& settings) {
  const std::vector<at::Tensor> tensors = random_tensors(settings.bytes, settings.tensors, 1);
  const std::uint64_t bytes = bytes_of(tensors);
  const fs::path store_path = settings.folder / "save.cairn";
  const fs::path plain_path = settings.folder / "plain";
  const fs::path torch_path = settings.folder / "torch.pt";
  std::uint64_t written = 0;
  const auto cairn = [&] {
    clear(store_path);
    Store store = Store::open(store_path);
    StateDict state = state_dict_of(tensors);
    const BytesWritten counter(store_path);
    const double seconds = seconds_of([&] { store.create_checkpoint({{"state", state}}, {}, with_threads(settings)); });
    written = counter.so_far();
    return seconds;
  };
  const auto plain = [&] {
    clear(plain_path);
    return seconds_of([&] { write_and_sync(tensors, plain_path); });
  };
  const auto torch = [&] {
    clear(torch_path);
    return seconds_of([&] { torch::save(tensors, torch_path.string()); });
  };
  const std::vector<double> seconds = medians_in_turns(settings.repeats, {cairn, plain, torch});
  for (const fs::path& path : {store_path, plain_path, torch_path}) clear(path);
  return {at_least("durable full save", bytes, seconds[0], "write + fdatasync, one thread", seconds[1], 1.0),
          at_least("durable full save", bytes, seconds[0], "torch::save, no sync", seconds[2], 1.3),
          below("the same: bytes written beyond the state", static_cast<double>(written - std::min(written, bytes)),
                "B", static_cast<double>(bytes) / 100 + 64 * 1024)};
}

std::vector<Row> resave_rows(const Settings& settings) {
  const std::vector<at::Tensor> tensors = random_tensors(settings.bytes, settings.tensors, 2);
  const std::uint64_t bytes = bytes_of(tensors);
  const fs::path store_path = settings.folder / "resave.cairn";
  clear(store_path);
  std::vector<Row> rows;
  {
    Store store = Store::open(store_path);
    StateDict state = state_dict_of(tensors);
    const auto create = [&] { store.create_checkpoint({{"state", state}}, {}, with_threads(settings)); };
    const auto digest = [&] { return seconds_of([&] { digest_all(tensors, settings.threads); }); };
    create();
    const BytesWritten counter(store_path);
    create();
    const std::uint64_t written = counter.so_far();

    std::vector<double> seconds = medians_in_turns(settings.repeats, {[&] { return seconds_of(create); }, digest});
    rows.push_back(at_least("resave, nothing changed", bytes, seconds[0], "XXH3 of the bytes", seconds[1], 0.8));
    rows.push_back(below("the same: bytes written", static_cast<double>(written), "B", 64 * 1024));

    std::uint64_t number = 0;
    const auto change_and_create = [&] {
      change_part(tensors, 0.01, ++number);
      return seconds_of(create);
    };
    seconds = medians_in_turns(settings.repeats, {change_and_create, digest});
    rows.push_back(at_least("resave, 1 % of chunks changed", bytes, seconds[0], "XXH3 of the bytes", seconds[1], 0.6));
  }
  clear(store_path);
  return rows;
}

}  // namespace cairn::benchmarks
