// Runs programs and keeps what they say. The stores they look at are made once for all tests.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace cairn::testing {

struct Outcome {
  int status = -1;  // of exit; minus the signal for one that was killed
  std::string out;
  std::string err;

  /// Errors: nlohmann's, which fails the test, unless `out` is one JSON document and nothing else.
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// Runs the command line under test.
Outcome run_cairn(const std::vector<std::string>& arguments);
Outcome run_bench(const std::vector<std::string>& arguments);
/// The command line with a terminal of that many columns as standard output; `out` has plain line ends.
Outcome run_cairn_on_terminal(const std::vector<std::string>& arguments, unsigned short columns);

/// A folder for all tests of this process, removed at its end.
const std::filesystem::path& scratch();
/// Versions 1, 2 and 4, as make_store.cpp says.
const std::filesystem::path& sample_store();
std::filesystem::path empty_store();
/// A copy of the sample store with one flipped bit in the tensor model/big of version 1.
std::filesystem::path damaged_store();

/// A process that has a store open for writing, for as long as this lives.
class LiveWriter {
 public:
  explicit LiveWriter(const std::filesystem::path& store);
  ~LiveWriter();
  LiveWriter(const LiveWriter&) = delete;
  LiveWriter& operator=(const LiveWriter&) = delete;

 private:
  std::FILE* pipe_ = nullptr;
  int process_ = 0;
};

std::string contents_of(const std::filesystem::path& file);
/// Lines without their ends.
std::vector<std::string> lines_of(const std::string& text);
/// The line that holds the text; empty when there is none.
std::string line_with(const std::string& text, const std::string& part);

}  // namespace cairn::testing
