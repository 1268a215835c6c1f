// Conversion of numbers between the forms in which they are written down.
#include "state/late_numbers.h"

#include <cmath>
#include <utility>

#include <c10/core/Scalar.h>

#include "format/fail.h"
#include "state/dtypes.h"
#include "state/tensor_bytes.h"

namespace cairn::state {

namespace {

bool to_integer(double number, std::int64_t& field) {
  constexpr double kLimit = 9007199254740992.0;  // 2^53: above, a double may stand for another integer
  if (!(std::abs(number) <= kLimit) || std::nearbyint(number) != number) return false;
  field = static_cast<std::int64_t>(number);
  return true;
}

bool to_integer(const Value& value, std::int64_t& field) {
  if (value.type() == Value::Type::kDouble) return to_integer(value.as_double(), field);
  if (value.type() != Value::Type::kInt) return false;
  field = value.as_int();
  return true;
}

bool to_integer(const at::Tensor& tensor, std::int64_t& field) {
  const at::Scalar number = tensor.item();
  if (number.isFloatingPoint()) return to_integer(number.toDouble(), field);
  if (!number.isIntegral(/*includeBool=*/false)) return false;
  field = number.toLong();
  return true;
}

}  // namespace

bool LateNumbers::read(const PlanContext& context, const SourceView::Item& item, std::string_view wanted,
                       const std::function<bool(const Value&)>& assign_value, Assign assign_tensor) {
  if (!item.is_tensor()) {
    if (assign_value(item.value())) return true;
    context.differences.add(fmt::format("{}: checkpoint {} ({}), {} needs {}", context.path(item.name),
                                        to_string(item.value()), to_string(item.value().type()), side_, wanted));
    return false;
  }
  const format::TensorLayout& layout = item.layout();
  if (format::numel_of(layout) != 1 || !to_torch(layout.dtype)) {
    context.differences.add(fmt::format("{}: checkpoint {}, {} needs {}", context.path(item.name),
                                        format::describe(layout), side_, wanted));
    return false;
  }
  late_.push_back({context.path(item.name), std::string(wanted), empty_tensor(layout), std::move(assign_tensor)});
  copies_.push_back({item.ref, late_.back().number});
  return true;
}

bool LateNumbers::read_integer(const PlanContext& context, const SourceView::Item& item, std::int64_t& field) {
  return read(
      context, item, "an integer", [&field](const Value& value) { return to_integer(value, field); },
      [&field](const at::Tensor& number) { return to_integer(number, field); });
}

bool LateNumbers::read_count(const PlanContext& context, const SourceView::Item& item, std::int64_t& field) {
  field = 1;
  return read(
      context, item, "a count", [&field](const Value& value) { return to_integer(value, field) && field >= 0; },
      [&field](const at::Tensor& number) { return to_integer(number, field) && field >= 0; });
}

bool LateNumbers::read_real(const PlanContext& context, const SourceView::Item& item, double& field) {
  return read(
      context, item, "a number",
      [&field](const Value& value) {
        if (value.type() != Value::Type::kInt && value.type() != Value::Type::kDouble) return false;
        field = value.as_double();
        return true;
      },
      [&field](const at::Tensor& tensor) {
        const at::Scalar number = tensor.item();
        if (number.isComplex() || number.isBoolean()) return false;
        field = number.toDouble();
        return true;
      });
}

void LateNumbers::settle(Differences& differences) const {
  for (const Late& late : late_) {
    if (late.assign(late.number)) continue;
    const double number = late.number.to(at::kDouble).item().toDouble();
    differences.add(fmt::format("{}: checkpoint {} (tensor), {} needs {}", late.path, number, side_, late.wanted));
  }
}

}  // namespace cairn::state
