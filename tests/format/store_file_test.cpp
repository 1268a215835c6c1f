// The file CAIRN.
#include "format/store_file.h"

#include "format/errors.h"
#include "format/rows.h"
#include "support/catch.h"

using namespace cairn;
using namespace cairn::format;
using cairn::testing::raised_by;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string kGolden = "cairn store\nformat 1\nreader 1\nid 0123456789abcdef0123456789abcdef\nstate ready\n";

std::string with(std::string_view from, std::string_view to) {
  std::string text = kGolden;
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("the file CAIRN has the text that FORMAT.md shows", "[format][store_file][golden]") {
  CHECK(encode(StoreFile{1, 1, "0123456789abcdef0123456789abcdef", true}) == kGolden);
  const StoreFile file = decode_store_file(kGolden);
  CHECK(file.format_version == 1);
  CHECK(file.id == "0123456789abcdef0123456789abcdef");
  CHECK(file.is_ready);
  CHECK_FALSE(decode_store_file(with("ready", "creating")).is_ready);
}

TEST_CASE("lines of later releases are passed over", "[format][store_file]") {
  CHECK(decode_store_file(kGolden + "host 12\n").is_ready);
  CHECK(decode_store_file(with("format 1", "format 9")).format_version == 9);
}

TEST_CASE("a store that needs a newer reader is refused by both numbers", "[format][store_file]") {
  const auto raised = raised_by([] { decode_store_file(with("reader 1", "reader 7")); });
  CHECK(raised.code == ErrorCode::kUnsupportedVersion);
  CHECK_THAT(raised.message, ContainsSubstring("format 7") && ContainsSubstring("reads format 1"));
}

TEST_CASE("other files and damaged ones are told apart", "[format][store_file]") {
  CHECK(raised_by([] { decode_store_file("hello"); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { decode_store_file(""); }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { decode_store_file(std::string(100'000, 'x')); }).code == ErrorCode::kInvalidArgument);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"format 1", "format x"},
                                                                                 {"format 1", "format 0"},
                                                                                 {"format 1\n", ""},
                                                                                 {"reader 1\n", ""},
                                                                                 {"0123", "01"},
                                                                                 {"abcdef\n", "ABCDEF\n"},
                                                                                 {"state ready", "state odd"},
                                                                                 {"state ready\n", ""},
                                                                                 {"format 1", "format 99999999999"}}) {
    INFO(from << " -> " << to);
    CHECK(raised_by([&] { decode_store_file(with(from, to)); }).code == ErrorCode::kCorruption);
  }
  for (std::size_t length = 0; length < kGolden.size(); ++length) {
    const auto raised = raised_by([&] { decode_store_file(std::string_view(kGolden).substr(0, length)); });
    if (length + 1 < kGolden.size()) CHECK(raised.code.has_value());
  }
}
