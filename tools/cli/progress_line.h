// How far a command is, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace cairn::tools {

/// One line on standard error that is written over, from the first second on and only on a
/// terminal; gone at the end.
class ProgressLine {
 public:
  /// `what` the command is at: "verifying".
  explicit ProgressLine(std::string what) : what_(std::move(what)) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Requires: one call at a time.
  void update(std::uint64_t done, std::uint64_t total);

 private:
  const std::string what_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

}  // namespace cairn::tools
