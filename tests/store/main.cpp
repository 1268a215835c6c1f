// Catch2's main, and the child of kill_test.cpp behind a hidden argument.
#include <cstring>

#define CATCH_CONFIG_RUNNER
#include "support/catch.h"

int commit_until_killed(const char* path);

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--commit-until-killed") == 0) return commit_until_killed(argv[2]);
  return Catch::Session().run(argc, argv);
}
