// One conversion for each type that an option has.
#include "state/optimizer_options_reader.h"

#include "format/fail.h"

namespace cairn::state {

const SourceView::Item* OptionReader::take(std::string_view name) {
  const auto found = fields_.find(name);
  if (found == fields_.end()) {
    missing_.push_back(prefix_ + std::string(name));
    return nullptr;
  }
  const SourceView::Item* item = found->second;
  fields_.erase(found);
  return item;
}

bool OptionReader::is_null(std::string_view name) const {
  const auto found = fields_.find(name);
  return found != fields_.end() && !found->second->is_tensor() && found->second->value().is_null();
}

void OptionReader::note(const SourceView::Item& item, bool is_read) {
  if (is_read) {
    context_.count(item);
  } else {
    is_sound_ = false;
  }
}

void OptionReader::refuse(const SourceView::Item& item, std::string_view wanted) {
  const std::string found = item.is_tensor() ? format::describe(item.layout()) : to_string(item.value());
  context_.differences.add(
      fmt::format("{}: checkpoint {}, optimizer needs {}", context_.path(item.name), found, wanted));
  is_sound_ = false;
}

void OptionReader::operator()(std::string_view name, double& option) {
  if (const SourceView::Item* item = take(name)) note(*item, numbers_.read_real(context_, *item, option));
}

void OptionReader::operator()(std::string_view name, std::int64_t& option) {
  if (const SourceView::Item* item = take(name)) note(*item, numbers_.read_integer(context_, *item, option));
}

void OptionReader::operator()(std::string_view name, bool& option) {
  const SourceView::Item* item = take(name);
  if (item == nullptr) return;
  if (item->is_tensor() || item->value().type() != Value::Type::kBool) return refuse(*item, "a bool");
  option = item->value().as_bool();
  note(*item, true);
}

void OptionReader::operator()(std::string_view name, std::string& option) {
  const SourceView::Item* item = take(name);
  if (item == nullptr) return;
  if (item->is_tensor() || item->value().type() != Value::Type::kString) return refuse(*item, "a string");
  option = item->value().as_string();
  note(*item, true);
}

void OptionReader::operator()(std::string_view name, std::tuple<double, double>& option) {
  const SourceView::Item* item = take(name);
  if (item == nullptr) return;
  const auto is_number = [](const Value& value) {
    return value.type() == Value::Type::kDouble || value.type() == Value::Type::kInt;
  };
  if (item->is_tensor() || item->value().type() != Value::Type::kList) return refuse(*item, "two numbers");
  const ValueList& list = item->value().as_list();
  if (list.size() != 2 || !is_number(list[0]) || !is_number(list[1])) return refuse(*item, "two numbers");
  option = {list[0].as_double(), list[1].as_double()};
  note(*item, true);
}

}  // namespace cairn::state
