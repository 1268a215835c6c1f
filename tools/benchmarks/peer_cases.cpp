// The columns are explained in peers.py, which does the same with other libraries.
#include "benchmarks/peer_cases.h"

#include <nlohmann/json.hpp>

#include "benchmarks/state.h"
#include "cairn/apply.h"
#include "cairn/store.h"

namespace fs = std::filesystem;

namespace cairn::benchmarks {

namespace {

constexpr std::uint64_t kTinyBytes = 1024;
constexpr std::uint64_t kTinyPart = 50;
constexpr int kCheckpoints = 20;

struct PeerState {
  std::vector<at::Tensor> all;
  std::vector<at::Tensor> trained;  // aliases of the ones that training changes
};

PeerState make_state(const Settings& settings, const std::string& kind, std::uint64_t seed) {
  PeerState state;
  if (kind == "tiny") {
    const std::uint64_t bytes = settings.bytes / kTinyPart;
    state.all = random_tensors(bytes, std::max<std::uint64_t>(bytes / kTinyBytes, 1), seed);
  } else {
    state.all = random_tensors(settings.bytes, settings.tensors, seed);
  }
  state.trained = state.all;
  if (kind == "frozen") state.trained.resize(std::max<std::size_t>(state.all.size() / 100, 1));
  return state;
}

}  // namespace

std::string peer_json(const Settings& settings, const std::string& kind) {
  const fs::path path = settings.folder / "peer.cairn";
  const PeerState state = make_state(settings, kind, 1);
  const PeerState live = make_state(settings, kind, 2);
  StateDict entries = state_dict_of(state.all);
  StateDict target = state_dict_of(live.all);
  nlohmann::json result;
  result["bytes"] = bytes_of(state.all);
  clear(path);
  {
    Store store = Store::open(path);
    result["durable_save"] = seconds_of([&] { store.create_checkpoint({{"state", entries}}); });
    result["resave"] = seconds_of([&] { store.create_checkpoint({{"state", entries}}); });
    change_part(state.all, 0.01, 1);
    result["changed"] = seconds_of([&] { store.create_checkpoint({{"state", entries}}); });
    result["restore"] = seconds_of([&] { apply_checkpoint(*store.latest(), {{"state", target}}); });
    store.create_checkpoint_async({{"state", entries}}).wait();
    change_all(state.trained, 2);
    std::optional<PendingCheckpoint> pending;
    pending = store.create_checkpoint_async({{"state", entries}});
    pending->wait();
    change_all(state.trained, 3);
    result["stall"] = seconds_of([&] { pending = store.create_checkpoint_async({{"state", entries}}); });
    pending->wait();
  }
  clear(path);
  {
    Store store = Store::open(path);
    for (int i = 0; i < kCheckpoints; ++i) {
      change_part(state.trained, 0.01, static_cast<std::uint64_t>(10 + i));
      store.create_checkpoint({{"state", entries}});
    }
  }
  result["disk_20"] = bytes_below(path);
  clear(path);
  return result.dump() + "\n";
}

}  // namespace cairn::benchmarks
