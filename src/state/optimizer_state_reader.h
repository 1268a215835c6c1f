// Visitor that fills the state of one parameter from what was recorded (optimizer_fields.h).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "state/late_numbers.h"
#include "state/optimizer_fields.h"
#include "state/optimizer_record.h"

namespace cairn::state {

/// The parameter whose state is read.
struct StateOwner {
  std::string prefix;                ///< "state.3."
  std::optional<std::string> name;   ///< Recorded name of the parameter.
  std::optional<std::string> shape;  ///< Recorded dtype and shape.
  at::Tensor parameter;              ///< The live one.
  std::vector<std::int64_t> sizes;   ///< What Extent::kParameter stands for.
  bool is_elementwise = true;        ///< State tensors are laid out as the parameter.
};

class StateReader {
 public:
  /// Takes the fields it reads out of `fields`. A tensor that the visited state holds already is written to where it
  /// fits; the copies go into `copies`.
  StateReader(const PlanContext& context, RecordedFields& fields, LateNumbers& numbers, std::vector<TensorCopy>& copies,
              StateOwner owner);

  void count(std::string_view name, std::int64_t& field);
  void number(std::string_view name, double& field, Presence presence);
  void tensor(std::string_view name, at::Tensor& field, Presence presence, Extent extent = Extent::kParameter);
  void tensors(std::string_view name, std::deque<at::Tensor>& list, Extent extent);

  /// Vector of tensors of which some are undefined, itself optional.
  template <typename Slots>
  void slots(std::string_view name, Slots& slots) {
    const std::optional<std::size_t> size = slot_count(name);
    if (!size) {
      slots = Slots();
      return;
    }
    if (!slots.has_value()) slots = typename Slots::value_type();
    slots->resize(*size);
    for (std::size_t i = 0; i < *size; ++i) {
      tensor(element_name(name, i), (*slots)[i], Presence::kOptional, Extent::kNumber);
    }
  }

 private:
  const SourceView::Item* take(std::string_view name, Presence presence);
  std::optional<std::size_t> slot_count(std::string_view name);
  /// One more than the greatest <i> of "name.<i>".
  std::size_t element_count(std::string_view name) const;
  static std::string element_name(std::string_view name, std::size_t index);
  at::ScalarType wanted_type(const SourceView::Item& item) const;
  at::Tensor destination(const at::Tensor& existing, const std::vector<std::int64_t>& sizes, at::ScalarType type,
                         Extent extent) const;
  std::string describe_owner() const;

  const PlanContext& context_;
  RecordedFields& fields_;
  LateNumbers& numbers_;
  std::vector<TensorCopy>& copies_;
  StateOwner owner_;
};

}  // namespace cairn::state
