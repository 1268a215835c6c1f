// Plain values: what metadata and the non-tensor entries of a state dict are made of.
//
// Types are kept apart (5 is not 5.0) and survive the store bit for bit, NaN and infinities included.
// Strings hold any bytes. Nothing here knows tensors, files or the form on disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cairn {

class Value;

using ValueList = std::vector<Value>;

/// Map from string to Value, ordered by the bytes of its keys.
///
/// A key is not empty and holds no NUL; a wrong or duplicate key raises kInvalidArgument. Look-ups are
/// binary searches.
class ValueMap {
 public:
  using Item = std::pair<std::string, Value>;
  using const_iterator = std::vector<Item>::const_iterator;

  ValueMap() = default;
  ValueMap(std::initializer_list<Item> items);  // NOLINT(google-explicit-constructor)

  /// Adds or replaces.
  void set(std::string key, Value value);
  /// Returns whether the key was there.
  bool erase(std::string_view key);

  bool contains(std::string_view key) const;
  /// Null when absent; valid until the map changes.
  const Value* find(std::string_view key) const;
  /// Errors: kNotFound, naming the keys that exist.
  const Value& at(std::string_view key) const;

  std::size_t size() const noexcept;
  bool empty() const noexcept;
  const_iterator begin() const noexcept;
  const_iterator end() const noexcept;

  friend bool operator==(const ValueMap& left, const ValueMap& right);
  friend bool operator!=(const ValueMap& left, const ValueMap& right) { return !(left == right); }

 private:
  std::vector<Item> items_;  // sorted by key
};

/// User's own key=value of a checkpoint: `step`, `val_loss`, `config` ...
using Metadata = ValueMap;

/// Null, bool, int64, double, string, list or map.
class Value {
 public:
  enum class Type { kNull, kBool, kInt, kDouble, kString, kList, kMap };

  Value() noexcept = default;
  Value(std::nullptr_t) noexcept {}  // NOLINT(google-explicit-constructor)
  /// Any bool, integer or floating-point type, and nothing that merely converts to one (a pointer is no
  /// bool). Errors: kInvalidArgument for an unsigned integer above the int64 range.
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Value(T number) : data_(from_number(number)) {}             // NOLINT(google-explicit-constructor)
  Value(const char* text) : data_(std::string(text)) {}       // NOLINT(google-explicit-constructor)
  Value(std::string text) : data_(std::move(text)) {}         // NOLINT(google-explicit-constructor)
  Value(std::string_view text) : data_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Value(ValueList list) : data_(std::move(list)) {}           // NOLINT(google-explicit-constructor)
  Value(ValueMap map) : data_(std::move(map)) {}              // NOLINT(google-explicit-constructor)

  Type type() const noexcept { return static_cast<Type>(data_.index()); }
  bool is_null() const noexcept { return type() == Type::kNull; }

  /// The value as the type asked for. Errors: kInvalidArgument naming both types. `as_double` also takes
  /// an int; nothing else is converted.
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const ValueList& as_list() const;
  const ValueMap& as_map() const;

  /// Same type and same content; NaN equals nothing, as for double.
  friend bool operator==(const Value& left, const Value& right);
  friend bool operator!=(const Value& left, const Value& right) { return !(left == right); }

 private:
  using Data = std::variant<std::monostate, bool, std::int64_t, double, std::string, ValueList, ValueMap>;

  template <typename T>
  static Data from_number(T number) {
    if constexpr (std::is_same_v<T, bool>) {
      return number;
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(number);
    } else if constexpr (std::is_unsigned_v<T> && sizeof(T) >= sizeof(std::int64_t)) {
      return from_unsigned(number);
    } else {
      return static_cast<std::int64_t>(number);
    }
  }
  static std::int64_t from_unsigned(std::uint64_t number);

  Data data_;
};

std::string_view to_string(Value::Type type) noexcept;

/// The value as JSON text for people: NaN and infinities as `NaN`, `Infinity`; bytes that are not UTF-8
/// as `\xNN`.
std::string to_string(const Value& value);

}  // namespace cairn
