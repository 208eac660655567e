// The device kernels by the host's compiler: the text that nvcc gets (all.cu), against the emulation.
#include "kernels/cuda/all.cu"
