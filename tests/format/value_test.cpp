// Plain values: types, access, text, and FlexBuffers both ways.
#include "cairn/value.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "format/errors.h"
#include "format/rows.h"
#include "format/utf8.h"
#include "format/values.h"
#include "support/catch.h"

using namespace cairn;
using cairn::format::decode_value;
using cairn::format::encode_value;
using cairn::testing::raised_by;
using cairn::testing::returns_or_raises;

namespace {

Value nested(unsigned depth) {
  Value value = 7;
  for (unsigned i = 0; i < depth; ++i) value = i % 2 == 0 ? Value(ValueList{value}) : Value(ValueMap{{"k", value}});
  return value;
}

/// One of everything.
Value sample() {
  return ValueMap{{"null", nullptr},
                  {"bool", true},
                  {"int", -5},
                  {"most", std::numeric_limits<std::int64_t>::max()},
                  {"least", std::numeric_limits<std::int64_t>::min()},
                  {"double", 5.0},
                  {"third", 1.0 / 3},
                  {"bytes", std::string("\xff\0\xfe", 3)},
                  {"empty", ""},
                  {"list", ValueList{1, 2.5, "three", ValueList{}, ValueMap{}}},
                  {"map", ValueMap{{"a", ValueMap{{"b", ValueList{nullptr}}}}}}};
}

std::uint64_t bits(double number) { return std::bit_cast<std::uint64_t>(number); }

}  // namespace

TEST_CASE("a value keeps the type it was given", "[value]") {
  CHECK(Value(5).type() == Value::Type::kInt);
  CHECK(Value(5.0).type() == Value::Type::kDouble);
  CHECK(Value(5.0f).type() == Value::Type::kDouble);
  CHECK(Value(true).type() == Value::Type::kBool);
  CHECK(Value('c').type() == Value::Type::kInt);
  CHECK(Value(std::uint64_t{5}).as_int() == 5);
  CHECK(Value("text").as_string() == "text");
  CHECK(Value().is_null());
  CHECK(Value(5) != Value(5.0));
  CHECK_FALSE(std::is_constructible_v<Value, int*>);
  CHECK(raised_by([] { Value value(std::numeric_limits<std::uint64_t>::max()); }).code == ErrorCode::kInvalidArgument);
}

TEST_CASE("asking for another type names both", "[value]") {
  CHECK_THAT(raised_by([] { Value("5").as_int(); }).message,
             Catch::Matchers::ContainsSubstring("string") && Catch::Matchers::ContainsSubstring("int"));
  CHECK(Value(5).as_double() == 5.0);
  CHECK(raised_by([] { Value(5.0).as_int(); }).code == ErrorCode::kInvalidArgument);
}

TEST_CASE("a map refuses keys that are empty, hold NUL or are given twice", "[value]") {
  CHECK(raised_by([] { ValueMap map{{"a", 1}, {"a", 2}}; }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { ValueMap map{{"", 1}}; }).code == ErrorCode::kInvalidArgument);
  CHECK(raised_by([] { ValueMap().set(std::string("a\0b", 3), 1); }).code == ErrorCode::kInvalidArgument);
  ValueMap map{{"b", 1}, {"a", 2}};
  CHECK(map.begin()->first == "a");
  map.set("b", "new");
  CHECK(map.at("b").as_string() == "new");
  CHECK(map.erase("a"));
  CHECK_FALSE(map.erase("a"));
  CHECK(map.size() == 1);
  CHECK_THAT(raised_by([&] { map.at("step"); }).message, Catch::Matchers::ContainsSubstring("'step'"));
}

TEST_CASE("values read as JSON would show them", "[value]") {
  CHECK(to_string(Value(ValueMap{{"a", ValueList{1, 2.0, nullptr, true}}, {"b", "x\"\n\xff"}})) ==
        R"({"a": [1, 2.0, null, true], "b": "x\"\\x0a\\xff"})");
  CHECK(to_string(Value(std::numeric_limits<double>::quiet_NaN())) == "NaN");
  CHECK(to_string(Value(-std::numeric_limits<double>::infinity())) == "-Infinity");
}

