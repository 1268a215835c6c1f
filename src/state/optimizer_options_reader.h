// Visitor that fills the options of a param group from what was recorded (optimizer_fields.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "state/late_numbers.h"
#include "state/optimizer_record.h"

namespace cairn::state {

class OptionReader {
 public:
  /// Takes the options it reads out of `fields`; names the record lacks go into `missing`, those keep their value.
  OptionReader(const PlanContext& context, RecordedFields& fields, LateNumbers& numbers, std::string prefix,
               std::vector<std::string>& missing)
      : context_(context), fields_(fields), numbers_(numbers), prefix_(std::move(prefix)), missing_(missing) {}

  bool is_sound() const noexcept { return is_sound_; }

  void operator()(std::string_view name, double& option);
  void operator()(std::string_view name, std::int64_t& option);
  void operator()(std::string_view name, bool& option);
  void operator()(std::string_view name, std::string& option);
  void operator()(std::string_view name, std::tuple<double, double>& option);

  /// std::optional, or c10::optional where that is another type: null is none.
  template <typename Optional>
  auto operator()(std::string_view name, Optional& option) -> decltype(option.has_value(), void()) {
    if (fields_.contains(name) && !is_null(name)) {
      if (!option.has_value()) option = typename Optional::value_type();
      return (*this)(name, *option);
    }
    const SourceView::Item* item = take(name);
    if (item == nullptr) return;
    option = Optional();
    context_.count(*item);
  }

 private:
  const SourceView::Item* take(std::string_view name);
  bool is_null(std::string_view name) const;
  void note(const SourceView::Item& item, bool is_read);
  void refuse(const SourceView::Item& item, std::string_view wanted);

  const PlanContext& context_;
  RecordedFields& fields_;
  LateNumbers& numbers_;
  std::string prefix_;
  std::vector<std::string>& missing_;
  bool is_sound_ = true;
};

}  // namespace cairn::state
