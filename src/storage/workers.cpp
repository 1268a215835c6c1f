// Threads are started per call: a create or an apply is long compared with the microseconds that takes.
#include "storage/workers.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn::storage {

void run_workers(unsigned count, const std::function<void(unsigned worker)>& task) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](unsigned worker) {
    try {
      task(worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (unsigned worker = 1; worker < count; ++worker) {
    try {
      threads.emplace_back(run, worker);
    } catch (const std::system_error&) {
      run(worker);  // no thread to be had: its part is done here
    }
  }
  run(0);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

unsigned default_threads() { return std::clamp(std::thread::hardware_concurrency(), 1u, 8u); }

}  // namespace cairn::storage
