// Threads are started per call: a create or an apply is long compared with the microseconds that takes.
#include "storage/workers.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace cairn::storage {

void run_workers(unsigned count, const std::function<void(unsigned worker)>& task) {
  std::vector<std::exception_ptr> thrown(std::max(count, 1u));  // each worker's own
  const auto run = [&](unsigned worker) {
    try {
      task(worker);
    } catch (...) {
      thrown[worker] = std::current_exception();
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
  for (const std::exception_ptr& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
}

unsigned default_threads() {
  // Asked once: it opens a file each time, which a small create would notice.
  static const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  return threads;
}

}  // namespace cairn::storage
