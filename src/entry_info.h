// An entry row in the words of the public API.
#pragma once

#include "cairn/checkpoint_info.h"
#include "format/rows.h"

namespace cairn {

EntryInfo entry_info(format::Entry entry);

}  // namespace cairn
