#include "cli/progress_line.h"

#include <unistd.h>

#include <cstdio>

#include <fmt/format.h>

#include "text/wording.h"

namespace cairn::tools {

ProgressLine::~ProgressLine() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::update(std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_ || isatty(STDERR_FILENO) != 1) return;
  next_ = now + std::chrono::milliseconds(200);
  is_shown_ = true;
  const double percent = total == 0 ? 0 : 100 * static_cast<double>(done) / static_cast<double>(total);
  const std::string line =
      fmt::format("\r\x1b[K{}: {:.0f} %, {} of {}", what_, percent, size_text(done), size_text(total));
  std::fputs(line.c_str(), stderr);
}

}  // namespace cairn::tools
