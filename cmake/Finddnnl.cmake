# The headers of oneDNN, as DNNL_INCLUDE_DIR. Its library is loaded at run time, if anything asks for it.
#
# The configuration file that Debian ships asks for the library and OpenCL on top; a module of this name is preferred by
# find_package over that file.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(dnnl REQUIRED_VARS DNNL_INCLUDE_DIR)
mark_as_advanced(DNNL_INCLUDE_DIR)
