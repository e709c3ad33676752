# Tests: one doctest executable for each room and need, every TEST_CASE a CTest test of its own, labelled by room and need.
include(CTest)
find_package(doctest REQUIRED)
# Some distributions' doctest package does not load this by itself.
include("${doctest_DIR}/doctest.cmake" OPTIONAL)

# Debian's packages for Python (psycopg2, redis) belong to the system's python3, not to one that comes first in PATH.
find_program(FTL_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT FTL_PYTHON)
  find_program(FTL_PYTHON NAMES python3 REQUIRED)
endif()

# What the tsan preset builds: the executables that hold a test labelled threads.
add_custom_target(ftl_threads_tests)

# Whether one of `sources` is labelled threads: by its name, or by a TEST_SUITE in it.
function(ftl_has_threads_test result sources)
  set(${result} NO PARENT_SCOPE)
  foreach(source IN LISTS sources)
    file(STRINGS "${source}" suites REGEX "TEST_SUITE.*threads")
    if(source MATCHES "_threads_" OR suites)
      set(${result} YES PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Adds one executable for a need of a room. `suffix` is that of its files: `_test`, `_pgtest`, `_nettest` …
function(ftl_add_test_executable room suffix need libraries)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${room}/*${suffix}.cpp")
  if(NOT sources)
    return()
  endif()
  set(target "${room}${suffix}")
  add_executable(${target} ${sources})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  target_link_libraries(${target} PRIVATE ftl_doctest_main ftl_test_support ${libraries})
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/lib")
  ftl_has_threads_test(has_threads "${sources}")
  if(has_threads)
    add_dependencies(ftl_threads_tests ${target})
  endif()
  doctest_discover_tests(${target} PROPERTIES TIMEOUT 120)
  # doctest keeps only the first of several labels, so a script sets them when ctest reads the tests.
  set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake")
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS "${labels_file}"
    COMMAND "${CMAKE_COMMAND}" -D "EXECUTABLE=$<TARGET_FILE:${target}>" -D "ROOM=${room}" -D "NEED=${need}"
            -D "OUTPUT=${labels_file}" -P "${CMAKE_SOURCE_DIR}/cmake/ftl_test_labels.cmake"
    VERBATIM)
  set(include_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels_include.cmake")
  file(WRITE "${include_file}" "include(\"${labels_file}\" OPTIONAL)\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include_file}")
endfunction()

# All tests of tests/ROOM: the suffix of a file tells its need. LIBS: what they link besides the library and the support.
function(ftl_room_tests room)
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  ftl_add_test_executable(${room} _test unit "${arg_LIBS}")
  ftl_add_test_executable(${room} _pgtest pg "${arg_LIBS}")
  ftl_add_test_executable(${room} _redistest redis "${arg_LIBS}")
  ftl_add_test_executable(${room} _nettest net "${arg_LIBS}")
  ftl_add_test_executable(${room} _fuzz fuzz "${arg_LIBS}")
endfunction()

# A test that is a program or script of its own: ftl_script_test(NAME "house: …" LABELS house unit COMMAND …).
# It runs in the build folder and finds FTL_SOURCE_DIR and FTL_BINARY_DIR in its environment.
function(ftl_script_test)
  cmake_parse_arguments(arg "" "NAME;TIMEOUT" "LABELS;COMMAND;ENVIRONMENT" ${ARGN})
  if(NOT arg_NAME OR NOT arg_LABELS OR NOT arg_COMMAND)
    message(FATAL_ERROR "ftl_script_test needs NAME, LABELS and COMMAND")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME "${arg_NAME}" COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${CMAKE_BINARY_DIR}")
  set_tests_properties("${arg_NAME}" PROPERTIES
    # The longest begin first.
    LABELS "${arg_LABELS}" TIMEOUT "${arg_TIMEOUT}" COST "${arg_TIMEOUT}"
    ENVIRONMENT "FTL_SOURCE_DIR=${CMAKE_SOURCE_DIR};FTL_BINARY_DIR=${CMAKE_BINARY_DIR};FTL_PYTHON=${FTL_PYTHON};${arg_ENVIRONMENT}")
endfunction()
