// `cairn prune`, `cairn gc` and `cairn du`.
#include <filesystem>

#include "support/catch.h"
#include "tools/program.h"

using namespace cairn::testing;
namespace fs = std::filesystem;

namespace {

/// A copy of the sample store, which the other tests look at.
fs::path copy_of_sample(const std::string& name) {
  const fs::path path = scratch() / name;
  fs::copy(sample_store(), path, fs::copy_options::recursive);
  return path;
}

std::vector<int> versions_in(const fs::path& store) {
  std::vector<int> versions;
  const nlohmann::json document = run_cairn({"log", store, "--json"}).json();
  for (const auto& checkpoint : document["checkpoints"]) {
    versions.push_back(checkpoint["version"].get<int>());
  }
  return versions;
}

std::vector<int> removed_in(const nlohmann::json& document) {
  std::vector<int> versions;
  for (const auto& checkpoint : document["removed"]) versions.push_back(checkpoint["version"].get<int>());
  return versions;
}

}  // namespace

TEST_CASE("prune without a rule is refused, and so is a rule that makes no sense", "[tools]") {
  const fs::path store = copy_of_sample("refused.cairn");
  const std::vector<std::vector<std::string>> wrong = {
      {"prune", store},
      {"prune", store, "--dry-run"},
      {"prune", store, "--keep-last", "0"},
      {"prune", store, "--keep-last", "-1"},
      {"prune", store, "--keep-every", "x"},
      {"prune", store, "--keep-best", ":max"},
      {"prune", store, "--keep-best", "loss:0"},
      {"prune", store, "--keep-newer-than", "7"},
      {"prune", store, "--keep-newer-than", "7y"},
      {"prune", store, "--budget", "lots"},
      {"prune", store, "--budget", "0GiB"},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    const Outcome outcome = run_cairn(arguments);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("\ntry: cairn prune --help\n") != std::string::npos);
  }
  CHECK(run_cairn({"prune", store}).err.find("no rule is given") != std::string::npos);
  CHECK(versions_in(store) == std::vector<int>{4, 2, 1});
}

TEST_CASE("prune --dry-run lists what would go and removes nothing, beside a live trainer too", "[tools]") {
  const Outcome outcome = run_cairn({"prune", sample_store(), "--keep-last", "1", "--dry-run"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(line_with(outcome.out, "VERSION").find("STEP") != std::string::npos);
  CHECK(line_with(outcome.out, "would remove 2 of 3 checkpoints; 'cairn gc' would free ").find("MiB") !=
        std::string::npos);
  const nlohmann::json document = run_cairn({"prune", sample_store(), "--keep-best", "loss", "-n", "--json"}).json();
  CHECK(document["dry_run"] == true);
  CHECK(removed_in(document) == std::vector<int>{1, 2});
  CHECK(document["kept"] == std::vector<int>{4});
  CHECK(document["freed_bytes"].get<std::uint64_t>() > (4u << 20));
  CHECK(versions_in(sample_store()) == std::vector<int>{4, 2, 1});

  const fs::path live = scratch() / "live-prune.cairn";
  const LiveWriter writer(live);
  CHECK(run_cairn({"prune", live, "--keep-last", "1", "--dry-run"}).status == 0);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"prune", live, "--keep-last", "1"}, {"gc", live}}) {
    const Outcome busy = run_cairn(arguments);
    CHECK(busy.status == 1);
    CHECK(busy.out.empty());
    CHECK(busy.err.find("StoreOptions::retention") != std::string::npos);
  }
}

