// In the place of CUDA's header: what src/runtime/cuda/cuda_device.cc calls, for cards that a test describes. Names
// and meanings are those of CUDA's runtime; its linkage is C++'s, so that both can be in one program.
//
// Cards have the host's memory and run kernels in the emulation. Each thread has a current card, 0 at first. Memory and
// streams are a card's: a call or a launch that touches them while another card is current is an error, and so is a
// launch whose arguments, or tables of peers, point to memory that the card neither has nor was let read. (CUDA takes
// some of these calls all the same: cudaFree makes a context on the current card then, which costs half a GiB there.)
// The environment says what the cards are like; where several values stand with commas between, one for each card, the
// last one is also that of all further cards:
//
//   TEST_CARD_COUNT=N            how many there are; 1
//   TEST_CARD_APART=0-2,1-2      pairs that cannot read each other's memory; `all`: none can
//   TEST_CARD_CAPABILITY=7.5,9.0 compute capability; 9.0
//   TEST_CARD_FREE=BYTES,BYTES   of a GiB of memory each
//   TEST_CARD_LEFT=BYTES,BYTES   what other processes leave of it from the first allocation on
//   TEST_CARD_TAKEN=FILE         where the most bytes that were taken of each card are written at the end, a line a
//   card TEST_CARD_FORGETS=peers      nothing is read of other cards though it was asked for: what a program that does
//   not
//                                ask would come to
//   TEST_CARD_FORGETS=choice     a thread stays on the first card that it chose, likewise
//   TEST_CARD_FAULT=N            the N-th product fails while it runs, and so does everything from then on
//   TEST_CARD_OPENS=no           another process has the card for itself
//   TEST_CARD_DRIVER=N           the driver is for this CUDA, as CUDART_VERSION is, its default; 0: there is none
//   TEST_CARD_COUNTS=no          the driver does not work
//   TEST_CARD_SHARES=no          processes cannot open each other's memory
#pragma once

#include <cstddef>

#define CUDART_VERSION 12000

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidValue = 1,
  cudaErrorIllegalAddress = 700,
  cudaErrorInvalidDevice = 101,
  cudaErrorPeerAccessUnsupported = 217,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorNotSupported = 801,
  cudaErrorSystemNotReady = 802,
};
const char* cudaGetErrorString(cudaError_t status);
/// The last error of this thread that was no fault of work; forgets it. A launch gives it back as its own.
cudaError_t cudaGetLastError();

struct cudaDeviceProp {
  char name[256];
  int major;
  int minor;
  int multiProcessorCount;
  std::size_t totalGlobalMem;
};

struct TestStream;
struct TestGraph;
using cudaStream_t = TestStream*;
using cudaGraph_t = TestGraph*;
using cudaGraphExec_t = TestGraph*;

/// The number of a card, and the path of a file without a name, of the process that has it.
struct cudaIpcMemHandle_t {
  char reserved[64];
};
inline constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaHostAllocPortable = 1;

cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* total);
cudaError_t cudaMalloc(void** data, std::size_t bytes);
cudaError_t cudaFree(void* data);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* data);
cudaError_t cudaIpcOpenMemHandle(void** data, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void* data);
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* data);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
