# oneDNN by its header and library, as the target DNNL::dnnl.
#
# The configuration file that Debian ships asks for OpenCL on top, which Gneiss never uses and libdnnl-dev does not bring; a
# module of this name is preferred by find_package over that file.
find_path(DNNL_INCLUDE_DIR dnnl.h)
find_library(DNNL_LIBRARY dnnl)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dnnl REQUIRED_VARS DNNL_LIBRARY DNNL_INCLUDE_DIR)
mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY)
if(dnnl_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${DNNL_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE_DIR}")
endif()
