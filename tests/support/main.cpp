// Main of the test programs.
#define CATCH_CONFIG_RUNNER
#include "support/catch.h"

#if defined(__SANITIZE_THREAD__)
// The distribution's RocksDB is not instrumented: ThreadSanitizer sees the memcpy and memcmp it calls, and not the atomics
// that order them. What it reports of memory that Cairn got from there is the same. A race between two of Cairn's own
// places has no frame of RocksDB. Built in, since a test's child without rights could not read a file.
extern "C" const char* __tsan_default_suppressions() { return "race:librocksdb.so\n"; }
extern "C" const char* __tsan_default_options() { return "history_size=7:die_after_fork=0"; }
#endif

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
