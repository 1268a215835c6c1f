// What the numbers of a tensor look like in a few: for people who want to know whether it is all
// zeros or full of NaN.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ATen/core/Tensor.h>

#include "cli/json.h"

namespace cairn::tools {

/// An element or a statistic, as exact as its dtype: integers are not rounded to double.
using Number = std::variant<bool, std::int64_t, std::uint64_t, double, std::complex<double>>;

/// Six digits of a floating-point number; "1+2j" for a complex one.
std::string number_text(const Number& number);
/// A complex number is a list of two.
Json to_json(const Number& number);

/// Statistics leave out NaN; mean and std leave out infinities as well. An absent one has no
/// elements to be of, or no order (min and max of complex numbers).
struct Summary {
  std::int64_t nan_count = 0;
  std::int64_t infinite_count = 0;
  std::optional<Number> min;
  std::optional<Number> max;
  std::optional<Number> mean;
  std::optional<double> std;  ///< Of the population (divided by n), as numpy's.
  std::vector<Number> first;  ///< In row-major order.
};

/// Empty when LibTorch cannot convert the dtype to numbers (bits, integers of less than a byte).
///
/// Cost: memory for one copy of the tensor when it is not row-major, and a few MiB.
std::optional<Summary> summarize(const at::Tensor& tensor);

}  // namespace cairn::tools
