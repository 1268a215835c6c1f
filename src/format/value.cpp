// Value and ValueMap: typed access with errors that name both types, and JSON-like text for people.
#include "cairn/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "format/fail.h"
#include "format/nearest.h"
#include "format/utf8.h"

namespace cairn {

namespace {

void check_key(std::string_view key) {
  if (key.empty()) fail(ErrorCode::kInvalidArgument, "a metadata key is empty");
  if (key.find('\0') != std::string_view::npos) {
    fail(ErrorCode::kInvalidArgument, "metadata key '{}' holds a NUL byte", printable(key));
  }
}

bool is_before(const ValueMap::Item& item, std::string_view key) { return item.first < key; }

template <typename T>
const T& get(const std::variant<std::monostate, bool, std::int64_t, double, std::string, ValueList, ValueMap>& data,
             Value::Type wanted) {
  if (const T* value = std::get_if<T>(&data)) return *value;
  fail(ErrorCode::kInvalidArgument, "value is of type {}, not {}", to_string(static_cast<Value::Type>(data.index())),
       to_string(wanted));
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append(std::string& out, const Value& value);

void append_double(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "NaN";
  } else if (std::isinf(number)) {
    out += number > 0 ? "Infinity" : "-Infinity";
  } else {
    const std::string text = fmt::format("{}", number);
    out += text;
    // A double stays recognisable as one.
    if (text.find_first_of(".e") == std::string::npos) out += ".0";
  }
}

void append(std::string& out, const ValueList& list) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out += ", ";
    append(out, list[i]);
  }
  out += ']';
}

void append(std::string& out, const ValueMap& map) {
  out += '{';
  bool is_first = true;
  for (const auto& [key, value] : map) {
    if (!is_first) out += ", ";
    is_first = false;
    append_quoted(out, format::escape_unprintable(key));
    out += ": ";
    append(out, value);
  }
  out += '}';
}

void append(std::string& out, const Value& value) {
  switch (value.type()) {
    case Value::Type::kNull:
      out += "null";
      return;
    case Value::Type::kBool:
      out += value.as_bool() ? "true" : "false";
      return;
    case Value::Type::kInt:
      out += fmt::format("{}", value.as_int());
      return;
    case Value::Type::kDouble:
      return append_double(out, value.as_double());
    case Value::Type::kString:
      return append_quoted(out, format::escape_unprintable(value.as_string()));
    case Value::Type::kList:
      return append(out, value.as_list());
    case Value::Type::kMap:
      return append(out, value.as_map());
  }
}

}  // namespace

ValueMap::ValueMap(std::initializer_list<Item> items) : items_(items) {
  for (const Item& item : items_) check_key(item.first);
  std::stable_sort(items_.begin(), items_.end(),
                   [](const Item& left, const Item& right) { return left.first < right.first; });
  const auto twin = std::adjacent_find(items_.begin(), items_.end(),
                                       [](const Item& left, const Item& right) { return left.first == right.first; });
  if (twin != items_.end()) {
    fail(ErrorCode::kInvalidArgument, "metadata key '{}' is given twice", printable(twin->first));
  }
}

void ValueMap::set(std::string key, Value value) {
  check_key(key);
  const auto place = std::lower_bound(items_.begin(), items_.end(), std::string_view(key), is_before);
  if (place != items_.end() && place->first == key) {
    place->second = std::move(value);
  } else {
    items_.emplace(place, std::move(key), std::move(value));
  }
}

bool ValueMap::erase(std::string_view key) {
  const auto place = std::lower_bound(items_.begin(), items_.end(), key, is_before);
  if (place == items_.end() || place->first != key) return false;
  items_.erase(place);
  return true;
}

const Value* ValueMap::find(std::string_view key) const {
  const auto place = std::lower_bound(items_.begin(), items_.end(), key, is_before);
  return place != items_.end() && place->first == key ? &place->second : nullptr;
}

bool ValueMap::contains(std::string_view key) const { return find(key) != nullptr; }

const Value& ValueMap::at(std::string_view key) const {
  if (const Value* value = find(key)) return *value;
  std::vector<std::string_view> keys;
  for (const Item& item : items_) keys.push_back(item.first);
  fail(ErrorCode::kNotFound, "no metadata key '{}'{}", printable(key), format::nearest_names(key, keys));
}

std::size_t ValueMap::size() const noexcept { return items_.size(); }
bool ValueMap::empty() const noexcept { return items_.empty(); }
ValueMap::const_iterator ValueMap::begin() const noexcept { return items_.begin(); }
ValueMap::const_iterator ValueMap::end() const noexcept { return items_.end(); }

bool operator==(const ValueMap& left, const ValueMap& right) { return left.items_ == right.items_; }
bool operator==(const Value& left, const Value& right) { return left.data_ == right.data_; }

std::int64_t Value::from_unsigned(std::uint64_t number) {
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    fail(ErrorCode::kInvalidArgument, "{} does not fit a signed 64-bit integer", number);
  }
  return static_cast<std::int64_t>(number);
}

bool Value::as_bool() const { return get<bool>(data_, Type::kBool); }
std::int64_t Value::as_int() const { return get<std::int64_t>(data_, Type::kInt); }
double Value::as_double() const {
  if (type() == Type::kInt) return static_cast<double>(as_int());
  return get<double>(data_, Type::kDouble);
}
const std::string& Value::as_string() const { return get<std::string>(data_, Type::kString); }
const ValueList& Value::as_list() const { return get<ValueList>(data_, Type::kList); }
const ValueMap& Value::as_map() const { return get<ValueMap>(data_, Type::kMap); }

std::string_view to_string(Value::Type type) noexcept {
  switch (type) {
    case Value::Type::kNull:
      return "null";
    case Value::Type::kBool:
      return "bool";
    case Value::Type::kInt:
      return "int";
    case Value::Type::kDouble:
      return "double";
    case Value::Type::kString:
      return "string";
    case Value::Type::kList:
      return "list";
    case Value::Type::kMap:
      return "map";
  }
  return "unknown";
}

std::string to_string(const Value& value) {
  std::string text;
  append(text, value);
  return text;
}

}  // namespace cairn
