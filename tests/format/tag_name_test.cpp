// Names of tags: what is refused, and that the message says why.
#include "format/tag_name.h"

#include <string>

#include "format/errors.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::format;
using cairn::testing::raised_by;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("names of tags are any printable text", "[format][tags]") {
  for (const std::string& name :
       {std::string("best"), std::string("epoch 3"), std::string("a/b.c:d"), std::string("v1"), std::string("gr\xc3\xb6\xc3\x9f" "te"),
        std::string("latest2"), std::string(kMaxTagBytes, 'n')}) {
    INFO(name);
    CHECK_NOTHROW(check_tag_name(name));
  }
}

TEST_CASE("a name that could be mistaken for a version is refused", "[format][tags]") {
  const auto refused = [](const std::string& name, const char* why) {
    INFO(name);
    const testing::Raised raised = raised_by([&] { check_tag_name(name); });
    CHECK(raised.code == ErrorCode::kInvalidArgument);
    CHECK_THAT(raised.message, ContainsSubstring(why));
  };
  refused("", "empty");
  refused("17", "number");
  refused("latest", "newest");
  refused("best~1", "'~'");
  refused(" best", "space");
  refused("best ", "space");
  refused("a\nb", "control");
  refused(std::string("a\0b", 3), "control");
  refused("\xff", "UTF-8");
  refused(std::string(kMaxTagBytes + 1, 'n'), "256 bytes");
}
