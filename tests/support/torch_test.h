// LibTorch, then Catch2, in the one order that works: c10's glog shim defines CHECK and its kin as fatal checks, and
// whoever comes second wins without a warning (pytorch/pytorch#79272).
#pragma once

#include <torch/torch.h>

#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LT
#undef CHECK_LE
#undef CHECK_GT
#undef CHECK_GE
#undef CHECK_NOTNULL
#undef FAIL
#undef WARN
#undef INFO

#include "support/catch.h"
