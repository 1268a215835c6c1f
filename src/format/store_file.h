// The file `CAIRN` at the top of a store: text that says what the directory is before RocksDB is opened.
//
//   cairn store
//   format 1
//   reader 1
//   id 0f8c2a...            32 hexadecimal digits, drawn when the store was created
//   state ready             or `creating`, while the store has never been whole
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cairn::format {

struct StoreFile {
  std::uint32_t format_version = 0;
  std::uint32_t min_reader_version = 0;
  std::string id;
  bool is_ready = false;  ///< False: creation was cut short, and nothing was ever committed.
};

std::string encode(const StoreFile& file);
/// Lines after those known are ignored. Errors: kInvalidArgument when it is not the file of a store;
/// kUnsupportedVersion, naming both versions, when its reader version is above ours; kCorruption when it is a
/// store's but damaged.
StoreFile decode_store_file(std::string_view text);

}  // namespace cairn::format
