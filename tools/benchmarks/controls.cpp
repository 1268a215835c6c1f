#include "benchmarks/controls.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <system_error>
#include <thread>

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace cairn::benchmarks {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

struct Piece {
  std::size_t tensor;
  std::size_t offset;
  std::size_t size;
};

/// Calls task for every MiB of the tensors; threads take them in turns.
void for_each_piece(const std::vector<at::Tensor>& tensors, unsigned threads,
                    const std::function<void(const Piece&)>& task) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (std::size_t offset = 0; offset < tensors[i].nbytes(); offset += kPieceBytes) {
      pieces.push_back({i, offset, std::min(kPieceBytes, tensors[i].nbytes() - offset)});
    }
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < pieces.size(); i = next++) task(pieces[i]);
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < threads; ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
}

const char* bytes_at(const at::Tensor& tensor, std::size_t offset) {
  return static_cast<const char*>(tensor.data_ptr()) + offset;
}

/// Closes at the end; the last error is the caller's.
class File {
 public:
  explicit File(const std::filesystem::path& path)
      : descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), path.string());
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

void copy_all(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& to, unsigned threads) {
  for_each_piece(from, threads, [&](const Piece& piece) {
    std::memcpy(static_cast<char*>(to[piece.tensor].data_ptr()) + piece.offset,
                bytes_at(from[piece.tensor], piece.offset), piece.size);
  });
}

std::uint64_t digest_all(const std::vector<at::Tensor>& tensors, unsigned threads) {
  std::atomic<std::uint64_t> sum{0};
  for_each_piece(tensors, threads, [&](const Piece& piece) {
    const char* bytes = bytes_at(tensors[piece.tensor], piece.offset);
#if defined(__x86_64__)
    sum += XXH3_128bits_dispatch(bytes, piece.size).low64;
#else
    sum += XXH3_128bits(bytes, piece.size).low64;
#endif
  });
  return sum;
}

void write_and_sync(const std::vector<at::Tensor>& tensors, const std::filesystem::path& path) {
  const File file(path);
  for (const at::Tensor& tensor : tensors) {
    for (std::size_t done = 0; done < tensor.nbytes();) {
      const ssize_t written = write(file.descriptor(), bytes_at(tensor, done), tensor.nbytes() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw std::system_error(errno, std::generic_category(), path.string());
      done += static_cast<std::size_t>(written);
    }
  }
  if (fdatasync(file.descriptor()) != 0) throw std::system_error(errno, std::generic_category(), path.string());
}

}  // namespace cairn::benchmarks
