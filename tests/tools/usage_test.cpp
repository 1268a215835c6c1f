// Help, wrong usage, and places that are no store. Every run costs the half second in which
// LibTorch starts, so cases are chosen, not multiplied.
#include <cstdlib>
#include <fstream>

#include "support/catch.h"
#include "tools/program.h"

using namespace cairn::testing;
namespace fs = std::filesystem;

TEST_CASE("every command has help with an example, on standard output", "[tools]") {
  const Outcome all = run_cairn({"--help"});
  CHECK(all.status == 0);
  CHECK(all.err.empty());
  for (const std::string command : {"log", "show", "get", "verify", "du", "prune", "gc"}) {
    CHECK(all.out.find("\n  " + command + " ") != std::string::npos);
    const Outcome outcome = run_cairn({command, "--help"});
    INFO(command);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out.find("Example") != std::string::npos);
    CHECK(outcome.out.find("  cairn " + command + " ") != std::string::npos);
    CHECK(outcome.out.find("\"NaN\"") != std::string::npos);
  }
  const Outcome version = run_cairn({"--version"});
  CHECK(version.status == 0);
  CHECK(version.out.find("cairn 0.") == 0);
}

TEST_CASE("wrong usage is status 2, one message and where to find help", "[tools]") {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"frobnicate"},
      {"log"},
      {"log", sample_store(), "surplus"},
      {"log", sample_store(), "-n", "0"},
      {"log", sample_store(), "-n", "-1"},
      {"log", sample_store(), "-n", "many"},
      {"log", sample_store(), "--frobnicate"},
      {"get", sample_store()},
      {"get", sample_store(), "model/fc1.weight", "-o"},
      {"verify", sample_store(), "extra"},
  };
  for (const std::vector<std::string>& arguments : wrong) {
    const Outcome outcome = run_cairn(arguments);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("cairn: ") == 0);
    CHECK(outcome.err.find("\ntry: cairn ") != std::string::npos);
    CHECK(outcome.err.find("--help\n") != std::string::npos);
  }
}

TEST_CASE("a command that does not exist is named", "[tools]") {
  const Outcome outcome = run_cairn({"frobnicate", "--help"});
  CHECK(outcome.status == 2);
  CHECK(outcome.err.find("there is no command 'frobnicate'") != std::string::npos);
}

TEST_CASE("what is no store is an error of every command, and nothing is made of it", "[tools]") {
  const fs::path absent = scratch() / "absent.cairn";
  const fs::path file = scratch() / "file";
  std::ofstream(file) << "not a store";
  const fs::path folder = scratch() / "folder";
  fs::create_directories(folder);
  std::ofstream(folder / "notes") << "something else";
  const std::vector<std::vector<std::string>> commands = {
      {"log", absent},    {"log", file},
      {"log", folder},    {"log", ""},
      {"show", absent},   {"get", absent, "model/fc1.weight"},
      {"verify", absent}, {"log", absent, "--json"},
      {"du", absent},     {"gc", absent},
      {"gc", folder},     {"prune", absent, "--keep-last", "1"},
  };
  for (const std::vector<std::string>& arguments : commands) {
    const Outcome outcome = run_cairn(arguments);
    INFO(arguments[0] << " of " << arguments[1] << ": " << outcome.err);
    CHECK(outcome.status == 1);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("cairn: ") == 0);
    CHECK(outcome.err.find(arguments[1]) != std::string::npos);
    CHECK(outcome.err.find("\ntry: ") != std::string::npos);
  }
  CHECK_FALSE(fs::exists(absent));
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 1);
}

TEST_CASE("a full standard output is an error, not silence", "[tools]") {
  if (!fs::exists("/dev/full")) return;
  CHECK(std::system(("'" CAIRN_CLI_PATH "' log '" + sample_store().string() + "' > /dev/full 2> '" +
                     (scratch() / "err").string() + "'")
                        .c_str()) != 0);
  CHECK(contents_of(scratch() / "err").find("cairn: cannot write to standard output") == 0);
}
