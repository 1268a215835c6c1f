// Parses the names of an optimizer's entries and the lists of its groups.
#include "state/optimizer_record.h"

#include <charconv>
#include <set>
#include <utility>

#include "format/fail.h"

namespace cairn::state {

namespace {

/// More groups than that are no optimizer.
constexpr std::int64_t kMaxGroups = 1'000'000;

struct ParsedName {
  std::int64_t number = 0;
  std::string field;
};

/// "state.12.exp_avg" with prefix "state." gives 12 and "exp_avg".
std::optional<ParsedName> parse(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  ParsedName parsed;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), parsed.number);
  if (error != std::errc() || parsed.number < 0) return std::nullopt;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (name.size() < 2 || name.front() != '.') return std::nullopt;
  parsed.field = std::string(name.substr(1));
  return parsed;
}

/// Takes a list out of a group's fields; null when it is not there.
const SourceView::Item* take(RecordedFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  if (found == fields.end()) return nullptr;
  const SourceView::Item* item = found->second;
  fields.erase(found);
  return item;
}

const ValueList* as_list(const SourceView::Item* item) {
  const bool is_list = item != nullptr && !item->is_tensor() && item->value().type() == Value::Type::kList;
  return is_list ? &item->value().as_list() : nullptr;
}

class RecordReader {
 public:
  explicit RecordReader(const PlanContext& context) : context_(context) {}

  std::optional<OptimizerRecord> read() {
    std::map<std::int64_t, RecordedFields> groups;
    for (const SourceView::Item& item : context_.view.items()) {
      if (auto name = parse(item.name, "state.")) {
        record_.states[name->number][name->field] = &item;
      } else if (auto option = parse(item.name, "param_groups."); option && option->number < kMaxGroups) {
        groups[option->number][option->field] = &item;
      } else {
        record_.unknown.push_back(item.name);
      }
    }
    for (auto& [number, fields] : groups) {
      if (number != static_cast<std::int64_t>(record_.groups.size())) {
        complain(fmt::format("param_groups.{}", record_.groups.size()), "is missing in the checkpoint");
        break;
      }
      read_group(fields);
    }
    if (!is_sound_) return std::nullopt;
    return std::move(record_);
  }

 private:
  void complain(std::string_view entry, std::string_view what) {
    context_.differences.add(fmt::format("{}: {}", context_.path(entry), what));
    is_sound_ = false;
  }

  void read_group(RecordedFields& fields) {
    const std::size_t group = record_.groups.size();
    const SourceView::Item* item = take(fields, "params");
    const SourceView::Item* named_item = take(fields, "param_names");
    const SourceView::Item* shapes_item = take(fields, "param_shapes");
    const ValueList* params = as_list(item);
    const ValueList* names = as_list(named_item);
    const ValueList* shapes = as_list(shapes_item);
    const std::string prefix = fmt::format("param_groups.{}.", group);
    record_.groups.push_back(std::move(fields));
    if (params == nullptr) return complain(prefix + "params", "the checkpoint has no list of parameter numbers");
    if ((named_item != nullptr && (names == nullptr || names->size() != params->size()))) {
      return complain(prefix + "param_names", "is no list of as many names as there are parameters");
    }
    if ((shapes_item != nullptr && (shapes == nullptr || shapes->size() != params->size()))) {
      return complain(prefix + "param_shapes", "is no list of as many shapes as there are parameters");
    }
    for (const SourceView::Item* each : {item, named_item, shapes_item}) {
      if (each != nullptr) context_.count(*each);
    }
    for (std::size_t i = 0; i < params->size(); ++i) {
      const Value& number = (*params)[i];
      if (number.type() != Value::Type::kInt || number.as_int() < 0) {
        return complain(prefix + "params", "holds something else than parameter numbers");
      }
      add_parameter(number.as_int(), group, names != nullptr ? &(*names)[i] : nullptr,
                    shapes != nullptr ? &(*shapes)[i] : nullptr, prefix);
    }
  }

  void add_parameter(std::int64_t number, std::size_t group, const Value* name, const Value* shape,
                     const std::string& prefix) {
    const auto [place, is_first] = groups_of_.emplace(number, group);
    if (!is_first) {
      if (place->second != group)
        complain(prefix + "params", fmt::format("holds parameter {} of another group", number));
      return;
    }
    RecordedParameter& parameter = record_.parameters.emplace_back();
    parameter.number = number;
    parameter.group = group;
    if (name != nullptr && name->type() == Value::Type::kString) parameter.name = name->as_string();
    if (shape != nullptr && shape->type() == Value::Type::kString) parameter.shape = shape->as_string();
  }

  const PlanContext& context_;
  OptimizerRecord record_;
  std::map<std::int64_t, std::size_t> groups_of_;  // by parameter number
  bool is_sound_ = true;
};

}  // namespace

std::optional<OptimizerRecord> read_optimizer_record(const PlanContext& context) {
  return RecordReader(context).read();
}

}  // namespace cairn::state
