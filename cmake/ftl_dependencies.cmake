# What the library is linked with. Those that have no CMake package of their own on both Debians are found by pkg-config.
# ftlfeedConfig.cmake.in repeats this list for those who link us: keep the two alike.
find_package(PkgConfig REQUIRED)
pkg_check_modules(libpqxx REQUIRED IMPORTED_TARGET "libpqxx>=6.4")
# Debian 13 has a libpqxx whose exec_params and exec_prepared still work and are deprecated; Debian 12's has nothing else.
if(libpqxx_VERSION VERSION_GREATER_EQUAL 7.9)
  add_compile_options(-Wno-deprecated-declarations)
endif()
pkg_check_modules(libpq REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis)
# Its flags are for 32 bits and for another way to include it, and they would become those of every file of ours.
set_target_properties(PkgConfig::hiredis PROPERTIES INTERFACE_COMPILE_OPTIONS "" INTERFACE_INCLUDE_DIRECTORIES "")
find_package(Threads REQUIRED)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)

set(FTL_PRIVATE_LIBRARIES
  Threads::Threads CURL::libcurl OpenSSL::Crypto OpenSSL::SSL fmt::fmt spdlog::spdlog prometheus-cpp::core
  PkgConfig::libpq PkgConfig::libdeflate PkgConfig::tomlplusplus PkgConfig::hiredis)

# Headers only, and in none of our own public headers: not passed on to those who link us.
find_package(RapidJSON REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(cxxopts REQUIRED)
