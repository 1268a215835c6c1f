// The benchmark at sizes that take no time: that it runs, and what it prints. Budgets mean nothing there.
#include "support/catch.h"
#include "tools/program.h"

using namespace cairn::testing;

TEST_CASE("the benchmark measures every case and prints one JSON document", "[tools][bench]") {
  const Outcome outcome = run_bench({"--bytes", "2MiB", "--tensors", "4", "--repeats", "1", "--checkpoints", "40",
                                     "--archive", "60", "--folder", scratch().string(), "--json"});
  INFO(outcome.err);
  CHECK((outcome.status == 0 || outcome.status == 1));
  const nlohmann::json report = outcome.json();
  CHECK(report.at("machine").at("threads") >= 1);
  REQUIRE(report.at("rows").size() >= 20);
  CHECK(report.at("settings").at("bytes") == 2 << 20);
  for (const nlohmann::json& row : report.at("rows")) {
    INFO(row.dump());
    CHECK(row.at("value") >= 0);
    CHECK(row.at("ratio") >= 0);
    CHECK(row.at("pass").is_boolean());
    CHECK_FALSE(row.at("budget").get<std::string>().empty());
  }
}

TEST_CASE("the benchmark sees the memory that a save takes", "[tools][bench]") {
  const Outcome outcome =
      run_bench({"--bytes", "96MiB", "--only", "memory", "--repeats", "1", "--folder", scratch().string(), "--json"});
  INFO(outcome.err);
  const nlohmann::json report = outcome.json();
  bool has_seen_it = false;
  for (const nlohmann::json& row : report.at("rows")) {
    if (row.at("case") != "extra memory of a full save") continue;
    has_seen_it = true;
    // A save copies every chunk into a buffer: less than half a chunk would not have been measured.
    CHECK(row.at("value") >= 512 * 1024);
  }
  CHECK(has_seen_it);
}

TEST_CASE("the benchmark refuses what it cannot measure", "[tools][bench]") {
  CHECK(run_bench({"--only", "nothing"}).status != 0);
  CHECK(run_bench({"--repeats", "0"}).status != 0);
  const Outcome outcome = run_bench({"--bytes", "1000TiB", "--only", "save", "--folder", scratch().string()});
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("free space") != std::string::npos);
}
