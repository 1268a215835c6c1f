// Goes over the tensor in pieces, so that a large one is not converted as a whole. Means and
// deviations of the pieces are merged by the rule of Chan, Golub and LeVeque, which does not
// cancel.
#include "cli/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

namespace cairn::tools {

namespace {

constexpr std::int64_t kPieceElements = 1 << 18;
constexpr std::int64_t kFirstElements = 8;

enum class Family { kBool, kSigned, kUnsigned64, kFloating, kComplex };

Family family_of(at::ScalarType dtype) {
  if (dtype == at::kBool) return Family::kBool;
  if (c10::isComplexType(dtype)) return Family::kComplex;
  if (c10::isFloatingType(dtype)) return Family::kFloating;
  // Not in older releases, so not by its enumerator.
  if (std::string_view(c10::toString(dtype)) == "UInt64") return Family::kUnsigned64;
  return Family::kSigned;
}

template <typename T>
const T* elements_of(const at::Tensor& tensor) {
  return static_cast<const T*>(tensor.data_ptr());
}

bool is_nan(double number) { return std::isnan(number); }
bool is_nan(std::complex<double> number) { return std::isnan(number.real()) || std::isnan(number.imag()); }
bool is_finite(double number) { return std::isfinite(number); }
bool is_finite(std::complex<double> number) { return std::isfinite(number.real()) && std::isfinite(number.imag()); }
bool is_nan(std::int64_t) { return false; }
bool is_nan(std::uint64_t) { return false; }
bool is_finite(std::int64_t) { return true; }
bool is_finite(std::uint64_t) { return true; }

/// Mean and sum of squared distances from it, in the widest type there is.
template <typename Wide>
struct Moments {
  long double count = 0;
  Wide mean{};
  long double squares = 0;

  void merge(const Moments& other) {
    if (other.count == 0) return;
    const long double total = count + other.count;
    const Wide distance = other.mean - mean;
    mean += distance * (other.count / total);
    squares += other.squares + std::norm(distance) * (count * other.count / total);
    count = total;
  }
};

template <typename T>
class Gatherer {
 public:
  static constexpr bool kIsComplex = std::is_same_v<T, std::complex<double>>;
  using Wide = std::conditional_t<kIsComplex, std::complex<long double>, long double>;

  void add(const T* elements, std::int64_t count) {
    Moments<Wide> piece;
    Wide sum{};
    for (std::int64_t i = 0; i < count; ++i) {
      const T element = elements[i];
      if (is_nan(element)) {
        ++nan_count_;
        continue;
      }
      if constexpr (!kIsComplex) {
        min_ = has_any_ ? std::min(min_, element) : element;
        max_ = has_any_ ? std::max(max_, element) : element;
        has_any_ = true;
      }
      if (!is_finite(element)) {
        ++infinite_count_;
        continue;
      }
      sum += static_cast<Wide>(element);
      piece.count += 1;
    }
    if (piece.count == 0) return;
    piece.mean = sum / piece.count;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!is_nan(elements[i]) && is_finite(elements[i])) {
        piece.squares += std::norm(static_cast<Wide>(elements[i]) - piece.mean);
      }
    }
    moments_.merge(piece);
  }

  Summary summary() const {
    Summary summary;
    summary.nan_count = nan_count_;
    summary.infinite_count = infinite_count_;
    if (has_any_) {
      summary.min = Number(min_);
      summary.max = Number(max_);
    }
    if (moments_.count > 0) {
      if constexpr (kIsComplex) {
        summary.mean = std::complex<double>(moments_.mean);
      } else {
        summary.mean = static_cast<double>(moments_.mean);
      }
      summary.std = static_cast<double>(std::sqrt(moments_.squares / moments_.count));
    }
    return summary;
  }

 private:
  std::int64_t nan_count_ = 0;
  std::int64_t infinite_count_ = 0;
  bool has_any_ = false;
  T min_{};
  T max_{};
  Moments<Wide> moments_;
};

/// The piece as the type its family is counted in.
at::Tensor converted(const at::Tensor& piece, Family family) {
  switch (family) {
    case Family::kUnsigned64:
      return piece.contiguous();
    case Family::kFloating:
      return piece.to(at::kDouble).contiguous();
    case Family::kComplex:
      return piece.to(at::kComplexDouble).contiguous();
    case Family::kBool:
    case Family::kSigned:
      break;
  }
  return piece.to(at::kLong).contiguous();
}

template <typename T>
Summary gather(const at::Tensor& flat, Family family) {
  Gatherer<T> gatherer;
  std::vector<Number> first;
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kPieceElements) {
    const std::int64_t count = std::min(kPieceElements, flat.numel() - begin);
    const at::Tensor piece = converted(flat.narrow(0, begin, count), family);
    const T* elements = elements_of<T>(piece);
    gatherer.add(elements, count);
    for (std::int64_t i = 0; begin == 0 && i < std::min(count, kFirstElements); ++i) first.emplace_back(elements[i]);
  }
  Summary summary = gatherer.summary();
  summary.first = std::move(first);
  return summary;
}

/// Booleans were counted as 0 and 1.
Summary as_booleans(Summary summary) {
  const auto to_bool = [](const Number& number) { return Number(std::get<std::int64_t>(number) != 0); };
  if (summary.min) summary.min = to_bool(*summary.min);
  if (summary.max) summary.max = to_bool(*summary.max);
  for (Number& number : summary.first) number = to_bool(number);
  return summary;
}

std::string double_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:.6g}", number);
}

}  // namespace

std::string number_text(const Number& number) {
  if (const bool* boolean = std::get_if<bool>(&number)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return fmt::format("{}", *integer);
  if (const auto* integer = std::get_if<std::uint64_t>(&number)) return fmt::format("{}", *integer);
  if (const double* real = std::get_if<double>(&number)) return double_text(*real);
  const auto& complex = std::get<std::complex<double>>(number);
  const std::string imaginary = double_text(complex.imag());
  return fmt::format("{}{}{}j", double_text(complex.real()), imaginary[0] == '-' ? "" : "+", imaginary);
}

Json to_json(const Number& number) {
  if (const auto* complex = std::get_if<std::complex<double>>(&number)) {
    return Json::array({to_json(complex->real()), to_json(complex->imag())});
  }
  if (const double* real = std::get_if<double>(&number)) return to_json(*real);
  if (const bool* boolean = std::get_if<bool>(&number)) return *boolean;
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return *integer;
  return std::get<std::uint64_t>(number);
}

std::optional<Summary> summarize(const at::Tensor& tensor) {
  const Family family = family_of(tensor.scalar_type());
  try {
    const at::Tensor flat = tensor.contiguous().view({-1});
    switch (family) {
      case Family::kBool:
        return as_booleans(gather<std::int64_t>(flat, family));
      case Family::kSigned:
        return gather<std::int64_t>(flat, family);
      case Family::kUnsigned64:
        return gather<std::uint64_t>(flat, family);
      case Family::kFloating:
        return gather<double>(flat, family);
      case Family::kComplex:
        return gather<std::complex<double>>(flat, family);
    }
  } catch (const c10::Error&) {
    // No kernel converts this dtype.
  }
  return std::nullopt;
}

}  // namespace cairn::tools
