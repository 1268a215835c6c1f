// Checkpoints whose sync is what they cost, and stores that hold very many of them.
#include <fcntl.h>
#include <unistd.h>

#include <random>

#include "benchmarks/cases.h"
#include "benchmarks/controls.h"
#include "benchmarks/state.h"
#include "cairn/store.h"

namespace fs = std::filesystem;

namespace cairn::benchmarks {

namespace {

constexpr std::uint64_t kSmallTensors = 20;
constexpr std::uint64_t kSmallBytes = 100'000;
/// Creates in one timing: a single sync is too short to judge.
constexpr int kBurst = 20;
/// Reads in one timing.
constexpr int kReads = 1000;

}  // namespace

std::vector<Row> small_rows(const Settings& settings) {
  const std::vector<at::Tensor> tensors = random_tensors(kSmallBytes, kSmallTensors, 7);
  const fs::path store_path = settings.folder / "small.cairn";
  const fs::path plain_path = settings.folder / "small.log";
  clear(store_path);
  std::vector<double> seconds;
  {
    Store store = Store::open(store_path);
    std::uint64_t number = 0;
    const auto cairn = [&] {
      double spent = 0;
      for (int i = 0; i < kBurst; ++i) {
        change_all(tensors, ++number);
        StateDict state = state_dict_of(tensors);
        spent += seconds_of([&] { store.create_checkpoint({{"state", state}}, {{"step", static_cast<int>(number)}}); });
      }
      return spent / kBurst;
    };
    const int log = open(plain_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const auto plain = [&] {
      double spent = 0;
      for (int i = 0; i < kBurst; ++i) {
        change_all(tensors, ++number);
        spent += seconds_of([&] {
          for (const at::Tensor& tensor : tensors) {
            if (write(log, tensor.data_ptr(), tensor.nbytes()) < 0) return;
          }
          fdatasync(log);
        });
      }
      return spent / kBurst;
    };
    seconds = medians_in_turns(settings.repeats, {cairn, plain});
    close(log);
  }
  clear(store_path);
  clear(plain_path);
  return {at_most("create of 20 tensors, 100 KB", bytes_of(tensors), seconds[0], "write + fdatasync", seconds[1], 3.0)};
}

std::vector<Row> long_run_rows(const Settings& settings) {
  const fs::path store_path = settings.folder / "long.cairn";
  const std::string many = std::to_string(settings.checkpoints);
  clear(store_path);
  const std::vector<at::Tensor> tensors = random_tensors(4096, 1, 8);
  const auto create = [&](Store& store, std::uint64_t step) {
    change_all(tensors, step);
    const auto number = static_cast<std::int64_t>(step);
    store.create_checkpoint({{"w", tensors[0]}}, {{"step", number}, {"loss", 1.0 / static_cast<double>(step)}});
  };
  std::vector<double> opening, reading, looking, listing, creating;
  {
    Store store = Store::open(store_path);
    for (std::uint64_t step = 1; step <= settings.checkpoints; ++step) create(store, step);
    const fs::path fresh_path = settings.folder / "fresh.cairn";
    clear(fresh_path);
    {
      Store fresh = Store::open(fresh_path);
      std::uint64_t step = settings.checkpoints;
      const auto burst_into = [&](Store& target) {
        return seconds_of([&] {
                 for (int i = 0; i < kBurst; ++i) create(target, ++step);
               }) /
               kBurst;
      };
      creating =
          medians_in_turns(settings.repeats, {[&] { return burst_into(store); }, [&] { return burst_into(fresh); }});
    }
    clear(fresh_path);
  }
  std::mt19937_64 random(9);
  for (unsigned round = 0; round < settings.repeats; ++round) {
    std::optional<Store> store;
    opening.push_back(seconds_of([&] { store = Store::open(store_path); }));
    std::vector<Checkpoint> handles;
    for (int i = 0; i < kReads; ++i) handles.push_back(*store->checkpoint(random() % settings.checkpoints + 1));
    for (const Checkpoint& handle : handles) handle.tensor("w", "value");
    reading.push_back(seconds_of([&] {
                        for (const Checkpoint& handle : handles) handle.tensor("w", "value");
                      }) /
                      kReads);
    looking.push_back(seconds_of([&] {
                        for (int i = 0; i < kReads; ++i) store->latest();
                      }) /
                      kReads);
    std::size_t listed = 0;
    const double seconds = seconds_of([&] { listed = store->list().size(); });
    listing.push_back(seconds / static_cast<double>(listed));
  }
  clear(store_path);
  return {at_most("create into " + many + " checkpoints", 0, creating[0], "into a new store", creating[1], 1.5),
          below("one tensor of 4 KiB out of " + many + " checkpoints", median(reading), "s", 30e-6),
          below("open a store of " + many + " checkpoints", median(opening), "s",
                settings.checkpoints <= 10'000 ? 0.5 : 1.0),
          below("latest of " + many + " checkpoints", median(looking), "s", 30e-6),
          below("list of " + many + " checkpoints, each", median(listing), "s", 10e-6)};
}

std::vector<Row> archive_rows(const Settings& settings) {
  Settings larger = settings;
  larger.checkpoints = settings.archive;
  return long_run_rows(larger);
}

}  // namespace cairn::benchmarks
