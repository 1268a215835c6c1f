// On a terminal everything beyond ASCII is escaped as \uNNNN, so that no name can steer it; in a
// pipe text stays UTF-8.
#include "cli/json.h"

#include <cmath>
#include <string>

#include "text/terminal.h"
#include "text/wording.h"

namespace cairn::tools {

Json to_json(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return number;
}

Json to_json(const Value& value) {
  switch (value.type()) {
    case Value::Type::kNull:
      return nullptr;
    case Value::Type::kBool:
      return value.as_bool();
    case Value::Type::kInt:
      return value.as_int();
    case Value::Type::kDouble:
      return to_json(value.as_double());
    case Value::Type::kString:
      return valid_utf8(value.as_string());
    case Value::Type::kList: {
      Json list = Json::array();
      for (const Value& item : value.as_list()) list.push_back(to_json(item));
      return list;
    }
    case Value::Type::kMap:
      return to_json(value.as_map());
  }
  return nullptr;
}

Json to_json(const Metadata& metadata) {
  Json object = Json::object();
  for (const auto& [key, value] : metadata) object[valid_utf8(key)] = to_json(value);
  return object;
}

Json to_json(const ObjectInfo& object) {
  Json json = {{"name", valid_utf8(object.name)}, {"kind", to_string(object.kind)}};
  json["type_name"] = object.type_name.empty() ? Json(nullptr) : Json(valid_utf8(object.type_name));
  json["entry_count"] = object.entry_count;
  json["bytes"] = object.bytes;
  return json;
}

Json to_json(const EntryInfo& entry) {
  Json json = {{"name", valid_utf8(entry.name)}, {"kind", entry.is_tensor ? "tensor" : "value"}};
  if (entry.is_tensor) {
    json["dtype"] = entry.dtype;
    json["shape"] = entry.sizes;
    json["bytes"] = entry.bytes;
    json["requires_grad"] = entry.requires_grad;
  } else {
    json["type"] = to_string(entry.value.type());
    json["value"] = to_json(entry.value);
  }
  return json;
}

Json to_json(const CheckpointInfo& checkpoint) {
  Json json;
  json["version"] = checkpoint.version;
  json["parent"] = checkpoint.parent == 0 ? Json(nullptr) : Json(checkpoint.parent);
  json["created_at"] = time_text(checkpoint.created_at_us, Precision::kMicroseconds);
  json["created_at_us"] = checkpoint.created_at_us;
  json["logical_bytes"] = checkpoint.logical_bytes;
  json["written_bytes"] = checkpoint.written_bytes;
  json["metadata"] = to_json(checkpoint.metadata);
  return json;
}

void write_json(const Json& document) {
  write_output(document.dump(2, ' ', /*ensure_ascii=*/is_output_terminal(), Json::error_handler_t::replace) + '\n');
}

}  // namespace cairn::tools
