# What `cmake --install` lays down: the library, its headers, the binaries, and the files by which others find it.
include(CMakePackageConfigHelpers)

install(TARGETS ftlfeed EXPORT ftlfeedTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT ftlfeedTargets NAMESPACE ftlfeed:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/ftlfeed")

configure_package_config_file(cmake/ftlfeedConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/ftlfeedConfig.cmake"
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/ftlfeed")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/ftlfeedConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
# Relative to where it lies, so that `cmake --install --prefix` may put it anywhere.
file(RELATIVE_PATH ftl_prefix_from_pc "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/ftlfeed.pc.in "${CMAKE_CURRENT_BINARY_DIR}/ftlfeed.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/ftlfeedConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/ftlfeedConfigVersion.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/ftlfeed")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/ftlfeed.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

foreach(app IN ITEMS ftl-sim ftl-ingest ftl-deliver ftl-serve ftl-stats ftl-admin ftl-transform ftlctl)
  if(TARGET ${app})
    install(TARGETS ${app} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endforeach()
install(DIRECTORY migrations/ DESTINATION "${CMAKE_INSTALL_DATADIR}/ftlfeed/migrations" FILES_MATCHING PATTERN "*.sql")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
