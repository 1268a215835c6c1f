// File identifiers of the row types (schemas/cairn.fbs).
#pragma once

namespace cairn::format {

inline constexpr char kHeaderIdentifier[] = "CRNH";
inline constexpr char kCheckpointIdentifier[] = "CRNC";
inline constexpr char kEntryIdentifier[] = "CRNE";

}  // namespace cairn::format
