// What a source holds for one target, under the target's names: after rename, only and except.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cairn/target.h"
#include "state/selection.h"
#include "state/source.h"

namespace cairn::state {

class SourceView {
 public:
  struct Item {
    std::string name;  ///< Of the entry, as the target calls it.
    EntryRef ref;
    const SourceEntry* entry = nullptr;

    bool is_tensor() const noexcept { return entry->layout.has_value(); }
    const format::TensorLayout& layout() const { return *entry->layout; }
    const Value& value() const { return *entry->value; }
  };

  /// Of the objects that were renamed into this one; one without renames.
  const std::vector<const SourceObject*>& objects() const noexcept { return objects_; }
  bool exists() const noexcept { return !objects_.empty(); }
  /// Selected entries, in their order.
  const std::vector<Item>& items() const noexcept { return items_; }
  const Item* find(std::string_view name) const;
  /// A name that only or except leave out; empty when there is none.
  const std::string& left_out() const noexcept { return left_out_; }

 private:
  friend class SourceViews;

  std::vector<const SourceObject*> objects_;
  std::vector<Item> items_;
  std::unordered_map<std::string, std::size_t> index_;
  std::string left_out_;
};

/// The views of all targets of a call. Keeps references to the source.
class SourceViews {
 public:
  /// Errors: kInvalidArgument when two entries are renamed to one, or one to something that is no object/entry.
  SourceViews(const Source& source, const Targets& targets, const Selection& selection);

  const SourceView& at(const std::string& target) const { return views_.at(target); }
  const Source& source() const noexcept { return source_; }

 private:
  void add(std::size_t object, const Selection& selection);
  void add_renamed(std::size_t object, const Selection& selection);
  static void add_item(SourceView& view, const std::string& object, SourceView::Item item, const Selection& selection);

  const Source& source_;
  std::map<std::string, SourceView> views_;
};

}  // namespace cairn::state
