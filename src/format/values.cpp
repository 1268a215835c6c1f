// Writing goes through FlexBuffers' builder; reading is our own, because its verifier does not look for the end of keys
// and its reader trusts it.
//
// The reader follows the FlexBuffers layout: the root's packed type and byte width are the last two bytes; a vector is
// preceded by its size and followed by one packed type an element; a map has the offset and width of its key vector
// before that. Offsets point backwards. Nothing is shared by our writer, so a value never unfolds to more than it is
// long: that bounds what a hostile buffer can cost.
#include "format/values.h"

#include <bit>
#include <cstring>
#include <limits>

#include <flatbuffers/flexbuffers.h>

#include "format/fail.h"
#include "format/rows.h"

namespace cairn::format {

namespace {

// --- Writing --------------------------------------------------------------------------------------------------------

/// Bytes of strings and keys, and nodes: a lower bound of the encoded length, taken before anything is built.
std::size_t estimate(const Value& value, unsigned depth) {
  const auto check_depth = [&] {
    if (depth <= kMaxValueDepth) return;
    fail(ErrorCode::kInvalidArgument, "value is nested deeper than {} lists and maps", kMaxValueDepth);
  };
  switch (value.type()) {
    case Value::Type::kString:
      return value.as_string().size() + 1;
    case Value::Type::kList: {
      check_depth();
      std::size_t bytes = 1;
      for (const Value& item : value.as_list()) bytes += estimate(item, depth + 1);
      return bytes;
    }
    case Value::Type::kMap: {
      check_depth();
      std::size_t bytes = 1;
      for (const auto& [key, item] : value.as_map()) bytes += key.size() + 1 + estimate(item, depth + 1);
      return bytes;
    }
    default:
      return 1;
  }
}

void write(flexbuffers::Builder& builder, const Value& value) {
  switch (value.type()) {
    case Value::Type::kNull:
      builder.Null();
      return;
    case Value::Type::kBool:
      builder.Bool(value.as_bool());
      return;
    case Value::Type::kInt:
      builder.Int(value.as_int());
      return;
    case Value::Type::kDouble:
      builder.Double(value.as_double());
      return;
    case Value::Type::kString:
      builder.String(value.as_string().data(), value.as_string().size());
      return;
    case Value::Type::kList: {
      const std::size_t start = builder.StartVector();
      for (const Value& item : value.as_list()) write(builder, item);
      builder.EndVector(start, /*typed=*/false, /*fixed=*/false);
      return;
    }
    case Value::Type::kMap: {
      const std::size_t start = builder.StartMap();
      for (const auto& [key, item] : value.as_map()) {
        builder.Key(key.data(), key.size());
        write(builder, item);
      }
      builder.EndMap(start);
      return;
    }
  }
}

// --- Reading --------------------------------------------------------------------------------------------------------

[[noreturn]] void fail_value(std::string_view what) { fail(ErrorCode::kCorruption, "plain value: {}", what); }

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes), budget_(bytes.size()) {}

  Value root() {
    if (bytes_.size() < 3) fail_value("shorter than three bytes");
    const auto width = static_cast<std::uint8_t>(bytes_.back());
    const auto packed = static_cast<std::uint8_t>(bytes_[bytes_.size() - 2]);
    check_width(width);
    if (bytes_.size() - 2 < width) fail_value("root does not fit");
    return read(bytes_.size() - 2 - width, width, packed, 1);
  }

 private:
  static void check_width(std::uint64_t width) {
    if (width != 1 && width != 2 && width != 4 && width != 8) fail_value("byte width is not 1, 2, 4 or 8");
  }

  void spend(std::uint64_t units) {
    if (units > budget_) fail_value("unfolds to more than its length");
    budget_ -= units;
  }

  /// Requires: position + width within the bytes.
  std::uint64_t read_unsigned(std::size_t position, std::uint8_t width) const {
    std::uint64_t number = 0;
    for (std::uint8_t i = width; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes_[position + i]);
    return number;
  }

  std::int64_t read_signed(std::size_t position, std::uint8_t width) const {
    const std::uint64_t number = read_unsigned(position, width);
    const unsigned unused = 64u - 8u * width;
    return static_cast<std::int64_t>(number << unused) >> unused;
  }

  double read_double(std::size_t position, std::uint8_t width) const {
    const std::uint64_t bits = read_unsigned(position, width);
    if (width == 8) return std::bit_cast<double>(bits);
    if (width == 4) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    fail_value("a float is neither 4 nor 8 bytes wide");
  }

  /// Target of the backward offset at a position.
  std::size_t follow(std::size_t position, std::uint8_t width) const {
    const std::uint64_t offset = read_unsigned(position, width);
    if (offset > position) fail_value("an offset points before the start");
    return position - static_cast<std::size_t>(offset);
  }

