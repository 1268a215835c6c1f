// Tags: what they point to, and that they keep it.
#include "storage/tags.h"

#include <rocksdb/db.h>

#include "format/keys.h"
#include "storage/families.h"
#include "storage/removal.h"
#include "storage/scratch_database.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("tags survive a reopening, in the order of their names", "[storage][tags]") {
  ScratchDatabase scratch;
  {
    const auto database = scratch.open();
    commit(*database, model_of(1, 1, 100));
    commit(*database, model_of(2, 1, 100));
    storage::set_tag(*database, 2, "newer", false);
    storage::set_tag(*database, 1, "best", false);
    storage::set_tag(*database, 1, "also the best", false);
  }
  const auto database = scratch.open_read_only();
  const auto tags = storage::all_tags(*database);
  REQUIRE(tags.size() == 3);
  CHECK(tags[0].name == "also the best");
  CHECK(tags[1].name == "best");
  CHECK(tags[1].version == 1);
  CHECK(storage::find_tag(*database, "newer") == 2);
  CHECK_FALSE(storage::find_tag(*database, "newest"));
  CHECK(storage::a_tag_of(*database, 2) == "newer");
}

TEST_CASE("a tag is moved on request only", "[storage][tags]") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  commit(*database, model_of(1, 1, 100));
  commit(*database, model_of(2, 1, 100));
  storage::set_tag(*database, 1, "best", false);
  storage::set_tag(*database, 1, "best", false);  // as it is
  CHECK_THAT(message_of(ErrorCode::kAlreadyExists, [&] { storage::set_tag(*database, 2, "best", false); }),
             ContainsSubstring("'best' stands for checkpoint 1"));
  CHECK(storage::find_tag(*database, "best") == 1);
  storage::set_tag(*database, 2, "best", true);
  CHECK(storage::find_tag(*database, "best") == 2);
}

TEST_CASE("a tag stands for a checkpoint that exists", "[storage][tags]") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  CHECK_THAT(message_of(ErrorCode::kNotFound, [&] { storage::set_tag(*database, 1, "best", true); }),
             ContainsSubstring("no checkpoint 1"));
  CHECK_FALSE(storage::delete_tag(*database, "best"));
  commit(*database, model_of(1, 1, 100));
  message_of(ErrorCode::kInvalidArgument, [&] { storage::set_tag(*database, 1, "1", false); });
  CHECK(storage::all_tags(*database).empty());
}

TEST_CASE("a tagged checkpoint is not removed before it loses its tag", "[storage][tags]") {
  ScratchDatabase scratch;
  const auto database = scratch.open();
  commit(*database, model_of(1, 1, 100));
  storage::set_tag(*database, 1, "best", false);
  CHECK_THAT(message_of(ErrorCode::kBusy, [&] { storage::remove_checkpoint(*database, 1); }),
             ContainsSubstring("tagged 'best'"));
  CHECK(storage::delete_tag(*database, "best"));
  storage::remove_checkpoint(*database, 1);
}

TEST_CASE("a tag is not written to a database that is open for reading", "[storage][tags]") {
  ScratchDatabase scratch;
  commit(*scratch.open(), model_of(1, 1, 100));
  const auto database = scratch.open_read_only();
  message_of(ErrorCode::kInvalidArgument, [&] { storage::set_tag(*database, 1, "best", false); });
  message_of(ErrorCode::kInvalidArgument, [&] { storage::delete_tag(*database, "best"); });
}

TEST_CASE("verify reports a tag without a checkpoint, and one that is no number", "[storage][tags][verify]") {
  ScratchDatabase scratch;
  scratch.expect_damage();
  const auto database = scratch.open();
  const storage::Handles& handles = database->handles();
  rocksdb::ColumnFamilyHandle* family = handles.family(storage::Family::kTag);
  REQUIRE(handles.db().Put(rocksdb::WriteOptions(), family, "lost", format::number_key(7)).ok());
  REQUIRE(handles.db().Put(rocksdb::WriteOptions(), family, "odd", "7").ok());
  CHECK_THAT(problems_of(*database), ContainsSubstring("checkpoint 7: tag 'lost'"));
  CHECK_THAT(problems_of(*database), ContainsSubstring("tag 'odd': expected 8 bytes, found 1"));
  message_of(ErrorCode::kCorruption, [&] { storage::all_tags(*database); });
}
