// Catch2 of both releases: 2.13 is one header, 3.x many, and some names differ.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>

namespace Catch {
namespace Matchers {
// The name of 3.x, where Contains is about ranges.
using Catch::Matchers::Contains;
template <typename... Args>
auto ContainsSubstring(Args&&... args) {
  return Contains(std::forward<Args>(args)...);
}
}  // namespace Matchers
}  // namespace Catch
#endif
