// The device kernels of this compiler, by op; table.cc lists them. Contracts stand in kernels/<op>.h.
#pragma once

#include "kernels/cuda/device.h"

namespace gneiss::kernels::GNEISS_DEVICE {

void adam_step(const DeviceContext& context, const OnDevice<AdamStepArgs>& args);
void binary(const DeviceContext& context, const OnDevice<BinaryArgs>& args);
void column_groups(const DeviceContext& context, const OnDevice<ColumnGroupsArgs>& args);
void copy_columns(const DeviceContext& context, const OnDevice<CopyColumnsArgs>& args);
void cross_entropy(const DeviceContext& context, const OnDevice<CrossEntropyArgs>& args);
std::size_t cross_entropy_workspace(const OnDevice<CrossEntropyArgs>& args);
void dropout(const DeviceContext& context, const OnDevice<DropoutArgs>& args);
void fill(const DeviceContext& context, const OnDevice<FillArgs>& args);
void gather(const DeviceContext& context, const OnDevice<GatherArgs>& args);
void gemm(const DeviceContext& context, const OnDevice<GemmArgs>& args);
std::size_t gemm_workspace(const OnDevice<GemmArgs>& args);
void mul_add(const DeviceContext& context, const OnDevice<MulAddArgs>& args);
void sddmm(const DeviceContext& context, const OnDevice<SddmmArgs>& args);
void sgd_step(const DeviceContext& context, const OnDevice<SgdStepArgs>& args);
void spmm(const DeviceContext& context, const OnDevice<SpmmArgs>& args);
void spx_gemm(const DeviceContext& context, const OnDevice<SpxGemmArgs>& args);
void sum_rows(const DeviceContext& context, const OnDevice<SumRowsArgs>& args);
std::size_t sum_rows_workspace(const OnDevice<SumRowsArgs>& args);
void to_dense(const DeviceContext& context, const OnDevice<ToDenseArgs>& args);
void unary(const DeviceContext& context, const OnDevice<UnaryArgs>& args);
void unary_grad(const DeviceContext& context, const OnDevice<UnaryGradArgs>& args);

}  // namespace gneiss::kernels::GNEISS_DEVICE
