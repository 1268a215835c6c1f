// `cairn get`: summaries, plain values, .npy files.
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/catch.h"
#include "tools/program.h"

using namespace cairn::testing;
namespace fs = std::filesystem;

namespace {

std::string get(const std::string& entry) { return run_cairn({"get", sample_store(), entry}).out; }

nlohmann::json summary_of(const std::string& entry) {
  return run_cairn({"get", sample_store(), entry, "--json"}).json()["summary"];
}

bool is_near(const nlohmann::json& found, double expected) {
  return std::abs(found.get<double>() - expected) <= 1e-12 * std::abs(expected);
}

struct Npy {
  std::string header;
  std::string data;
};

/// Checks what version 1.0 of the format asks for, and takes the file apart.
Npy read_npy(const fs::path& path) {
  const std::string bytes = contents_of(path);
  REQUIRE(bytes.size() > 10);
  REQUIRE(bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t length = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  REQUIRE((10 + length) % 64 == 0);
  REQUIRE(bytes[9 + length] == '\n');
  Npy npy{bytes.substr(10, length - 1), bytes.substr(10 + length)};
  npy.header.erase(npy.header.find_last_not_of(' ') + 1);
  return npy;
}

Npy written(const std::string& entry) {
  const fs::path path = scratch() / "entry.npy";
  const Outcome outcome = run_cairn({"get", sample_store(), entry, "-o", path});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  return read_npy(path);
}

template <typename T>
std::vector<T> elements(const Npy& npy) {
  std::vector<T> values(npy.data.size() / sizeof(T));
  std::memcpy(values.data(), npy.data.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("get summarizes a tensor", "[tools]") {
  CHECK(get("model/fc1.weight") ==
        "model/fc1.weight of checkpoint 4\n"
        "dtype     float32\n"
        "shape     [2, 3]\n"
        "size      24 B\n"
        "gradient  required\n"
        "min       0\n"
        "max       5\n"
        "mean      2.5\n"
        "std       1.70783\n"
        "NaN       0\n"
        "infinite  0\n"
        "first     0, 1, 2, 3, 4, 5\n");
}

TEST_CASE("a summary leaves out NaN, and infinities from mean and std", "[tools]") {
  const std::string text = get("model/fc1.bias");
  CHECK(line_with(text, "min ") == "min       -Infinity");
  CHECK(line_with(text, "max ") == "max       3");
  CHECK(line_with(text, "mean ") == "mean      2");
  CHECK(line_with(text, "NaN ") == "NaN       1");
  CHECK(line_with(text, "infinite ") == "infinite  1");
  CHECK(line_with(text, "first ") == "first     1, NaN, -Infinity, 3");
  const nlohmann::json summary = summary_of("model/fc1.bias");
  CHECK(summary["min"] == "-Infinity");
  CHECK(summary["mean"] == 2.0);
  CHECK(summary["std"] == 1.0);
  CHECK(summary["first"] == nlohmann::json::array({1.0, "NaN", "-Infinity", 3.0}));
}

TEST_CASE("a summary is exact for integers, and knows every family of dtypes", "[tools]") {
  const nlohmann::json counts = summary_of("model/counts");
  CHECK(counts["min"] == std::numeric_limits<std::int64_t>::min());
  CHECK(counts["max"] == std::numeric_limits<std::int64_t>::max());
  const nlohmann::json mask = summary_of("model/mask");
  CHECK(mask["min"] == false);
  CHECK(mask["max"] == true);
  CHECK(mask["first"] == nlohmann::json::array({true, false, true}));
  CHECK(is_near(mask["mean"], 2.0 / 3));
  const nlohmann::json spectrum = summary_of("model/spectrum");
  CHECK(spectrum["min"].is_null());
  CHECK(spectrum["mean"] == nlohmann::json::array({2.0, -1.0}));
  CHECK(is_near(spectrum["std"], std::sqrt(10.0)));
  CHECK(line_with(get("model/spectrum"), "first ") == "first     1+2j, 3-4j");
  CHECK(line_with(get("model/half"), "first ") == "first     1.5, -2, 0.25");
  CHECK(line_with(get("model/transposed"), "first ") == "first     0, 3, 1, 4, 2, 5");
  CHECK(line_with(get("model/scalar"), "shape ") == "shape     []");
  CHECK(line_with(get("model/scalar"), "mean ") == "mean      7");
  CHECK(line_with(get("model/empty"), "min ") == "min       none");
  CHECK(line_with(get("model/empty"), "first ") == "first     none");
  CHECK(summary_of("model/empty")["mean"].is_null());
}

TEST_CASE("a summary of many elements agrees with their sum", "[tools]") {
  const nlohmann::json big = summary_of("model/big");
  CHECK(big["min"] == 300'000.0);
  CHECK(big["max"] == 824'287.0);
  CHECK(big["mean"] == 562'143.5);
  CHECK(is_near(big["std"], std::sqrt((524'288.0 * 524'288.0 - 1) / 12)));
  CHECK(big["first"].size() == 8);
  CHECK(line_with(get("model/big"), "first ").find(", ...") != std::string::npos);
}

TEST_CASE("get takes the object up to the first slash, and a version", "[tools]") {
  CHECK(line_with(get("model/layer/deep/name"), "first ") == "first     -1, 1");
  const Outcome old = run_cairn({"get", sample_store(), "model/big", "--version", "latest~2", "--json"});
  CHECK(old.json()["version"] == 1);
  CHECK(old.json()["summary"]["min"] == 100'000.0);
}

TEST_CASE("get prints a plain value as JSON", "[tools]") {
  CHECK(get("optimizer/param_groups.0.lr") == "0.001\n");
  CHECK(get("optimizer/param_groups.0.amsgrad") == "false\n");
  CHECK(nlohmann::json::parse(get("optimizer/param_groups.0.params")) == nlohmann::json::array({0, 1}));
  CHECK(nlohmann::json::parse(get("optimizer/note")) == "x\x1b]0;evil\x07 \\xff y");
  CHECK(get("optimizer/note").find('\x1b') == std::string::npos);
  const nlohmann::json document = run_cairn({"get", sample_store(), "optimizer/param_groups.0.lr", "--json"}).json();
  CHECK(document["object"] == "optimizer");
  CHECK(document["entry"] == "param_groups.0.lr");
  CHECK(document["kind"] == "value");
  CHECK(document["type"] == "double");
  CHECK(document["value"] == 0.001);
}

TEST_CASE("get -o writes .npy files that say dtype and shape and hold the elements row by row", "[tools]") {
  const Npy weight = written("model/fc1.weight");
  CHECK(weight.header == "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  CHECK(elements<float>(weight) == std::vector<float>{0, 1, 2, 3, 4, 5});
  const Npy transposed = written("model/transposed");
  CHECK(transposed.header == "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }");
  CHECK(elements<double>(transposed) == std::vector<double>{0, 3, 1, 4, 2, 5});
  CHECK(written("model/scalar").header == "{'descr': '<f8', 'fortran_order': False, 'shape': (), }");
  CHECK(written("model/mask").header == "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }");
  CHECK(written("model/counts").header == "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }");
  CHECK(written("model/spectrum").header == "{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }");
  CHECK(written("model/empty").header == "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }");
  CHECK(written("model/empty").data.empty());
  CHECK(written("model/big").data.size() == 4u << 19);
}

TEST_CASE("get -o widens what NumPy lacks and says so", "[tools]") {
  const fs::path path = scratch() / "half.npy";
  const Outcome outcome = run_cairn({"get", sample_store(), "model/half", "-o", path});
  CHECK(outcome.status == 0);
  CHECK(outcome.out ==
        "wrote " + path.string() + ": bfloat16 [3], widened to float32, which holds every value of it\n");
  const Npy npy = read_npy(path);
  CHECK(npy.header == "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }");
  CHECK(elements<float>(npy) == std::vector<float>{1.5F, -2, 0.25F});
  const nlohmann::json document = run_cairn({"get", sample_store(), "model/half", "-o", path, "--json"}).json();
  CHECK(document["dtype"] == "bfloat16");
  CHECK(document["file_dtype"] == "float32");
  CHECK(document["file"] == path.string());
}

TEST_CASE(
    "get -o leaves nothing behind where it cannot write, and an existing file unchanged until it "
    "is done",
    "[tools]") {
  const fs::path folder = scratch() / "output";
  fs::create_directories(folder);
  for (const fs::path& place : {folder, folder / "absent" / "x.npy", fs::path("/dev/null"), fs::path("/proc/x.npy")}) {
    const Outcome outcome = run_cairn({"get", sample_store(), "model/fc1.weight", "-o", place});
    INFO(place);
    CHECK(outcome.status == 1);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("cairn: cannot write '" + place.string() + "'") == 0);
    CHECK(outcome.err.find("\ntry: ") != std::string::npos);
  }
  CHECK(fs::is_empty(folder));
  const fs::path target = folder / "target.npy";
  fs::create_symlink(target, folder / "link.npy");
  REQUIRE(run_cairn({"get", sample_store(), "model/fc1.weight", "-o", target}).status == 0);
  REQUIRE(run_cairn({"get", sample_store(), "model/fc1.bias", "-o", folder / "link.npy"}).status == 0);
  CHECK(fs::is_symlink(folder / "link.npy"));
  CHECK(elements<float>(read_npy(target)).size() == 4);
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 2);
  const Outcome value = run_cairn({"get", sample_store(), "optimizer/note", "-o", folder / "value.npy"});
  CHECK(value.status == 1);
  CHECK(value.err.find("plain value of type string, not a tensor") != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "value.npy"));
}

TEST_CASE("an object or entry that is not there is an error that names the nearest", "[tools]") {
  const Outcome entry = run_cairn({"get", sample_store(), "model/fc1.wieght"});
  CHECK(entry.status == 1);
  CHECK(entry.out.empty());
  CHECK(entry.err.find("cairn: ") == 0);
  CHECK(entry.err.find("'fc1.wieght'") != std::string::npos);
  CHECK(entry.err.find("'fc1.weight'") != std::string::npos);
  const Outcome object = run_cairn({"get", sample_store(), "modle/fc1.weight"});
  CHECK(object.status == 1);
  CHECK(object.err.find("'modle'") != std::string::npos);
  CHECK(object.err.find("'model'") != std::string::npos);
  for (const char* path : {"model", "/fc1.weight", ""}) {
    const Outcome usage = run_cairn({"get", sample_store(), path});
    INFO(path);
    CHECK(usage.status == 2);
    CHECK(usage.err.find("OBJECT/ENTRY") != std::string::npos);
  }
}