  /// Size before `data`, checked so that `data` and size * unit bytes from there are inside.
  std::size_t read_size(std::size_t data, std::uint8_t width, std::uint64_t unit) const {
    if (data < width) fail_value("a size lies before the start");
    const std::uint64_t size = read_unsigned(data - width, width);
    if (size > (bytes_.size() - data) / unit) fail_value("a size runs past the end");
    return static_cast<std::size_t>(size);
  }

  Value read(std::size_t position, std::uint8_t parent_width, std::uint8_t packed, unsigned depth) {
    const auto type = static_cast<flexbuffers::Type>(packed >> 2);
    const auto width = static_cast<std::uint8_t>(1u << (packed & 3));
    switch (type) {
      case flexbuffers::FBT_NULL:
        return nullptr;
      case flexbuffers::FBT_BOOL:
        return read_unsigned(position, parent_width) != 0;
      case flexbuffers::FBT_INT:
        return read_signed(position, parent_width);
      case flexbuffers::FBT_UINT: {
        const std::uint64_t number = read_unsigned(position, parent_width);
        if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
          fail_value("an unsigned integer is above the signed range");
        }
        return static_cast<std::int64_t>(number);
      }
      case flexbuffers::FBT_FLOAT:
        return read_double(position, parent_width);
      case flexbuffers::FBT_STRING:
        return read_string(follow(position, parent_width), width);
      case flexbuffers::FBT_VECTOR:
        return read_list(follow(position, parent_width), width, depth);
      case flexbuffers::FBT_MAP:
        return read_map(follow(position, parent_width), width, depth);
      default:
        fail(ErrorCode::kCorruption, "plain value: FlexBuffers type {} is not used here", static_cast<int>(type));
    }
  }

  std::string read_string(std::size_t data, std::uint8_t width) {
    const std::size_t size = read_size(data, width, 1);
    spend(size);
    return std::string(bytes_.substr(data, size));
  }

  Value element(std::size_t data, std::size_t size, std::size_t index, std::uint8_t width, unsigned depth) {
    const auto packed = static_cast<std::uint8_t>(bytes_[data + size * width + index]);
    return read(data + index * width, width, packed, depth + 1);
  }

  static void check_depth(unsigned depth) {
    if (depth > kMaxValueDepth) fail_value("nested too deep");
  }

  ValueList read_list(std::size_t data, std::uint8_t width, unsigned depth) {
    check_depth(depth);
    const std::size_t size = read_size(data, width, std::uint64_t{width} + 1);  // each element has a type byte
    spend(size);
    ValueList list;
    list.reserve(size);
    for (std::size_t i = 0; i < size; ++i) list.push_back(element(data, size, i, width, depth));
    return list;
  }

  ValueMap read_map(std::size_t data, std::uint8_t width, unsigned depth) {
    check_depth(depth);
    const std::size_t size = read_size(data, width, std::uint64_t{width} + 1);
    spend(size);
    if (data < std::size_t{3} * width) fail_value("a map's keys lie before the start");
    const std::size_t keys = follow(data - std::size_t{3} * width, width);
    const std::uint64_t key_width = read_unsigned(data - std::size_t{2} * width, width);
    check_width(key_width);
    const auto narrow_width = static_cast<std::uint8_t>(key_width);
    if (read_size(keys, narrow_width, key_width) != size) fail_value("a map has more keys than values, or fewer");
    ValueMap map;
    std::string_view last;
    for (std::size_t i = 0; i < size; ++i) {
      const std::string_view key = read_key(follow(keys + i * narrow_width, narrow_width));
      if (key.empty() || (i != 0 && key <= last)) fail_value("a map's keys are not in order");
      last = key;
      map.set(std::string(key), element(data, size, i, width, depth));
    }
    return map;
  }

  std::string_view read_key(std::size_t start) {
    const std::size_t end = bytes_.find('\0', start);
    if (end == std::string_view::npos) fail_value("a key has no end");
    spend(end - start);
    return bytes_.substr(start, end - start);
  }

  std::string_view bytes_;
  std::uint64_t budget_;
};

}  // namespace

std::string encode_value(const Value& value) {
  const auto check_length = [](std::size_t length) {
    if (length > kMaxValueBytes) {
      fail(ErrorCode::kInvalidArgument, "value is {} bytes long, the limit is {}", length, kMaxValueBytes);
    }
  };
  check_length(estimate(value, 1));
  flexbuffers::Builder builder(256, flexbuffers::BUILDER_FLAG_NONE);
  write(builder, value);
  builder.Finish();
  const std::vector<std::uint8_t>& bytes = builder.GetBuffer();
  check_length(bytes.size());
  return std::string(bytes.begin(), bytes.end());
}

Value decode_value(std::string_view bytes) {
  if (bytes.size() > kMaxValueBytes) fail_value("longer than the limit");
  return Reader(bytes).root();
}

}  // namespace cairn::format
