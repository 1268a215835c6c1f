// Which checkpoints a policy keeps, without a store.
#include "storage/retention.h"

#include <cmath>
#include <limits>

#include "storage/scratch_database.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::testing;
using Versions = std::vector<std::uint64_t>;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kNow = 1'700'000'000 * kSecond;

/// Versions from 1, a minute apart, the last one now.
class History {
 public:
  explicit History(std::vector<Metadata> metadata) : metadata_(std::move(metadata)) {
    for (std::size_t i = 0; i < metadata_.size(); ++i) {
      const auto age = static_cast<std::int64_t>(metadata_.size() - 1 - i);
      candidates_.push_back({i + 1, kNow - age * 60 * kSecond, &metadata_[i], false});
    }
  }

  History& tag(std::uint64_t version) {
    candidates_[version - 1].is_tagged = true;
    return *this;
  }

  Versions kept(const RetentionPolicy& policy, const std::vector<std::uint64_t>& bytes = {}) const {
    const std::vector<bool> is_kept =
        storage::kept_by(policy, candidates_, kNow, [&](std::size_t candidate) { return bytes.at(candidate); });
    Versions versions;
    for (std::size_t i = 0; i < is_kept.size(); ++i) {
      if (is_kept[i]) versions.push_back(candidates_[i].version);
    }
    return versions;
  }

 private:
  std::vector<Metadata> metadata_;
  std::vector<storage::RetentionCandidate> candidates_;
};

History steps(const std::vector<Value>& values) {
  std::vector<Metadata> metadata;
  for (const Value& value : values) metadata.push_back(value.is_null() ? Metadata{} : Metadata{{"step", value}});
  return History(std::move(metadata));
}

History losses(const std::vector<Value>& values) {
  std::vector<Metadata> metadata;
  for (const Value& value : values) metadata.push_back(value.is_null() ? Metadata{} : Metadata{{"loss", value}});
  return History(std::move(metadata));
}

}  // namespace

TEST_CASE("keep_last keeps the newest, all of them when there are fewer") {
  const History history = steps({1, 2, 3, 4, 5});
  CHECK(history.kept(RetentionPolicy().keep_last(2)) == Versions{4, 5});
  CHECK(history.kept(RetentionPolicy().keep_last(9)) == Versions{1, 2, 3, 4, 5});
  CHECK(steps({}).kept(RetentionPolicy().keep_last(1)).empty());
}

TEST_CASE("keep_every keeps the first of every so many steps, whether or not one falls on a multiple") {
  CHECK(steps({0, 500, 1000, 1500, 2000, 2500}).kept(RetentionPolicy().keep_every(1000)) == Versions{1, 3, 5, 6});
  CHECK(steps({333, 666, 999, 1332, 1665, 2001, 2200}).kept(RetentionPolicy().keep_every(1000)) ==
        Versions{1, 4, 6, 7});
  SECTION("applied after each commit it keeps what it would have kept in the end") {
    std::vector<Value> values;
    for (std::int64_t step = 250; step <= 6000; step += 250) {
      values.emplace_back(step);
      const Versions kept = steps(values).kept(RetentionPolicy().keep_every(1000));
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {  // the last one is always kept
        const bool is_first = values[i].as_int() % 1000 == 0 || i == 0;
        CHECK((std::find(kept.begin(), kept.end(), i + 1) != kept.end()) == is_first);
      }
    }
  }
  SECTION("a checkpoint without a step, or with something else there, is not kept by it") {
    CHECK(steps({0, nullptr, "1000", true, kNan, kInfinity, 2000.0, 1}).kept(RetentionPolicy().keep_every(1000)) ==
          Versions{1, 7, 8});
  }
  SECTION("of equal steps, as after going back, the newest") {
    CHECK(steps({1000, 1500, 1000, 1500, 1600}).kept(RetentionPolicy().keep_every(1000)) == Versions{3, 5});
  }
  SECTION("negative steps have periods of their own") {
    CHECK(steps({-1500, -1000, -1, 0, 5}).kept(RetentionPolicy().keep_every(1000)) == Versions{1, 2, 4, 5});
  }
}

