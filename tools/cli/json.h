// The one form in which every command answers --json.
//
// One document, indented, UTF-8. What JSON cannot hold: NaN and infinities are the strings "NaN",
// "Infinity" and "-Infinity"; bytes that are not UTF-8 are \xNN inside their string. Sizes are in
// bytes, times both in ISO 8601 and in microseconds.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "cairn/checkpoint_info.h"
#include "cairn/value.h"

namespace cairn::tools {

using Json = nlohmann::ordered_json;

Json to_json(double number);
Json to_json(const Value& value);
Json to_json(const Metadata& metadata);
Json to_json(const ObjectInfo& object);
Json to_json(const EntryInfo& entry);
/// Everything of the checkpoint but its objects, which the caller appends.
Json to_json(const CheckpointInfo& checkpoint);

/// Writes the document to standard output.
void write_json(const Json& document);

/// For --help of every command.
inline constexpr std::string_view kJsonHelp =
    "Answer with one JSON document. NaN and infinities are the strings\n\"NaN\", \"Infinity\", \"-Infinity\"; "
    "bytes that are not UTF-8 are \\xNN;\nerrors go to standard error as ever";

}  // namespace cairn::tools
