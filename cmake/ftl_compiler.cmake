# Flags of every target of this tree.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(FTL_WERROR)
  add_compile_options(-Werror)
endif()
# What g++ says wrongly when it optimises is told, but is no error: of an optional's value that is compared only after
# has_value() (GCC bug 80635), and of a short text that is assigned to a std::string (GCC bug 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-error=maybe-uninitialized -Wno-error=restrict)
endif()

if(FTL_SANITIZE STREQUAL "address+undefined")
  # -O0: with -O1 one file that uses Beast takes 72 s instead of 21 s.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(FTL_SANITIZE STREQUAL "thread")
  # tsan cannot see fences; Asio has one beside its locks, which are what orders our threads.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
  add_link_options(-fsanitize=thread)
elseif(FTL_SANITIZE)
  message(FATAL_ERROR "FTL_SANITIZE is '${FTL_SANITIZE}'; it may be empty, 'address+undefined' or 'thread'")
endif()

# bfd needs several times as long as the others for a static library with debug information.
option(FTL_FAST_LINKER "Link by lld or gold where one is installed" ON)
if(FTL_FAST_LINKER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_program(FTL_LLD ld.lld)
  find_program(FTL_GOLD ld.gold)
  if(FTL_LLD)
    add_link_options(-fuse-ld=lld)
  elseif(FTL_GOLD)
    add_link_options(-fuse-ld=gold)
  endif()
endif()
