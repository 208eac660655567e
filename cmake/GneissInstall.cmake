# What `cmake --install` puts under a prefix, and the CMake package that other projects find:
#
#   gneiss::gneiss    the public API, headers <gneiss/...>
#   gneiss::kernels   what programs written by `gneiss synth` are made of: kernels, graphs, data sets, first values, scores
#   gneiss::ranks     the same with what ranks need: cuts, parts of data sets, threads and MPI
#
# The build tree is such a package too (-Dgneiss_DIR=BUILD/package), so that tests need not install anything.
include(CMakePackageConfigHelpers)

add_library(gneiss_public INTERFACE)
target_include_directories(gneiss_public INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(gneiss_public INTERFACE cxx_std_20)
target_link_libraries(gneiss_public INTERFACE $<LINK_ONLY:gneiss_api>)
set_target_properties(gneiss_public PROPERTIES EXPORT_NAME gneiss)

add_library(gneiss_program INTERFACE)
target_link_libraries(gneiss_program INTERFACE gneiss_kernels gneiss_graph gneiss_data gneiss_runtime gneiss_epochs gneiss_parameters)
set_target_properties(gneiss_program PROPERTIES EXPORT_NAME kernels)

# Those for several ranks.
add_library(gneiss_ranks INTERFACE)
target_link_libraries(gneiss_ranks INTERFACE gneiss_program gneiss_train gneiss_launch)
set_target_properties(gneiss_ranks PROPERTIES EXPORT_NAME ranks)

install(TARGETS gneiss_public gneiss_program gneiss_ranks EXPORT gneissTargets)
install(TARGETS gneiss RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gneiss DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(folder base comm pgas graph partition ir kernels exchange data runtime)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${folder} DESTINATION ${GNEISS_LIBRARY_HEADERS}
          FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*-inl.h" EXCLUDE)
endforeach()
install(FILES ${GNEISS_EPOCHS_HEADERS} DESTINATION ${GNEISS_LIBRARY_HEADERS}/epochs)
install(FILES ${GNEISS_PARAMETERS_HEADERS} DESTINATION ${GNEISS_LIBRARY_HEADERS}/runs)
install(FILES ${PROJECT_SOURCE_DIR}/src/train/cut_nodes.h ${PROJECT_SOURCE_DIR}/src/train/rank_data.h
        DESTINATION ${GNEISS_LIBRARY_HEADERS}/train)
install(FILES ${PROJECT_SOURCE_DIR}/src/passes/loss.h DESTINATION ${GNEISS_LIBRARY_HEADERS}/passes)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gneiss)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gneissConfig.cmake.in ${PROJECT_BINARY_DIR}/package/gneissConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/gneissConfigVersion.cmake COMPATIBILITY SameMinorVersion)
foreach(library libdeflate liburing)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/Find${library}.cmake ${PROJECT_BINARY_DIR}/package/Find${library}.cmake COPYONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/package/gneissConfig.cmake ${PROJECT_BINARY_DIR}/package/gneissConfigVersion.cmake
              ${PROJECT_BINARY_DIR}/package/Findlibdeflate.cmake ${PROJECT_BINARY_DIR}/package/Findliburing.cmake
        DESTINATION ${package_folder})
install(EXPORT gneissTargets NAMESPACE gneiss:: DESTINATION ${package_folder})
export(EXPORT gneissTargets NAMESPACE gneiss:: FILE ${PROJECT_BINARY_DIR}/package/gneissTargets.cmake)
