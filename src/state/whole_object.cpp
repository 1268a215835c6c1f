// Comparison of kinds and classes.
#include "state/whole_object.h"

#include <string>
#include <vector>

#include "format/fail.h"

namespace cairn::state {

bool is_same_class(const PlanContext& context) {
  const detail::TargetObject& target = *context.target.target().object();
  if (context.view.objects().size() > 1) {
    context.differences.add(fmt::format("{}: rename puts {} objects of the checkpoint into one {}",
                                        printable(context.object()), context.view.objects().size(),
                                        to_string(target.kind)));
    return false;
  }
  const SourceObject& source = *context.view.objects().front();
  if (source.kind == ObjectKind::kStateDict && source.type_name.empty()) return true;
  if (source.kind != target.kind) {
    context.differences.add(fmt::format("{}: {} in the checkpoint, {} in the call", printable(context.object()),
                                        to_string(source.kind), to_string(target.kind)));
    return false;
  }
  if (source.type_name != target.type_name) {
    context.differences.add(fmt::format("{}: {} of class {} in the checkpoint, {} in the call",
                                        printable(context.object()), to_string(source.kind),
                                        printable(source.type_name), printable(target.type_name)));
    return false;
  }
  return true;
}

const SourceView::Item* only_item(const PlanContext& context, std::string_view name) {
  std::vector<std::string> unexpected;
  for (const SourceView::Item& item : context.view.items()) {
    if (item.name != name) unexpected.push_back(item.name);
  }
  context.settle({}, unexpected);
  const SourceView::Item* item = context.view.find(name);
  if (item == nullptr || !item->is_tensor()) {
    context.differences.add(fmt::format("{}: the checkpoint has no such tensor", context.path(name)));
    return nullptr;
  }
  return item;
}

}  // namespace cairn::state
