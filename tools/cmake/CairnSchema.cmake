# C++ code for the rows of a store, made from schemas/cairn.fbs into the build tree.
set(CAIRN_SCHEMA_HEADER ${PROJECT_BINARY_DIR}/generated/format/cairn_generated.h)
add_custom_command(
  OUTPUT ${CAIRN_SCHEMA_HEADER}
  COMMAND ${CAIRN_FLATC} --cpp --scoped-enums --cpp-std c++17 -o ${PROJECT_BINARY_DIR}/generated/format
          ${PROJECT_SOURCE_DIR}/schemas/cairn.fbs
  DEPENDS ${PROJECT_SOURCE_DIR}/schemas/cairn.fbs
  COMMENT "Generating code for schemas/cairn.fbs")
