// `cairn show`, and the versions that show and get take.
#include <algorithm>
#include <limits>

#include "support/catch.h"
#include "tools/program.h"

using namespace cairn::testing;

namespace {

std::string version_shown(const std::string& version) {
  const Outcome outcome = run_cairn({"show", sample_store(), version});
  return outcome.status == 0 ? line_with(outcome.out, "version") : outcome.err;
}

}  // namespace

TEST_CASE("show prints the checkpoint, its metadata, its objects and their entries", "[tools]") {
  const Outcome outcome = run_cairn({"show", sample_store(), "1"});
  REQUIRE(outcome.status == 0);
  CHECK(outcome.err.empty());
  CHECK(line_with(outcome.out, "version ") == "version  1");
  CHECK(line_with(outcome.out, "parent ") == "parent   none");
  CHECK(line_with(outcome.out, "size ") == "size     2.0 MiB in 2 objects, 19 entries");
  CHECK(line_with(outcome.out, "note  ") == "note  \"first\"");
  CHECK(line_with(outcome.out, "loss  ") == "loss  2.5");
  CHECK(line_with(outcome.out, "AdamW") == "optimizer  optimizer  AdamW        5      0 B");
  CHECK(line_with(outcome.out, "module").find("model      module     -           14  2.0 MiB") == 0);
  CHECK(line_with(outcome.out, "fc1.weight ").find("float32    [2, 3]") != std::string::npos);
  CHECK(line_with(outcome.out, "fc1.weight ").find("24 B") != std::string::npos);
  CHECK(line_with(outcome.out, "scalar ").find("float64    []") != std::string::npos);
  CHECK(line_with(outcome.out, "empty ").find("[0, 4]") != std::string::npos);
  CHECK(line_with(outcome.out, "half ").find("bfloat16   [3]") != std::string::npos);
  CHECK(line_with(outcome.out, "param_groups.0.lr ").find("double  0.001") != std::string::npos);
  CHECK(line_with(outcome.out, "param_groups.0.params ").find("list    [0, 1]") != std::string::npos);
}

TEST_CASE("show --object limits the entries to the objects named", "[tools]") {
  const Outcome one = run_cairn({"show", sample_store(), "--object", "optimizer"});
  REQUIRE(one.status == 0);
  CHECK(one.out.find("param_groups.0.lr") != std::string::npos);
  CHECK(one.out.find("fc1.weight") == std::string::npos);
  const Outcome both = run_cairn({"show", sample_store(), "--object", "optimizer", "--object", "model", "--json"});
  CHECK(both.json()["objects"].size() == 2);
  const Outcome unknown = run_cairn({"show", sample_store(), "--object", "optimiser"});
  CHECK(unknown.status == 1);
  CHECK(unknown.out.empty());
  CHECK(unknown.err.find("cairn: ") == 0);
  CHECK(unknown.err.find("'optimiser'") != std::string::npos);
  CHECK(unknown.err.find("'optimizer'") != std::string::npos);
}

TEST_CASE("show --json has every entry, exact", "[tools]") {
  const nlohmann::json document = run_cairn({"show", sample_store(), "4", "--json"}).json();
  CHECK(document["version"] == 4);
  CHECK(document["metadata"]["step"] == 300);
  REQUIRE(document["objects"].size() == 2);
  const nlohmann::json& model = document["objects"][0];
  CHECK(model["name"] == "model");
  CHECK(model["kind"] == "module");
  CHECK(model["type_name"].is_null());
  REQUIRE(model["entries"].size() == 14);
  CHECK(model["entries"][0] == nlohmann::json({{"name", "fc1.weight"},
                                               {"kind", "tensor"},
                                               {"dtype", "float32"},
                                               {"shape", {2, 3}},
                                               {"bytes", 24},
                                               {"requires_grad", true}}));
  CHECK(model["entries"][11]["name"] == "caf\xc3\xa9");
  CHECK(model["entries"][12]["name"] == "bad\\xff");
  const nlohmann::json& optimizer = document["objects"][1];
  CHECK(optimizer["entries"][3]["type"] == "list");
  CHECK(optimizer["entries"][3]["value"] ==
        nlohmann::json::array({"NaN", "Infinity", "-Infinity", std::numeric_limits<std::int64_t>::min(),
                               std::numeric_limits<std::int64_t>::max(), nullptr, true, 5.0}));
}

TEST_CASE("no byte of a name or value reaches a terminal as a command to it", "[tools]") {
  for (const char* version : {"1", "latest"}) {
    const Outcome outcome = run_cairn({"show", sample_store(), version});
    REQUIRE(outcome.status == 0);
    CHECK(std::none_of(outcome.out.begin(), outcome.out.end(),
                       [](char c) { return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7F); }));
    CHECK(outcome.out.find("evil\\x1b[31m\\x0aname") != std::string::npos);
    CHECK(outcome.out.find("bad\\xff") != std::string::npos);
    CHECK(outcome.out.find("caf\xc3\xa9") != std::string::npos);
  }
  const Outcome json = run_cairn_on_terminal({"show", sample_store(), "--json"}, 80);
  CHECK(json.out.find('\x1b') == std::string::npos);
  CHECK(json.out.find("caf\\u00e9") != std::string::npos);
}

TEST_CASE("show keeps to the width of a terminal", "[tools]") {
  const Outcome outcome = run_cairn_on_terminal({"show", sample_store(), "--object", "model"}, 50);
  REQUIRE(outcome.status == 0);
  const std::string row = line_with(outcome.out, "evil");
  CHECK(row.size() <= 50);
  CHECK(row.find("...") != std::string::npos);
}

TEST_CASE("versions are numbers, latest, or counted back from the latest over those that are there", "[tools]") {
  CHECK(version_shown("latest~0") == "version  4");
  CHECK(version_shown("latest~1") == "version  2");
  CHECK(version_shown("latest~2") == "version  1");
  CHECK(version_shown("2") == "version  2");
  CHECK(line_with(run_cairn({"show", sample_store()}).out, "version") == "version  4");
}

TEST_CASE("a version that is not there is an error that says which are", "[tools]") {
  for (const char* version : {"latest~99", "latest~3", "3"}) {
    const Outcome outcome = run_cairn({"show", sample_store(), version});
    INFO(version);
    CHECK(outcome.status == 1);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("has no checkpoint " + std::string(version)) != std::string::npos);
    CHECK(outcome.err.find("3 checkpoints, versions 1 to 4") != std::string::npos);
    CHECK(outcome.err.find("\ntry: 'cairn log ") != std::string::npos);
  }
  const Outcome none = run_cairn({"show", empty_store()});
  CHECK(none.status == 1);
  CHECK(none.err.find("has no checkpoints yet") != std::string::npos);
}

TEST_CASE("what is no version at all is wrong usage", "[tools]") {
  for (const char* version : {"0", "latest~", "latest~-1", "18446744073709551616", ""}) {
    const Outcome outcome = run_cairn({"show", sample_store(), version});
    INFO(version);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("is no version") != std::string::npos);
    CHECK(outcome.err.find("latest~2") != std::string::npos);
  }
}
