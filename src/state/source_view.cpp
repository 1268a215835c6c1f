// Sorts the entries of a source by the target that they are for.
#include "state/source_view.h"

#include <algorithm>
#include <utility>

#include "format/fail.h"
#include "state/differences.h"

namespace cairn::state {

const SourceView::Item* SourceView::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &items_[found->second];
}

SourceViews::SourceViews(const Source& source, const Targets& targets, const Selection& selection) : source_(source) {
  for (const NamedTarget& target : targets) views_[target.name()];
  for (std::size_t i = 0; i < source.objects().size(); ++i) {
    if (selection.has_renames()) {
      add_renamed(i, selection);
    } else {
      add(i, selection);
    }
  }
}

void SourceViews::add_item(SourceView& view, const std::string& object, SourceView::Item item,
                           const Selection& selection) {
  if (!selection.includes(object, item.name)) {
    if (view.left_out_.empty()) view.left_out_ = item.name;
    return;
  }
  const auto [place, is_free] = view.index_.emplace(item.name, view.items_.size());
  if (!is_free) {
    const SourceView::Item& other = view.items_[place->second];
    fail(ErrorCode::kInvalidArgument, "rename turns both '{}' and '{}' of the checkpoint into '{}'",
         printable(other.entry->name), printable(item.entry->name), path_of(object, item.name));
  }
  view.items_.push_back(std::move(item));
}

void SourceViews::add(std::size_t object, const Selection& selection) {
  const SourceObject& from = source_.objects()[object];
  const auto found = views_.find(from.name);
  if (found == views_.end()) return;
  SourceView& view = found->second;
  view.objects_.push_back(&from);
  view.items_.reserve(from.entries.size());
  for (std::size_t i = 0; i < from.entries.size(); ++i) {
    add_item(view, from.name, {from.entries[i].name, {object, i}, &from.entries[i]}, selection);
  }
}

void SourceViews::add_renamed(std::size_t object, const Selection& selection) {
  const SourceObject& from = source_.objects()[object];
  const auto split = [&](const std::string& path) {
    const std::string renamed = selection.renamed(path);
    const std::size_t slash = renamed.find('/');
    if (slash == std::string::npos || slash == 0) {
      fail(ErrorCode::kInvalidArgument, "rename turns '{}' of the checkpoint into '{}', which is no object/entry",
           printable(path), printable(renamed));
    }
    return std::pair(renamed.substr(0, slash), renamed.substr(slash + 1));
  };
  const auto enlist = [&](SourceView& view) {
    if (std::find(view.objects_.begin(), view.objects_.end(), &from) == view.objects_.end()) {
      view.objects_.push_back(&from);
    }
  };
  if (from.entries.empty()) {
    if (const auto found = views_.find(split(from.name + "/").first); found != views_.end()) enlist(found->second);
  }
  for (std::size_t i = 0; i < from.entries.size(); ++i) {
    auto [name, entry] = split(from.name + "/" + from.entries[i].name);
    const auto found = views_.find(name);
    if (found == views_.end()) continue;
    enlist(found->second);
    add_item(found->second, name, {std::move(entry), {object, i}, &from.entries[i]}, selection);
  }
}

}  // namespace cairn::state
