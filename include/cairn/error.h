// The one exception of Cairn, with a code that tells the caller what to do next.
//
// Absence is not an error: functions that look something up return std::optional. Errors of LibTorch
// (c10::Error) and of user functions pass through untouched; nothing of RocksDB or FlatBuffers does.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace cairn {

enum class ErrorCode {
  kInvalidArgument,     ///< The call is wrong: fix it.
  kNotFound,            ///< No such checkpoint, object or entry: choose another.
  kAlreadyExists,       ///< A name must be unique and is taken.
  kMismatch,            ///< Model or optimizer differ from the checkpoint; the message lists all differences.
  kUnsupportedVersion,  ///< The store was written by a newer format: upgrade the library.
  kUnsupported,         ///< A kind of tensor, object or platform that Cairn cannot store.
  kCorruption,          ///< Bytes on disk are damaged: try an older checkpoint, run verify.
  kBusy,                ///< Another writer has the store, or a handle still uses the checkpoint.
  kOutOfSpace,          ///< The disk is full: free space and try again.
  kIo,                  ///< The device or the permissions failed.
  kFailed,              ///< An earlier commit has an unknown outcome: reopen the store.
};

/// Name of a code as in the documentation, without the `k`: "NotFound".
std::string_view to_string(ErrorCode code) noexcept;

/// Thrown by every function of this library. `what()` names object and entry, what was expected and
/// what was found, without a trailing period.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace cairn
