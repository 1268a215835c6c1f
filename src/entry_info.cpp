#include "entry_info.h"

#include <utility>
#include <variant>

#include "format/content_digest.h"
#include "format/dtype.h"

namespace cairn {

EntryInfo entry_info(format::Entry entry) {
  EntryInfo info;
  info.name = std::move(entry.name);
  info.digest = format::to_hex(format::content_digest(entry.row));
  if (auto* value = std::get_if<Value>(&entry.row.payload)) {
    info.value = std::move(*value);
    return info;
  }
  format::TensorLayout& layout = std::get<format::TensorRow>(entry.row.payload).layout;
  info.is_tensor = true;
  info.dtype = format::name_of(layout.dtype);
  info.bytes = format::nbytes_of(layout);
  info.sizes = std::move(layout.sizes);
  info.requires_grad = layout.requires_grad;
  return info;
}

}  // namespace cairn
