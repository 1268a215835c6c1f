// One rule a message, so that it can be said what is wrong.
#include "format/tag_name.h"

#include <algorithm>

#include "format/fail.h"
#include "format/utf8.h"

namespace cairn::format {

void check_tag_name(std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    fail(ErrorCode::kInvalidArgument, "'{}' cannot be the name of a tag: {}", printable(name), why);
  };
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  if (name.empty()) refuse("it is empty");
  if (name.size() > kMaxTagBytes) refuse(fmt::format("it has {} bytes, the most are {}", name.size(), kMaxTagBytes));
  if (escape_unprintable(name) != name) refuse("it holds control characters, or is not UTF-8");
  if (name.front() == ' ' || name.back() == ' ') refuse("it begins or ends with a space");
  if (name.find('~') != std::string_view::npos) refuse("it holds '~', which counts back from a version");
  if (name == "latest") refuse("it is the word for the newest checkpoint");
  if (std::all_of(name.begin(), name.end(), is_digit)) refuse("it is a number, like a version");
}

}  // namespace cairn::format
