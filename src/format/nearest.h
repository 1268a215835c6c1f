// Names that come close to one that was not found, for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cairn::format {

/// ", nearest: 'fc1.weight', 'fc2.weight'": up to three of the candidates, closest first (edit distance, a shared
/// prefix or suffix counts for less); ", there are none" when there are no candidates. To be appended to a message.
std::string nearest_names(std::string_view wanted, const std::vector<std::string_view>& candidates);

}  // namespace cairn::format
