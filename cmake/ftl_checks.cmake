# `cmake --build --preset tidy`: clang-tidy over our sources; files that the build makes are not looked at.
add_custom_target(tidy
  COMMAND "${CMAKE_SOURCE_DIR}/tools/check.sh" tidy "${CMAKE_BINARY_DIR}"
  WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" USES_TERMINAL VERBATIM)
