// `cairn verify`, and what the other commands say of a damaged store.
#include "support/catch.h"
#include "tools/program.h"

using namespace cairn::testing;

TEST_CASE("verify of a whole store counts what it read", "[tools]") {
  const Outcome outcome = run_cairn({"verify", sample_store()});
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  CHECK(lines_of(outcome.out).size() == 1);
  CHECK(outcome.out.find("whole: 3 checkpoints, ") == 0);
  const nlohmann::json document = run_cairn({"verify", sample_store(), "--json"}).json();
  CHECK(document["is_whole"] == true);
  CHECK(document["checkpoint_count"] == 3);
  CHECK(document["chunk_count"].get<std::uint64_t>() >= 6);
  CHECK(document["chunk_bytes"].get<std::uint64_t>() >= (6u << 20));
  CHECK(document["problems"].empty());
  CHECK(run_cairn({"verify", empty_store()}).status == 0);
}

TEST_CASE("verify of a damaged store has a line per problem and status 1", "[tools]") {
  const Outcome outcome = run_cairn({"verify", damaged_store()});
  CHECK(outcome.status == 1);
  const std::string line = line_with(outcome.out, "problem: ");
  CHECK(line.find("model/big") != std::string::npos);
  CHECK(lines_of(outcome.out).back().find("problem") != std::string::npos);
  const Outcome json = run_cairn({"verify", damaged_store(), "--json"});
  CHECK(json.status == 1);
  const nlohmann::json document = json.json();
  CHECK(document["is_whole"] == false);
  REQUIRE_FALSE(document["problems"].empty());
  CHECK(document["problems"][0]["version"] == 1);
  CHECK(document["problems"][0]["object"] == "model");
  CHECK(document["problems"][0]["entry"] == "big");
  CHECK_FALSE(document["problems"][0]["message"].get<std::string>().empty());
}

TEST_CASE("get reports damage, names the entry and says what to try", "[tools]") {
  const Outcome outcome = run_cairn({"get", damaged_store(), "model/big", "--version", "1"});
  CHECK(outcome.status == 1);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("model/big") != std::string::npos);
  CHECK(outcome.err.find("\ntry: ") != std::string::npos);
  CHECK(run_cairn({"get", damaged_store(), "model/fc1.weight", "--version", "1"}).status == 0);
  CHECK(run_cairn({"get", damaged_store(), "model/big"}).status == 0);
}
