// `cairn log`.
#include <cstdlib>

#include "support/catch.h"
#include "tools/program.h"

using namespace cairn::testing;

TEST_CASE("log lists the checkpoints newest first, with scalars of the metadata as columns", "[tools]") {
  const Outcome outcome = run_cairn({"log", sample_store()});
  REQUIRE(outcome.status == 0);
  CHECK(outcome.err.empty());
  const std::vector<std::string> lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].find("VERSION  TIME") == 0);
  CHECK(lines[0].find("step") < lines[0].find("loss"));
  CHECK(lines[0].find("loss") < lines[0].find("is_best"));
  CHECK(lines[0].find("config") == std::string::npos);
  CHECK(lines[1].find("      4  20") == 0);
  CHECK(lines[2].find("      2  20") == 0);
  CHECK(lines[3].find("      1  20") == 0);
  CHECK(lines[1].find(" 300 ") != std::string::npos);
  CHECK(lines[1].find(" 1.25 ") != std::string::npos);
  CHECK(lines[1].find(" 2.0 MiB") != std::string::npos);
  CHECK(lines[2].find(" NaN ") != std::string::npos);
  CHECK(lines[3].find("first") == lines[0].find("note"));
}

TEST_CASE("log -n shows the newest only and says of how many", "[tools]") {
  const Outcome outcome = run_cairn({"log", sample_store(), "-n", "1"});
  REQUIRE(outcome.status == 0);
  const std::vector<std::string> lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].find("      4  ") == 0);
  CHECK(lines[2] == "1 of 3 checkpoints");
  CHECK(lines_of(run_cairn({"log", sample_store(), "--count", "99"}).out).size() == 4);
}

TEST_CASE("log of an empty store says so and is no error", "[tools]") {
  const Outcome outcome = run_cairn({"log", empty_store()});
  CHECK(outcome.status == 0);
  CHECK(outcome.out == "no checkpoints yet\n");
  CHECK(run_cairn({"log", empty_store(), "--json"}).json()["checkpoints"].empty());
}

TEST_CASE("log --json is one document with everything exact", "[tools]") {
  const Outcome outcome = run_cairn({"log", sample_store(), "--json"});
  REQUIRE(outcome.status == 0);
  const nlohmann::json document = outcome.json();
  CHECK(document["store"] == sample_store().string());
  CHECK(document["checkpoint_count"] == 3);
  const nlohmann::json& checkpoints = document["checkpoints"];
  REQUIRE(checkpoints.size() == 3);
  CHECK(checkpoints[0]["version"] == 4);
  CHECK(checkpoints[0]["metadata"]["loss"] == 1.25);
  CHECK(checkpoints[0]["metadata"]["is_best"] == true);
  CHECK(checkpoints[0]["metadata"]["note"] == "\x1b[2Jbytes \\xff");
  CHECK(checkpoints[0]["metadata"]["key\x1b[7m"] == 1);
  CHECK(checkpoints[1]["metadata"]["loss"] == "NaN");
  CHECK(checkpoints[1]["metadata"]["config"]["layers"] == nlohmann::json::array({1, 2}));
  CHECK(checkpoints[2]["version"] == 1);
  CHECK(checkpoints[2]["parent"].is_null());
  CHECK(checkpoints[2]["metadata"]["step"] == 100);
  CHECK(checkpoints[2]["logical_bytes"].get<std::uint64_t>() > (2u << 20));
  CHECK(checkpoints[2]["written_bytes"].get<std::uint64_t>() > (2u << 20));
  CHECK(checkpoints[2]["created_at_us"].get<std::int64_t>() > 1'700'000'000'000'000);
  CHECK(checkpoints[2]["created_at"].get<std::string>().size() == std::string("2025-12-01T11:25:03.123456Z").size());
  CHECK(checkpoints[2]["objects"][1] ==
        nlohmann::json(
            {{"name", "optimizer"}, {"kind", "optimizer"}, {"type_name", "AdamW"}, {"entry_count", 5}, {"bytes", 0}}));
}

TEST_CASE("log leaves out columns that a terminal has no room for, and names them", "[tools]") {
  const Outcome narrow = run_cairn_on_terminal({"log", sample_store()}, 80);
  REQUIRE(narrow.status == 0);
  const std::vector<std::string> lines = lines_of(narrow.out);
  REQUIRE(lines.size() == 5);
  for (std::size_t i = 1; i < 4; ++i) CHECK(lines[i].size() <= 80);
  CHECK(lines[0].find("step") != std::string::npos);
  CHECK(lines[0].find("metric_21") == std::string::npos);
  CHECK(lines[4].find("too wide to show:") == 0);
  CHECK(lines[4].find("metric_21") != std::string::npos);

  const Outcome wide = run_cairn_on_terminal({"log", sample_store()}, 400);
  CHECK(lines_of(wide.out)[0].find("metric_21") != std::string::npos);
}

TEST_CASE("colour is for terminals only", "[tools]") {
  CHECK(run_cairn({"log", sample_store()}).out.find('\x1b') == std::string::npos);
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  CHECK(run_cairn_on_terminal({"log", sample_store()}, 80).out.find("\x1b[1mVERSION") == 0);
  setenv("NO_COLOR", "1", 1);
  CHECK(run_cairn_on_terminal({"log", sample_store()}, 80).out.find('\x1b') == std::string::npos);
  unsetenv("NO_COLOR");
}

TEST_CASE("every command works beside a live writer", "[tools]") {
  const std::filesystem::path store = scratch() / "live.cairn";
  const LiveWriter writer(store);
  CHECK(lines_of(run_cairn({"log", store}).out).size() == 4);
  CHECK(run_cairn({"show", store}).status == 0);
  CHECK(run_cairn({"get", store, "model/fc1.weight"}).status == 0);
  const Outcome verified = run_cairn({"verify", store});
  CHECK(verified.status == 0);
  CHECK(verified.err.empty());
}
