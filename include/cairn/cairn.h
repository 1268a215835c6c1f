// All of Cairn. Reading order: store.h, checkpoint.h, pending.h, apply.h, target.h, options.h, retention.h, history.h,
// query.h, state_dict.h, value.h, error.h.
#pragma once

#include "cairn/apply.h"
#include "cairn/checkpoint.h"
#include "cairn/error.h"
#include "cairn/history.h"
#include "cairn/options.h"
#include "cairn/pending.h"
#include "cairn/query.h"
#include "cairn/retention.h"
#include "cairn/snapshot.h"
#include "cairn/state_dict.h"
#include "cairn/store.h"
#include "cairn/target.h"
#include "cairn/value.h"
#include "cairn/version.h"