TEST_CASE("every rule keeps what it says", "[tools]") {
  const auto removed = [](const std::vector<std::string>& rules) {
    std::vector<std::string> arguments = {"prune", sample_store(), "--dry-run", "--json"};
    arguments.insert(arguments.end(), rules.begin(), rules.end());
    const Outcome outcome = run_cairn(arguments);
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    return removed_in(outcome.json());
  };
  // Versions 1, 2, 4 have the steps 100, 200, 300 and the losses 2.5, NaN, 1.25.
  CHECK(removed({"--keep-last", "2"}) == std::vector<int>{1});
  CHECK(removed({"--keep-every", "200"}) == std::vector<int>{});
  CHECK(removed({"--keep-every", "1000"}) == std::vector<int>{2});
  CHECK(removed({"--keep-best", "loss:max"}) == std::vector<int>{2});
  CHECK(removed({"--keep-best", "loss:min:2"}) == std::vector<int>{2});
  CHECK(removed({"--keep-best", "loss:max", "--keep-best", "step:min:2"}) == std::vector<int>{});
  CHECK(removed({"--keep-newer-than", "7d"}) == std::vector<int>{});
  CHECK(removed({"--keep-tagged"}) == std::vector<int>{1, 2});
  CHECK(removed({"--budget", "1GiB"}) == std::vector<int>{});
  CHECK(removed({"--budget", "5MiB"}) == std::vector<int>{1});
  CHECK(removed({"--budget", "1kB"}) == std::vector<int>{1, 2});
}

TEST_CASE("prune removes, gc gives the space back, and du says so before", "[tools]") {
  const fs::path store = copy_of_sample("pruned.cairn");
  const Outcome pruned = run_cairn({"prune", store, "--keep-last", "1"});
  INFO(pruned.err);
  CHECK(pruned.status == 0);
  CHECK(pruned.out.find("removed 2 of 3 checkpoints; 'cairn gc' gives the space back\n") != std::string::npos);
  CHECK(versions_in(store) == std::vector<int>{4});
  CHECK(run_cairn({"prune", store, "--keep-last", "1"}).out == "nothing to remove: all 1 are kept\n");

  const nlohmann::json before = run_cairn({"du", store, "--json"}).json();
  CHECK(before["garbage_bytes"].get<std::uint64_t>() >= (6u << 20));  // version 3, removed at birth, among it
  const nlohmann::json collected = run_cairn({"gc", store, "--json"}).json();
  CHECK(collected["freed_bytes"].get<std::uint64_t>() > (6u << 20));
  CHECK(collected["dropped_segments"] == 3);
  CHECK(collected["skipped_segments"] == 0);
  CHECK(collected["removed_chunks"].get<std::uint64_t>() >= 6);
  const nlohmann::json after = run_cairn({"du", store, "--json"}).json();
  CHECK(after["garbage_bytes"] == 0);
  CHECK(after["disk_bytes"].get<std::uint64_t>() + (6u << 20) < before["disk_bytes"].get<std::uint64_t>());
  const Outcome again = run_cairn({"gc", store});
  CHECK(again.status == 0);
  CHECK(line_with(again.out, "freed ").find("0 chunks removed") != std::string::npos);
  CHECK(run_cairn({"verify", store}).status == 0);
}

TEST_CASE("du shows objects, and checkpoints on request", "[tools]") {
  const Outcome outcome = run_cairn({"du", sample_store()});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(line_with(outcome.out, "OBJECT").find("STORED") != std::string::npos);
  CHECK(line_with(outcome.out, "model").find("MiB") != std::string::npos);
  CHECK(line_with(outcome.out, "3 checkpoints hold").find("of chunks and rows") != std::string::npos);
  CHECK(line_with(outcome.out, "on disk").find("'cairn gc' can free") != std::string::npos);
  CHECK(outcome.out.find("VERSION") == std::string::npos);
  CHECK(run_cairn({"du", sample_store(), "-c"}).out.find("VERSION") != std::string::npos);
  const nlohmann::json document = run_cairn({"du", sample_store(), "--json"}).json();
  REQUIRE(document["objects"].size() == 2);
  CHECK(document["objects"][0]["name"] == "model");
  CHECK(document["objects"][0]["checkpoint_count"] == 3);
  CHECK(document["objects"][0]["own_bytes"] == document["objects"][0]["stored_bytes"]);
  REQUIRE(document["checkpoints"].size() == 3);
  CHECK(document["checkpoints"][0]["version"] == 1);
  CHECK(document["checkpoints"][0]["own_bytes"].get<std::uint64_t>() >= (2u << 20));
  CHECK(run_cairn({"du", empty_store()}).out == "no checkpoints yet\n");
}
