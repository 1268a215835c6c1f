// cairn_bench: what tools/bench builds and runs. Exit status 1 when a budget is missed.
#include <unistd.h>

#include <iostream>
#include <map>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "benchmarks/cases.h"
#include "benchmarks/memory.h"
#include "benchmarks/peer_cases.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace fs = std::filesystem;
using namespace cairn;
using namespace cairn::benchmarks;

namespace {

struct Family {
  const char* name;
  std::vector<Row> (*rows)(const Settings&);
  /// Disk space it needs at most, in states.
  std::uint64_t states;
};

constexpr Family kFamilies[] = {{"save", save_rows, 3},       {"resave", resave_rows, 2},
                                {"apply", apply_rows, 2},     {"background", background_rows, 4},
                                {"small", small_rows, 1},     {"long-run", long_run_rows, 1},
                                {"archive", archive_rows, 1}, {"memory", memory_rows, 2}};

/// Removed at the end, whatever happens.
class WorkFolder {
 public:
  explicit WorkFolder(const fs::path& parent) : path_(parent / fmt::format("cairn-bench-{}", getpid())) {
    fs::create_directories(path_);
  }
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

int run_peer(Settings settings, const std::string& state, const fs::path& parent) {
  const WorkFolder folder(parent);
  settings.folder = folder.path();
  tools::write_output(peer_json(settings, state));
  return 0;
}

int run(Settings settings, const std::vector<std::string>& chosen, const fs::path& parent, bool is_json) {
  const WorkFolder folder(parent);
  settings.folder = folder.path();
  std::vector<Family> families(std::begin(kFamilies), std::end(kFamilies));
  std::erase_if(families, [&](const Family& family) {
    return !chosen.empty() && std::find(chosen.begin(), chosen.end(), family.name) == chosen.end();
  });
  for (const Family& family : families) {
    const std::uint64_t needed = family.states * settings.bytes + (std::uint64_t{1} << 30);
    if (fs::space(folder.path()).available >= needed) continue;
    std::cerr << fmt::format("bench: '{}' needs {} of free space in '{}'\n", family.name, tools::size_text(needed),
                             parent.string());
    return 2;
  }
  touch_free_memory(3 * settings.bytes);
  std::vector<Row> rows;
  for (const Family& family : families) {
    std::cerr << fmt::format("{} ...\n", family.name);
    std::vector<Row> added = family.rows(settings);
    rows.insert(rows.end(), added.begin(), added.end());
  }
  tools::write_output(is_json ? json_of(rows, settings) : table_of(rows));
  const auto missed = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.is_met; });
  if (!is_json) {
    tools::write_output(
        fmt::format("{} of {} budgets met\n", rows.size() - static_cast<std::size_t>(missed), rows.size()));
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures Cairn beside its controls and holds the ratios against the budgets.\n"
      "Example: tools/bench --bytes 256MiB --only save,apply");
  Settings settings;
  settings.threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  std::vector<std::string> chosen;
  std::string folder = ".";
  std::string peer;
  bool is_json = false;
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.name);
  app.add_option("--bytes", settings.bytes, "Size of the state")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("1GiB");
  app.add_option("--tensors", settings.tensors, "Tensors it consists of")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--checkpoints", settings.checkpoints, "Checkpoints of the long run")
      ->check(CLI::Range(20, 10'000'000))
      ->capture_default_str();
  app.add_option("--archive", settings.archive, "Checkpoints of the larger store")
      ->check(CLI::Range(20, 10'000'000))
      ->capture_default_str();
  app.add_option("--repeats", settings.repeats, "Rounds of every case and its controls")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--threads", settings.threads, "Workers of Cairn and of its controls")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--only,--filter", chosen, "Families of cases to run")->delimiter(',')->check(CLI::IsMember(names));
  app.add_option("--folder", folder, "Folder on the disk to measure")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  app.add_option("--peer", peer, "One run for tools/benchmarks/peers.py: large, tiny or frozen")
      ->check(CLI::IsMember({"large", "tiny", "frozen"}));
  app.add_flag("--json", is_json, "For machines");
  CLI11_PARSE(app, argc, argv);
  try {
    return peer.empty() ? run(settings, chosen, folder, is_json) : run_peer(settings, peer, folder);
  } catch (const std::exception& error) {
    std::cerr << "bench: " << error.what() << '\n';
    return 2;
  }
}
