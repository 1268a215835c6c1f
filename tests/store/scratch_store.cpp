// Looks for damage with the library's own verify, as every user of a store would.
#include "store/scratch_store.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "support/torch_test.h"

namespace cairn::testing {

namespace fs = std::filesystem;

ScratchStore::ScratchStore() {
  std::string pattern = (fs::temp_directory_path() / "cairn-test-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  root_ = pattern;
}

ScratchStore::~ScratchStore() {
  if (!is_damaged_ && fs::exists(path() / "CAIRN")) {
    const VerifyReport report = Store::open(path()).verify();
    for (const Problem& problem : report.problems) UNSCOPED_INFO(problem.message);
    CHECK(report.problems.empty());
  }
  std::error_code ignored;  // a directory that stays behind is no failure of the test
  fs::remove_all(root_, ignored);
}

std::uint64_t bytes_below(const fs::path& directory) {
  std::uint64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

at::Tensor certified(std::int64_t step, std::string_view name, std::vector<std::int64_t> sizes) {
  at::Tensor tensor = torch::empty(sizes, torch::kFloat32);
  std::uint64_t state = static_cast<std::uint64_t>(step) * 0x9E3779B97F4A7C15u + std::hash<std::string_view>()(name);
  float* data = tensor.data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    data[i] = static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
  }
  return tensor;
}

bool same_bits(const at::Tensor& left, const at::Tensor& right) {
  if (left.scalar_type() != right.scalar_type() || left.sizes() != right.sizes()) return false;
  const at::Tensor a = left.detach().cpu().resolve_conj().resolve_neg().contiguous();
  const at::Tensor b = right.detach().cpu().resolve_conj().resolve_neg().contiguous();
  return a.numel() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

bool damage(const fs::path& store, std::string_view needle) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(store)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".sst") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const auto found = std::search(bytes.begin(), bytes.end(), needle.begin(), needle.end());
    if (found == bytes.end()) continue;
    const auto place = found - bytes.begin() + static_cast<std::ptrdiff_t>(needle.size() / 2);
    std::fstream out(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(place);
    out.put(static_cast<char>(bytes[static_cast<std::size_t>(place)] ^ 1));
    return out.good();
  }
  return false;
}

}  // namespace cairn::testing
