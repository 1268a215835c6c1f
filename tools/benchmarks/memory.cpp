#include "benchmarks/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <string_view>

#include <malloc.h>

namespace cairn::benchmarks {

namespace {

/// The number behind a word of a file of /proc; 0 where the system does not tell.
std::uint64_t number_of(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::uint64_t number = 0;
    if (word == name && file >> number) return number;
  }
  return 0;
}

std::uint64_t anonymous_memory() { return number_of("/proc/self/status", "RssAnon:") * 1024; }

std::uint64_t anonymous_memory_in_use() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  return anonymous_memory();
}

}  // namespace

PeakMemory::PeakMemory() : begin_(anonymous_memory_in_use()), peak_(begin_) {
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

std::uint64_t PeakMemory::extra() const { return std::max<std::uint64_t>(peak_, anonymous_memory()) - begin_; }

void touch_free_memory(std::uint64_t bytes) {
  const std::uint64_t size = std::min(bytes, number_of("/proc/meminfo", "MemAvailable:") * 1024 / 2);
  if (size == 0) return;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  volatile auto* bytes_of_memory = static_cast<char*>(memory);
  for (std::uint64_t at = 0; at < size; at += page) bytes_of_memory[at] = 1;
  munmap(memory, size);
}

std::uint64_t device_bytes_written() { return number_of("/proc/self/io", "write_bytes:"); }

}  // namespace cairn::benchmarks
