// What a call raises, for tests of error paths.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cairn/error.h"

namespace cairn::testing {

struct Raised {
  std::optional<ErrorCode> code;  // empty: nothing was raised
  std::string message;
};

inline Raised raised_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

/// Whether a call either returns or raises an Error of the code, and nothing else.
inline bool returns_or_raises(ErrorCode code, const std::function<void()>& call) {
  const Raised raised = raised_by(call);
  return !raised.code || *raised.code == code;
}

}  // namespace cairn::testing
