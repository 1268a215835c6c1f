// Counts bytes from several threads and calls a Progress as its contract says: one call at a time, not too often.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <utility>

#include "cairn/progress.h"

namespace cairn::storage {

class ProgressMeter {
 public:
  /// `passes`: how often each byte is counted until all is done.
  ProgressMeter(Progress progress, std::uint64_t total, unsigned passes = 1)
      : progress_(std::move(progress)), total_(total), passes_(passes) {
    if (progress_) progress_(0, total_);
  }

  void add(std::uint64_t bytes) {
    if (!progress_ || bytes == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    counted_ += bytes;
    const std::uint64_t done = counted_ / passes_;
    const auto now = std::chrono::steady_clock::now();
    if (done == total_ || now - last_call_ < kInterval) return;  // the last call is finish's
    last_call_ = now;
    progress_(done, total_);
  }

  /// The last call, with everything done.
  void finish() {
    if (progress_) progress_(total_, total_);
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{5};

  const Progress progress_;
  const std::uint64_t total_;
  const unsigned passes_;
  std::mutex mutex_;
  std::uint64_t counted_ = 0;                          // guarded by mutex_
  std::chrono::steady_clock::time_point last_call_{};  // guarded by mutex_
};

}  // namespace cairn::storage