TEST_CASE("every value comes back from its bytes", "[format][values]") {
  CHECK(decode_value(encode_value(sample())) == sample());
  for (const Value& value : {Value(), Value(0), Value(""), Value(ValueList{}), Value(ValueMap{}), Value(1e300)}) {
    CHECK(decode_value(encode_value(value)) == value);
  }
  ValueList many;
  for (int i = 0; i < 100'000; ++i) many.emplace_back(i);
  CHECK(decode_value(encode_value(many)) == Value(many));
}

TEST_CASE("doubles come back bit for bit", "[format][values]") {
  for (const std::uint64_t pattern :
       {bits(-0.0), bits(5e-324), bits(std::numeric_limits<double>::infinity()), std::uint64_t{0x7ff8000000000000},
        std::uint64_t{0xfff800000000beef}, std::uint64_t{0x7ff0000000000001}, bits(0.1), bits(0.5)}) {
    CHECK(bits(decode_value(encode_value(std::bit_cast<double>(pattern))).as_double()) == pattern);
  }
}

TEST_CASE("nesting is kept to 64 levels, both ways", "[format][values]") {
  CHECK(decode_value(encode_value(nested(64))) == nested(64));
  CHECK(raised_by([] { encode_value(nested(65)); }).code == ErrorCode::kInvalidArgument);
}

TEST_CASE("a value above the limit is an error, not an abort", "[format][values]") {
  const Value long_text(std::string(format::kMaxValueBytes + 1, 'x'));
  CHECK(raised_by([&] { encode_value(long_text); }).code == ErrorCode::kInvalidArgument);
}

TEST_CASE("a value that is cut or has any byte changed decodes or is refused", "[format][values][malformed]") {
  const std::string bytes = encode_value(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK(returns_or_raises(ErrorCode::kCorruption, [&] { decode_value(std::string_view(bytes).substr(0, length)); }));
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      if (!returns_or_raises(ErrorCode::kCorruption, [&] { decode_value(changed); }))
        FAIL("byte " << i << " flip " << flip);
    }
  }
}

TEST_CASE("random bytes are refused or decode, at every length", "[format][values][malformed]") {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (!returns_or_raises(ErrorCode::kCorruption, [&] { decode_value(bytes); })) FAIL("round " << round);
  }
}

TEST_CASE("a value whose parts are shared cannot unfold beyond its length", "[format][values][malformed]") {
  // Each level is a vector of four references to the level before: 4^n leaves in about 10 n bytes.
  std::string bytes;
  bytes += '\x01';  // size of the innermost vector
  bytes += '\x07';  // its element
  bytes += '\x04';  // packed type: int, one byte
  std::size_t inner = 1;
  for (int level = 0; level < 20; ++level) {
    bytes += '\x04';
    const std::size_t start = bytes.size();
    for (std::size_t i = 0; i < 4; ++i) bytes += static_cast<char>(start + i - inner);
    bytes += std::string(4, '\x28');  // vector, one byte wide
    inner = start;
  }
  bytes += static_cast<char>(bytes.size() - inner);
  bytes += '\x28';
  bytes += '\x01';
  const auto raised = raised_by([&] { decode_value(bytes); });
  CHECK(raised.code == ErrorCode::kCorruption);
  CHECK_THAT(raised.message, Catch::Matchers::ContainsSubstring("unfolds"));
}

TEST_CASE("names are shown without bytes that a terminal would take for commands", "[format][utf8]") {
  using format::escape_unprintable;
  CHECK(escape_unprintable("weight") == "weight");
  CHECK(escape_unprintable("gr\xc3\xb6\xc3\x9f"
                           "e") ==
        "gr\xc3\xb6\xc3\x9f"
        "e");
  CHECK(escape_unprintable(std::string("a\x1b[31m\0", 7)) == "a\\x1b[31m\\x00");
  CHECK(escape_unprintable("\xff\xc0\x80") == "\\xff\\xc0\\x80");
  CHECK(escape_unprintable("\xc2\x9b"
                           "31m") ==
        "\\xc2\\x9b"
        "31m");
  CHECK(escape_unprintable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
}