TEST_CASE("keep_best keeps the best, and NaN is never one of them") {
  const History history = losses({3.0, kNan, 1, 2.5, nullptr, "0.1", 1.0, 4});
  CHECK(history.kept(RetentionPolicy().keep_best("loss", Goal::kMin)) == Versions{7, 8});  // of equal ones the newest
  CHECK(history.kept(RetentionPolicy().keep_best("loss", Goal::kMin, 3)) == Versions{3, 4, 7, 8});
  CHECK(history.kept(RetentionPolicy().keep_best("loss", Goal::kMax, 2)) == Versions{1, 8});
  CHECK(history.kept(RetentionPolicy().keep_best("loss", Goal::kMin, 100)) == Versions{1, 3, 4, 7, 8});
  CHECK(history.kept(RetentionPolicy().keep_best("accuracy", Goal::kMax, 5)) == Versions{8});
  CHECK(losses({kNan, kNan, kNan}).kept(RetentionPolicy().keep_best("loss", Goal::kMin, 2)) == Versions{3});
  CHECK(losses({-kInfinity, kInfinity, 0}).kept(RetentionPolicy().keep_best("loss", Goal::kMin)) == Versions{1, 3});
}

TEST_CASE("the newest and the tagged are always kept, and keep_tagged keeps nothing else") {
  History history = steps({1, 2, 3, 4, 5});
  history.tag(2);
  CHECK(history.kept(RetentionPolicy().keep_tagged()) == Versions{2, 5});
  CHECK(history.kept(RetentionPolicy().keep_last(2)) == Versions{2, 4, 5});
}

TEST_CASE("keep_newer_than goes by the time of creation") {
  const History history = steps({1, 2, 3, 4, 5});
  CHECK(history.kept(RetentionPolicy().keep_newer_than(std::chrono::minutes(2))) == Versions{3, 4, 5});
  CHECK(history.kept(RetentionPolicy().keep_newer_than(std::chrono::seconds(1))) == Versions{5});
  CHECK(history.kept(RetentionPolicy().keep_newer_than(std::chrono::microseconds::max())) == Versions{1, 2, 3, 4, 5});
}

TEST_CASE("a byte budget keeps the newest that fit beside what other rules keep") {
  const History history = steps({1, 2, 3, 4, 5});
  const std::vector<std::uint64_t> bytes = {10, 10, 10, 10, 10};
  CHECK(history.kept(RetentionPolicy().keep_within(35), bytes) == Versions{3, 4, 5});
  CHECK(history.kept(RetentionPolicy().keep_within(50), bytes) == Versions{1, 2, 3, 4, 5});
  CHECK(history.kept(RetentionPolicy().keep_within(1), bytes) == Versions{5});
  CHECK(history.kept(RetentionPolicy().keep_within(40).keep_best("step", Goal::kMin, 2), bytes) ==
        Versions{1, 2, 4, 5});
  CHECK(history.kept(RetentionPolicy().keep_within(5).keep_best("step", Goal::kMin, 2), bytes) == Versions{1, 2, 5});
  // An older one that would still fit does not jump the queue.
  CHECK(history.kept(RetentionPolicy().keep_within(25), {1, 1, 100, 10, 10}) == Versions{4, 5});
}

TEST_CASE("rules are a union") {
  const History history = steps({0, 100, 200, 300, 400, 500, 600});
  CHECK(history.kept(RetentionPolicy().keep_last(2).keep_every(300).keep_best("step", Goal::kMin, 2)) ==
        Versions{1, 2, 4, 6, 7});
}

TEST_CASE("a policy that says nothing, or nonsense, is refused") {
  const History history = steps({1, 2});
  const auto refused = [&](const RetentionPolicy& policy) {
    return message_of(ErrorCode::kInvalidArgument, [&] { history.kept(policy); });
  };
  CHECK(refused({}).find("without a rule") != std::string::npos);
  CHECK(refused(RetentionPolicy().keep_last(0)).find("keep_last") != std::string::npos);
  CHECK(refused(RetentionPolicy().keep_every(-1)).find("keep_every") != std::string::npos);
  CHECK(refused(RetentionPolicy().keep_best("loss", Goal::kMin, 0)).find("keep_best") != std::string::npos);
  CHECK(refused(RetentionPolicy().keep_best("", Goal::kMin, 1)).find("metric") != std::string::npos);
  CHECK(refused(RetentionPolicy().keep_newer_than(std::chrono::seconds(-5))).find("newer") != std::string::npos);
  CHECK(refused(RetentionPolicy().keep_within(0)).find("keep_within") != std::string::npos);
}
