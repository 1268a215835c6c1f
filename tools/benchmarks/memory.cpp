#include "benchmarks/memory.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace cairn::benchmarks {

namespace {

/// Bytes; 0 where the system does not tell.
std::uint64_t anonymous_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib * 1024;
  }
  return 0;
}

}  // namespace

PeakMemory::PeakMemory() : begin_(anonymous_memory()), peak_(begin_) {
  watcher_ = std::thread([this] {
    while (!is_over_) {
      peak_ = std::max<std::uint64_t>(peak_, anonymous_memory());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
}

PeakMemory::~PeakMemory() {
  is_over_ = true;
  watcher_.join();
}

std::uint64_t PeakMemory::extra() const { return peak_ - begin_; }

}  // namespace cairn::benchmarks
