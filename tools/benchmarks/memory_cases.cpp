// Memory beside the state itself.
#include "benchmarks/cases.h"
#include "benchmarks/memory.h"
#include "benchmarks/state.h"
#include "cairn/apply.h"
#include "cairn/store.h"

namespace fs = std::filesystem;

namespace cairn::benchmarks {

namespace {

constexpr double kBudget = 320.0 * 1024 * 1024;

}  // namespace

std::vector<Row> memory_rows(const Settings& settings) {
  const std::vector<at::Tensor> tensors = random_tensors(settings.bytes, settings.tensors, 10);
  std::vector<at::Tensor> turned;  // not dense: has to be fetched through buffers
  for (const at::Tensor& tensor : tensors) turned.push_back(tensor.narrow(1, 0, 1));
  const fs::path store_path = settings.folder / "memory.cairn";
  clear(store_path);
  const auto extra_of = [](const std::function<void()>& call) {
    const PeakMemory peak;
    call();
    return static_cast<double>(peak.extra());
  };
  double saving = 0, fetching = 0, applying = 0;
  {
    Store store = Store::open(store_path);
    StateDict state = state_dict_of(tensors);
    StateDict views = state_dict_of(turned);
    saving = extra_of([&] { store.create_checkpoint({{"state", state}}); });
    const std::optional<Checkpoint> checkpoint = store.latest();
    applying = extra_of([&] { apply_checkpoint(*checkpoint, {{"state", state}}); });
    fetching = extra_of([&] { store.create_checkpoint({{"state", views}}); });
  }
  clear(store_path);
  return {below("extra memory of a full save", saving, "B", kBudget),
          below("the same, of tensors that are not dense", fetching, "B", kBudget),
          below("extra memory of an apply", applying, "B", kBudget)};
}

}  // namespace cairn::benchmarks
