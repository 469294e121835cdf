"""Kernel names and their categories, as an engineer would sort them; and files of categories, good and bad."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import subprocess
from collections import defaultdict
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]  # how Python itself reads a pattern
from typing import Any

import pytest

from builder import TraceBuilder
from nsys_digest.errors import CategoriesInvalid
from nsys_digest.model.kernel_categories import (
    COMMUNICATION_KINDS,
    OTHER,
    CategoryPattern,
    KernelCategories,
    load_kernel_categories,
)
from support import ROOT, command, environment

SHIPPED = KernelCategories.shipped()

# Real names, one a line, under "# category" or "# category/kind". Long argument lists are left out or cut short.
NAMES = """
# communication/all_reduce
ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)
ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(ncclDevKernelArgsStorage<4096ul>)
ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)
ncclKernel_AllReduce_TREE_LL128_Sum___nv_bfloat16(ncclDevComm*, unsigned long, ncclWork*)
ncclAllReduceRingLLKernel_sum_f16(ncclColl)
ncclAllReduceTreeLLKernel_sum_f32(ncclColl)
ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)
ncclSymkDevKernel_AllReduce_AGxLL_R_sum_f8e4m3(ncclSymkDevWorkArgs4K)
void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)
void vllm::cross_device_reduce_2stage<__half, 8>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __half*, int, int)
void sglang::cross_device_reduce_1stage<__nv_bfloat16, 8>(sglang::RankData*, sglang::RankSignals, sglang::Signal*, __nv_bfloat16*, int, int)
void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 8, false, false>(flashinfer::trtllm_allreduce_fusion::AllReduceFusionParams<__nv_bfloat16>)
void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_sync<(tensorrt_llm::kernels::ar_fusion::AllReduceFusionPattern)1, __nv_bfloat16, 4, true>(tensorrt_llm::kernels::ar_fusion::AllReduceFusionParams)
void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 2, true, true>(tensorrt_llm::kernels::AllReduceParams)
void tensorrt_llm::kernels::twoShotAllReduceKernel<__nv_bfloat16, 8, false, false>(tensorrt_llm::kernels::AllReduceParams)
void tensorrt_llm::kernels::reduce_fusion::lamport_style_one_shot_all_reduce_norm_kernel<__half, 4, true, true, false>(tensorrt_llm::kernels::AllReduceParams)
void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8, __nv_bfloat16, true>(__nv_bfloat16*, __nv_bfloat16*)
void (anonymous namespace)::two_shot_all_reduce_kernel_inplace<c10::BFloat16, 16, 2>(c10::BFloat16**, unsigned long, unsigned long, unsigned int**, unsigned long, unsigned long)
void <unnamed>::one_shot_all_reduce_kernel<c10::BFloat16, (int)16, (int)8>(T1 **, T1 *, unsigned long, unsigned long, unsigned int **, unsigned long, unsigned long)
void <unnamed>::multimem_all_reduce_kernel<c10::BFloat16, (int)16>(T1 *, unsigned long, unsigned int **, unsigned long, unsigned long)
void <unnamed>::multimem_one_shot_all_reduce_kernel<c10::BFloat16, (int)16>(T1 *, T1 *, unsigned long, unsigned int **, unsigned long, unsigned long)
void transformer_engine::userbuffers_fp16_sum_inplace_gpu_mc<8>(int, int, int)
void userbuffers_fp16_sum_inplace_gpu_rr<8>(int, int, int, int, int, int, int, void**, int)
void userbuffers_fp16_sum_inplace_gpu_rw<4>(int, int, int, int, int, int, int, void**, int)
# communication/reduce_scatter
ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)
ncclReduceScatterRingLLKernel_sum_f32(ncclColl)
ncclSymkDevKernel_ReduceScatter_LL_sum_f32(ncclSymkDevWorkArgs4K)
void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int, int, int, int, int, int, int, int, void**, int, void*)
void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop_fp8<8, __nv_fp8_e4m3>(int, int, int)
# communication/all_gather
ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)
ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)
ncclAllGatherRingLLKernel_copy_i8(ncclColl)
ncclSymDevKernel_AllGather_LLMC(ncclSymDevArgs)
void <unnamed>::multimem_all_gather_kernel<(int)16>(char *, char *, unsigned long, unsigned int **, unsigned long, unsigned long)
void userbuffers_fp16_sum_inplace_gpu_rw_ag<8>(int, int, int, int, int, int, int, void**, int)
# communication/broadcast
ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)
ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)
ncclBroadcastRingLLKernel_copy_i8(ncclColl)
# communication/reduce
ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)
ncclKernel_Reduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)
ncclReduceRingLLKernel_sum_f32(ncclColl)
# communication/send_receive
ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)
ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)
ncclSendRecvKernel_copy_i8(ncclColl)
kuserbuffers_pushsend(int*, int*, int4*, int4*, int)
kuserbuffers_pullrecv(int, int, int, int*, int*, int4*, int4*, int)
# communication/all_to_all
void tensorrt_llm::kernels::moeAllToAllKernel<1>(tensorrt_llm::kernels::MoeCommWorldInfo, tensorrt_llm::kernels::MoeEpWorldInfo)
void c10d::nvshmem_extension::allToAllV(void*, void*, long*, unsigned long, int)
# communication/dispatch
void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*, long*, float*, int*, int*, int4 const*)
void deep_ep::intranode::notify_dispatch<8>(int const*, int*, int const*, int*, int, int, bool const*, int*, int*, int, void**, int**, int)
void deep_ep::internode_ll::dispatch<true, false, 3, 10, 7168>(void*, float*, int*, long*, int*, int*, void*, int*, void*)
void deep_ep::layout::get_dispatch_layout<256, 32, 8>(long const*, int*, int*, int*, bool*, int, int, int, int)
moeA2ADispatchKernel(int const*, tensorrt_llm::kernels::moe_comm::DispatchKernelPointers, int, int, int, int, int, int)
# communication/combine
void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(__nv_bfloat16*, float*, __nv_bfloat16 const*, float const*)
void deep_ep::internode_ll::combine<3, 10, 7168, 9>(void*, void*, int*, void*, void const*, long const*, float const*)
moeA2ACombineKernel(tensorrt_llm::kernels::moe_comm::CombineKernelPointers, int, int, int, int, int)
# communication/barrier
void deep_ep::intranode::barrier<8>(int**, int)
void <unnamed>::barrier_kernel(unsigned int **, int, int, int, unsigned long)
void nvshmemi_barrier_on_stream_kernel(int)
# communication/other
ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)
deep_ep::internode_ll::clean_low_latency_buffer(int*, int, int*, int)
void mscclpp::executionKernel<__half, mscclpp::LL16Packet, false>(int, __half*, __half*, __half*, unsigned long)
void c10d::nvshmem_extension::exchangeSplitAndOffset<true>(long*, long*, int, unsigned long)
# gemm
nvjet_sm90_tst_128x192_64x5_2x1_v_bz_coopB_NNN
nvjet_tst_192x208_64x4_1x1_h_bz_coopB_bias_TNT
ampere_sgemm_128x64_tn
ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn
volta_h884gemm_64x64_ldg8_nn
turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn
maxwell_sgemm_128x64_nt
sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas
sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas
sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas
void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float, __nv_bfloat16, float, __nv_bfloat16, (bool)0, float, __nv_bfloat16, __nv_bfloat16, (bool)1, (bool)0, (bool)0, (bool)0>(cublasLt::cublasSplitKParams<T6>, const T4 *, const T10 *)
void splitKreduce_kernel<32, 16, int, float, __half, float, __half, true, false, false>(cublasSplitKParams<float>, float const*, __half const*)
void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 4, 4, false, false, cublasGemvParamsEx<int>>(cublasGemvParamsEx<int>, float, float)
void gemvNSP_kernel<float, float, float, float, 1, 32, 4, 1024, cublasGemvParamsEx<int>>(cublasGemvParamsEx<int>)
std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, false, true, true, false, 7, false, cublasGemvParamsEx<int>>(cublasGemvParamsEx<int>)
void dot_kernel<float, 128, 0, cublasDotParams<cublasGemvTensor<float const>, cublasGemvTensorStridedBatched<float>>>(cublasDotParams<cublasGemvTensor<float const>>)
void reduce_1Block_kernel<float, 128, 7, cublasGemvTensorStridedBatched<float>, cublasGemvTensorStridedBatched<float>>(float const*, float, int)
void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(T1::Params)
void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_tn_align8::Params)
void cutlass::Kernel<cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_64x2_tn_align8>(cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_64x2_tn_align8::Params)
cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_128x64x16_1x1x1_3_tnn_align1_bias_f32_relu
void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecializedFP8<4>>>>(cutlass::gemm::kernel::GemmUniversal::Params)
void cutlass::device_kernel<vllm::enable_sm90_or_later<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>>>>(Params)
void cutlass::device_kernel<flashinfer::gemm::DeviceGemmFp4GemmSm100<__nv_bfloat16>>(Params)
void cutlass::Kernel2<cutlass::gemm::kernel::GemmGrouped<cutlass::gemm::threadblock::MmaMultistage<cutlass::gemm::GemmShape<128, 128, 32>>>>(Params)
void cutlass::gemm_nn_128x128<float>(float*, float*)
void deep_gemm::sm90_fp8_gemm_1d1d_impl<0u, 4096u, 4096u, 1u, 128u, 128u, 128u>(float*, int*)
void deep_gemm::sm90_fp8_gemm_1d2d_impl<(cute::GMMA::Major)0, 0u, 2112u, 7168u, 1u, 64u, 96u, 128u>(float*, int*, unsigned int)
void deep_gemm::sm120_fp8_fp4_gemm_1d1d_impl<(cute::UMMA::Major)0, (cute::UMMA::Major)0, (unsigned int)128>(int *)
void deep_gemm::sm100_fp8_fp4_gemm_1d1d_impl<(cute::UMMA::Major)0, (cute::UMMA::Major)0, (unsigned int)128>(int *)
bmm_Bfloat16_E4m3E4m3_Fp32_t128x64x128u2_s6_et64x64_m64x64x32_cga1x1x1_16dp256b_TN_transOut_schedS_biasM_bN_ldgsts_rgTma_clmp_dynBatch_sm100f
void marlin::Marlin<__nv_bfloat16, 1125899906909960, 256, 1, 8, 8, false, 4, 8, false>(int4 const*, int4 const*, int4*, int4*)
void vllm::gptq::gemm_half_q_half_gptq_4bit_kernel<true, 8>(__half const*, unsigned int const*, unsigned int const*, __half const*, __half*, int, int, int, int, bool, int const*)
vllm::awq::gemm_forward_4bit_cuda_m16nXk32(int, int, __half*, int*, __half*, int*, int, int, int, __half*)
void machete::machete_mm_kernel<__half>(Params)
_w8a8_block_fp8_matmul
_w8a8_triton_block_scaled_mm
matmul_kernel_persistent
_lora_shrink_kernel
_lora_expand_kernel
_sgmv_shrink_kernel
void bgmv_shrink_kernel<64, 4096, 2ul, 16ul, 32, 4, __half, __half, __half>(__half*, __half const*, __half const*, long const*, long, long, int, float)
triton_mm
triton_bmm_2
triton_tem_fused_addmm_relu_0
triton_tem_fused_mm_1
triton_gemm_dot_3
gemm_fusion_dot_265
gemm_fusion_dot_general_12
void kgemm_4bit_inference_naive<__nv_bfloat16, 128, 16>(int, int, int, __nv_bfloat16*, unsigned char*, float*, float const*, __nv_bfloat16*, int, int, int, int)
void mul_mat_vec_q<(ggml_type)12, 1, false>(void const*, void const*, int const*, float*)
void mul_mat_q<(ggml_type)12, 64, false>(char const*, int const*, int const*, int const*, float*)
void mul_mat_vec_f<__half, __half, 1, 256>(__half const*, float const*, int const*, float*)
void tinygemm_m16n8k16_chunk_kernel<ALayout_RM<(KReductionType)0>, BLayout_TC_int4<8, 128>>(void const*, void const*)
void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::kernel::GemmUniversal<at::cuda::detail::ProblemShape>>>(Params)
void cutlass::Kernel<EvenThis>(EvenThis::Params)
# moe
fused_moe_kernel
fused_moe_kernel_gptq_awq
void vllm::moe::topkGatingSoftmax<4, 64, 4, 16, 32, int, float>(float const*, bool const*, float*, int, int*, int*, int, int, int, bool)
void vllm::moe::moe_align_block_size_kernel<int>(int const*, int*, int*, int*, int, int, int, int, unsigned long)
void vllm::moe::count_and_sort_expert_tokens_kernel<int>(int const*, int*, int*, unsigned long)
void vllm::moe::moe_sum_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16 const*, int)
void vllm::moe::grouped_topk_fused_kernel<float, float, int, (vllm::moe::ScoringFunc)1>(float*, float*, int*, float const*)
void marlin_moe_wna16::Marlin<__nv_bfloat16, 1125899906909960, 256, 4, 16, 4, 4, 8, false>(int4 const*, int4 const*, int4*)
void moe_fused_gate_kernel<float, 32, 256, 8, 1, 1, 6>(void*, void*, float*, int*, long, long, long, double)
void moe::dev::routing::routingDeepSeek::routingMainKernel<moe::dev::routing::routingDeepSeek::KernelParams<float, __nv_bfloat16>>(Params)
void moe::dev::activation::activationDeepSeekKernel<moe::dev::activation::KernelParams<cutlass::bfloat16_t>>(Params)
void moe::dev::finalize::finalizeKernelVecLoad<moe::dev::finalize::KernelParams<cutlass::bfloat16_t>>(Params)
void tensorrt_llm::kernels::cutlass_kernels::finalizeMoeRoutingKernel<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, (tensorrt_llm::kernels::cutlass_kernels::ScaleMode)1>(__nv_bfloat16 const*)
void tensorrt_llm::kernels::cutlass_kernels::expandInputRowsKernel<__nv_fp4_e2m1, __nv_fp4_e2m1, (tensorrt_llm::TmaWarpSpecializedGroupedGemmInput::FpXBlockScalingType)1, true>(__nv_fp4_e2m1 const*)
void tensorrt_llm::kernels::cutlass_kernels::doActivationKernel<__nv_fp4_e2m1, __nv_bfloat16, __nv_bfloat16>(Params)
void cutlass::Kernel2<cutlass::gemm::kernel::MoeFCGemm<cutlass::gemm::threadblock::MmaMultistage<cutlass::gemm::GemmShape<64, 128, 64>>>>(Params)
void cutlass::device_kernel<tensorrt_llm::cutlass_extensions::MoeGemmKernel<cutlass::bfloat16_t>>(Params)
_fwd_kernel_ep_scatter_1
_fwd_kernel_ep_gather
post_reorder_triton_kernel
void tensorrt_llm::kernels::cutlass_kernels::computeStridesTmaWarpSpecializedKernel<__nv_bfloat16, __nv_bfloat16>(Params)
deepgemm_compute_src2dst_triton_kernel
# attention
void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)128, (int)64, (int)4, (bool)0, (bool)0, cutlass::bfloat16_t, Flash_kernel_traits<(int)128, (int)128, (int)64, (int)4, cutlass::bfloat16_t>>, (bool)0, (bool)0, (bool)0, (bool)0, (bool)0, (bool)1, (bool)0, (bool)0>(flash::Flash_fwd_params)
void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false, true, false, false, true, true, false>(pytorch_flash::Flash_fwd_params)
void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>, false, false, false, false, true, false, true, false>(flash::Flash_fwd_params)
void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>, 4, 4, true>(flash::Flash_fwd_params)
void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 64, 128, 8, 2, 4, 2, false, true, cutlass::bfloat16_t>, false, true, false, true, true, true>(pytorch_flash::Flash_bwd_params)
void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 64, 128, 8, 2, 4, 2, false, true, cutlass::bfloat16_t>>(pytorch_flash::Flash_bwd_params)
void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1>>, cute::tuple<cute::C<128>, cute::C<176>, cute::C<128>>, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90>>>>(Params)
void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128>>, 6, 256, 1, false, true, cutlass::bfloat16_t, float, cutlass::arch::Sm90>>(Params)
void flash::prepare_varlen_num_blocks_kernel<1, true>(int, int, int, int const*, int const*, int const*, int const*)
kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensor0000o11101213_tensor0000o11101213_None_None_None_Non_0
cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0
cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_31_64x64x128_1x2x1_cga1x1x1_kernel0_0
void cudnn::fusion::compute_dot_do_o_specialized<true, __half, 128>(Params)
fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)
fmha_cutlassB_f32_aligned_64x64_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::arch::Sm80, float, true, false, true, 64, 64, 64, false>::Params)
void attention_kernel_batched_impl<AttentionKernel<cutlass::half_t, cutlass::arch::Sm80, true, 64, 64, 64, true, true>>(AttentionKernel::Params)
fmha_v2_flash_attention_bf16_64_128_S_qkv_128_causal_sm90_kernel
fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ128Kv128PersistentContext
fmhaSm100fKernel_QkvBfloat16OBfloat16HQk576HV512HVPerCta256PagedKvDenseP64MultiCtasKvVarSeqQ16Kv128StaticSwapsAbForGen
kernel_mha(unsigned int, float, bool, void*, void const*, KVCacheList<true>)
void mmha::masked_multihead_attention_kernel<unsigned short, unsigned short, tensorrt_llm::kernels::KVLinearBuffer>(Multihead_attention_params)
void vllm::paged_attention_v1_kernel<unsigned short, unsigned short, 128, 16, 128, (vllm::Fp8KVCacheDataType)0, false>(unsigned short*, unsigned short const*)
void vllm::paged_attention_v2_reduce_kernel<unsigned short, 128, 128, 512>(unsigned short*, float const*, float const*)
kernel_unified_attention_2d
kernel_unified_attention_3d
kernel_paged_attention_2d
_fwd_kernel
_fwd_kernel_stage2
_fwd_grouped_kernel_stage1
_bwd_kernel
_attn_fwd
_attn_bwd_dkdv
void vllm::merge_attn_states_kernel<c10::BFloat16, 128u>(c10::BFloat16*, float*, c10::BFloat16 const*, float const*)
void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 1u, 8u, flashinfer::DefaultAttention<false, false, false, false>>(Params)
void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u, 2u, 1u, 8u, 8u, 4u, 1u>>(Params)
void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 64u, 1u, 4u, 8u, 8u, 4u, 1u>>(Params)
void flashinfer::SinglePrefillWithKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u>>(Params)
void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u, __nv_bfloat16, __nv_bfloat16, int>(Params)
void flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8, cutlass::bfloat16_t, 512>, true>(Flash_fwd_mla_params)
void sm100::decode::head64::flash_fwd_splitkv_mla_fp8_sparse_kernel<sm100::decode::head64::KernelTemplate<(ModelType)0>>(Params)
get_mla_metadata_kernel(Mla_metadata_params)
void deep_gemm::smxx_clean_logits<1u, 4096u, 8u>(unsigned int, unsigned int, unsigned long, unsigned int const*)
void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaFwdKernelTmaWarpspecialized<cute::tuple<int, int, int>>>(Params)
void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaKernelTmaWarpspecialized<cute::tuple<cute::C<128>, cute::C<128>>>>(Params)
void deep_gemm::sm90_fp8_paged_mqa_logits<1u, 64u, 128u, 64u, false, 3u, 3u, 256u, 128u, 512u>(unsigned int, unsigned long)
triton_tem_fused_flex_attention_0
triton_flex_attention_backward_7
void flash_attn_ext_f16<128, 128, 16, 4, 4, 64, (ggml_type)1>(char const*, char const*, char const*)
void flash_attn_tile<128, 128, 32, false>(char const*, char const*, char const*)
# kv_cache
void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*)
void vllm::reshape_and_cache_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*)
void vllm::concat_and_cache_mla_kernel<__nv_bfloat16, unsigned char, (vllm::Fp8KVCacheDataType)1>(__nv_bfloat16 const*)
void vllm::copy_blocks_kernel<c10::BFloat16>(long*, long*, long const*, int)
void flashinfer::AppendPagedKVCacheKernel<128u, 16u, __nv_bfloat16, int>(flashinfer::paged_kv_t<__nv_bfloat16, int>)
void tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16, __nv_bfloat16, 128, true>(tensorrt_llm::kernels::QKVPreprocessingParams<__nv_bfloat16>)
set_mla_kv_buffer_kernel
create_flashinfer_kv_indices_triton
write_req_to_token_pool_triton
reshape_and_cache_kernel_flash
_compute_slot_mapping_kernel
# rope
void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, int, int, int)
void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheKernel<true, 128u, 8u, 16u, __nv_bfloat16, long>(__nv_bfloat16*)
void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheHeadParallelismKernel<true, 128u, 8u, 16u, __nv_bfloat16, long>(__nv_bfloat16*)
void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>(__nv_bfloat16 const*, int const*, float const*)
rotary_kernel
_triton_rope
_triton_mrope_forward
void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(void*, int, int, int, float, void const*, void const*, float, int const*, int)
void rope_neox<true, false, float>(float const*, float*, int, int, int, int, int, int const*)
# norm
void at::native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float, (bool)1>(int, T2, const T1 *, const T1 *, const T1 *, T2 *, T2 *, T1 *)
void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, 32u, 1u, 8u, true, false, false>(long, long, float const*)
void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float>(float const*, float const*, float const*, float const*, float const*, float*, int)
void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::Half>(long, c10::Half, c10::Half const*, c10::Half*, c10::Half*)
void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::InvStd, c10::BFloat16, float, 4>(c10::BFloat16 const*)
void at::native::batch_norm_transform_input_channels_last_kernel<c10::BFloat16, float, float, 4>(c10::BFloat16 const*)
void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, 512, true, 1>(cudnnTensorStruct, __half const*, cudnnTensorStruct, __half*, float const*)
void cudnn::bn_bw_1C11_singleread<float, 512, true, 1, 2, 0>(float, float, float, float, cudnnTensorStruct, float const*)
void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*, long, c10::BFloat16 const*, float, int, int)
std::enable_if<T2>(0) && vllm::_typeConvert<T1>::exists, void>::type vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, float, int, int)
void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn, 8>(c10::Float8_e4m3fn*, c10::BFloat16 const*)
void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)
void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)
void tensorrt_llm::kernels::generalRmsNorm<__nv_bfloat16, true, unsigned char>(__nv_bfloat16 const*)
void transformer_engine::normalization::ln_fwd_tuned_kernel<transformer_engine::normalization::Kernel_traits<__nv_bfloat16, float>>(Params)
void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<transformer_engine::normalization::Kernel_traits<__nv_bfloat16, float>>(Params)
void (anonymous namespace)::cuApplyLayerNorm<float, float, float>(float*, float*, float*, float const*, int, int, float, float const*, float const*)
void layer_norm::ln_bwd_kernel<layer_norm::Kernel_traits<float, float, float, float, float, unsigned int, 768u, 1u, 4u, 1u, 16u, 128u>>(layer_norm::BwdParams)
_layer_norm_fwd_1pass_kernel
_rms_norm_forward_kernel
l2norm_fwd_kernel
triton_red_fused_native_layer_norm_4
triton_per_fused__to_copy_add_mean_mul_pow_rsqrt_0
void rms_norm_f32<1024, true, false>(float const*, float*, int, long, long, long, float)
# softmax
void (anonymous namespace)::softmax_warp_forward<float, float, float, 11, false, false>(float*, float const*, int, int, int, bool const*, int, bool)
void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, float, float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>(float*, float const*, int)
void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, float, float, float, at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(float*, float const*, float const*, unsigned long)
void scaled_upper_triang_masked_softmax_warp_forward<__half, __half, float, 11>(__half*, __half const*, float, int, int, int)
void soft_max_f32<true, 0, 0, float>(float const*, float const*, float*, soft_max_params)
triton_per_fused__softmax_3
triton_softmax_4
# loss
void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*, float*, float const*, long const*)
void at::native::(anonymous namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(float*, float const*, long const*)
liger_cross_entropy_kernel
triton_red_fused__log_softmax_nll_loss_forward_12
_kldiv_kernel_forward
# embedding
void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float, float, long>(long const*, float const*, float*, int, long, int)
void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, int>(int const*, c10::BFloat16 const*, int const*, long)
void split_embedding_codegen_forward_unweighted_kernel<float, float, float, false, long, 32ul>(float const*, long const*)
void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<float, long>(long const*, long const*, float const*, float*)
# sampling
void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, (cub::BlockScanAlgorithm)2, (cub::BlockReduceAlgorithm)2, 4u, true, float, int>(float*, int*)
void flashinfer::sampling::TopPSamplingFromProbKernel<1024u, (cub::BlockScanAlgorithm)2, (cub::BlockReduceAlgorithm)2, 4u, true, float, int>(float*, int*)
void flashinfer::sampling::TopKRenormProbKernel<1024u, (cub::BlockReduceAlgorithm)2, 4u, float, int>(float*, float*, int*, unsigned int, unsigned int)
void flashinfer::sampling::ChainSpeculativeSampling<1024u, (cub::BlockScanAlgorithm)2, (cub::BlockReduceAlgorithm)2, 4u, true, float, int>(float*, int*)
void vllm::apply_repetition_penalties_kernel<float>(float*, bool const*, bool const*, float const*, int, int, int)
rejection_greedy_sample_kernel
expand_kernel
eagle_prepare_inputs_padded_kernel
build_tree_efficient(long*, int*, bool*, long*, long*, int, int, int)
rejection_random_sample_kernel
sample_recovered_tokens_kernel
_topk_topp_kernel
apply_token_bitmask_inplace_kernel
void at::native::(anonymous namespace)::sampleMultinomialOnce<float, float>(long*, long, int, float const*, float const*, int, int)
void tensorrt_llm::kernels::topKStage1<float, 256, 8>(float const*, float const* const*, float*, int*, float*)
# ssm
void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128, 16, 1, false, true, true, true, c10::BFloat16, float>>(SSMParamsBase)
void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4, true, c10::BFloat16, c10::BFloat16>>(ConvParamsBase)
_causal_conv1d_update_kernel
_selective_scan_update_kernel
_chunk_scan_fwd_kernel
_chunk_state_fwd_kernel
void ssm_conv_f32<true, 128ul, 4ul>(float const*, float const*, int, int, int, int, float*)
_state_passing_fwd_kernel
_chunk_cumsum_fwd_kernel
_bmm_chunk_fwd_kernel
chunk_gated_delta_rule_fwd_kernel_h_blockdim64
chunk_fwd_kernel_o
chunk_local_cumsum_scalar_kernel
fused_recurrent_gated_delta_rule_fwd_kernel
fused_recurrent_gated_delta_rule_packed_decode_kernel
fused_sigmoid_gating_delta_rule_update_kernel
recompute_w_u_fwd_kernel
merge_16x16_to_64x64_inverse_kernel
chunk_gla_fwd_kernel_o
_linear_attn_decode_kernel
# quantize
void vllm::scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(c10::Float8_e4m3fn*, c10::BFloat16 const*, float const*, int, long, long)
void vllm::dynamic_per_token_scaled_fp8_quant_kernel_strided<c10::BFloat16, c10::Float8_e4m3fn>(c10::Float8_e4m3fn*, float*)
void per_token_group_quant_8bit_kernel<c10::BFloat16, c10::Float8_e4m3fn, true, true, float>(c10::BFloat16 const*, void*, float*, int, int, int, float, float, float, int, int)
_per_token_group_quant_fp8
void vllm::cvt_fp16_to_fp4<__nv_bfloat16, false>(int, int, __nv_bfloat16 const*, float const*, unsigned int*, unsigned int*)
void tensorrt_llm::kernels::quantize_with_block_size<(tensorrt_llm::kernels::BlockScaleQuantizationType)0, __nv_bfloat16, 16, false>(int, int, int, int, __nv_bfloat16 const*)
void kQuantizeBlockwise<__nv_bfloat16, 64, 2, 0, 2>(float*, __nv_bfloat16*, float*, unsigned char*, float*, int, int)
void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*, float*, __nv_bfloat16*, int, int)
void quantize_q8_1(float const*, void*, long, long, long, long, unsigned int, unsigned int)
void transformer_engine::cast_transpose_fused_kernel<true, false, float, 8, 8>(Params)
vllm::awq::dequantize_weights(int*, __half*, int*, __half*, int)
_per_token_fp8_kernel
# optimizer
void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, false>>(float)
void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int>, float, float, float, float, float, float, adamMode_t, float>(long, int volatile*)
void transformer_engine::multi_tensor_apply::multi_tensor_apply_kernel<transformer_engine::multi_tensor_apply::TensorListMetadata<5, true>, transformer_engine::multi_tensor_adam::AdamFunctorMaster<__nv_bfloat16, __nv_bfloat16, float, int>>(long)
void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::TensorListMetadata<(int)2>, at::native::<unnamed>::TernaryOpScalarFunctor<float, (int)2, (int)2, (int)0>, at::native::LerpFunctor<float>, float>(T1, T2, T3...)
void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::TensorListScalarListMetadata<float, (int)3>, at::native::<unnamed>::PointwiseOpScalarListFunctor<float, (int)3, (int)3, (int)0>, std::divides<float>>(T1, T2, T3...)
void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::TensorListMetadata<(int)1>, at::native::<unnamed>::BinaryOpScalarFunctor<float, (int)1, (int)1, (int)0>, std::multiplies<float>, float>(T1, T2, T3...)
void kOptimizerStatic8bit2StateBlockwise<__nv_bfloat16, 0, 256, 1>(__nv_bfloat16*, __nv_bfloat16*, unsigned char*, unsigned char*)
# grad_clip
void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0>, float*, int>(long)
void at::native::lpnorm_cleanup<float, (at::native::NormType)1, float, float>(float const*, at::native::TensorListAddresses, int)
void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::BinaryOpScalarTensorFunctor<float, 1, 1, 0>, std::multiplies<float>, float*, float>(long)
void multi_tensor_apply_kernel<TensorListMetadata<1>, L2NormFunctor<float>, float*, float*, bool, int>(long, int volatile*)
# convolution
sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x32x32_stage4_warpsize4x1x1_g1_tensor16x8x16_execute_kernel__5x_cudnn
sm80_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4_warpsize2x2x1_g1_tensor16x8x16_execute_kernel__5x_cudnn
void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816dgrad_optimized_f16_128x256_32x3_nhwc_unity_stride_align8>(Params)
void cutlass_cudnn_infer::Kernel<cutlass_tensorop_f16_s16816fprop_optimized_f16_128x128_32x5_nhwc_align8>(Params)
void cutlass::Kernel2<cutlass::conv::kernel::ImplicitGemmConvolution<cutlass::conv::threadblock::ImplicitGemmMultistage<cutlass::gemm::GemmShape<128, 128, 32>>>>(Params)
void cutlass::device_kernel<cutlass::conv::kernel::ConvUniversal<cutlass::conv::ConvProblemShape<(cutlass::conv::Operator)0, 2>>>(Params)
void cudnn::winograd_nonfused::winogradForwardOutput4x4<float, float>(cudnn::winograd_nonfused::WinogradOutputParams<float, float>)
void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false, false, true>(int, int, int, float const*, int, float*)
void cudnn::cnn::conv2d_grouped_direct_kernel<false, true, false, false, 0, 0, int, __half, __half, __half, float>(cudnnTensorStruct)
void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, c10::BFloat16, int>(at::GenericPackedTensorAccessor<c10::BFloat16 const, 4ul>)
void at::native::im2col_kernel<float>(long, float const*, long, long, long, long, long, long, long, long, long, long, long, long, float*)
ampere_scudnn_128x64_relu_interior_nn_v1
void precomputed_convolve_sgemm<float, 1024, 5, 5, 4, 3, 3, 1, false>(int, int, int, float const*, int, float*)
triton_tem_fused_convolution_2
ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1
# fft
void regular_fft<256u, EPT<8u>, 16u, 16u, (padding_t)1, (twiddle_t)0, (loadstore_modifier_t)2, (layout_t)1, unsigned int, float>(kernel_arguments_t<unsigned int>)
void vector_fft<128u, EPT<8u>, 8u, (padding_t)6, (twiddle_t)0, (loadstore_modifier_t)2, unsigned int, float>(kernel_arguments_t<unsigned int>)
void fft2d_r2c_32x32<float, false, 1u, false>(float2*, float const*, int, int, int, int, int, int, int, int, int, cudnn::reduced_divisor, bool, int2, int, int)
void spRadix0064B::kernel1Mem<unsigned int, float, (fftDirection_t)-1, 32u, 5u, CONSTANT, ALL, WRITEBACK>(kernel_parameters_t<fft_mem_radix1_t, unsigned int, float>)
# random
void at::native::<unnamed>::distribution_elementwise_grid_stride_kernel<float, (int)4, void at::native::templates::cuda::normal_and_transform<float, float, at::CUDAGeneratorImpl *, void at::native::templates::cuda::normal_kernel<at::CUDAGeneratorImpl *>(const at::TensorBase &, double, double, T1)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 2)]::operator ()() const::[lambda(float) (instance 1)]>>(long, at::PhiloxCudaState)
void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4, bool>(at::cuda::detail::TensorInfo<float const, unsigned int>)
void tensorrt_llm::kernels::curandBatchInitialize(curandStateXORWOW**, int const*, int, unsigned long const*)
# sort_scan
void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<float, long, unsigned long long>::Policy900, true, float, long, unsigned long long, int, int>(int*, int*)
void cub::CUB_200200_800_890_900_NS::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600, int const*, int*, cub::ScanTileState<int, true>, cub::Sum, cub::NullType, int>(int const*, int*)
void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float>>(float*, float const*, unsigned int, unsigned int, unsigned int, float, std::plus<float>)
void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(at::cuda::detail::TensorInfo<float const, unsigned int>)
void at::native::mbtopk::radixFindKthValues<float, unsigned int, unsigned int, 1>(at::cuda::detail::TensorInfo<float const, unsigned int>)
void at::native::bitonicSortKVInPlace<2, -1, 16, 16, float, long, at::native::GTOp<float, true>, unsigned int>(at::cuda::detail::TensorInfo<float, unsigned int>)
void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__merge_sort::BlockSortAgent<thrust::pair<int, int>*, long, thrust::less<int>>>(bool, thrust::pair<int, int>*)
void at::native::(anonymous namespace)::searchsorted_cuda_kernel<float, long>(long*, float const*, float const*, long const*)
void at_cuda_detail::cub::DeviceSelectSweepKernel<at_cuda_detail::cub::DispatchSelectIf<long*>>(long*)
triton_spl_fused_cumsum_0
# index_gather
void at::native::index_elementwise_kernel<(int)128, (int)4, void at::native::gpu_index_kernel<void at::native::index_kernel_impl<at::native::OpaqueType<(int)4>>(at::TensorIteratorBase &, c10::ArrayRef<long long>, c10::ArrayRef<long long>)::[lambda(char *, const char *, long long) (instance 1)]>>(int, T3)
void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *, T2 *, int, long, long, long, long, bool)
void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)
void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<false, at::native::OpaqueType<4>>::operator()>(int)
void at::native::indexing_backward_kernel<float, 4>(long const*, long const*, float const*, float*, long, long, long, long, bool)
void k_get_rows_float<float, float>(float const*, int const*, float*, long, long)
input_scatter_fusion_2
loop_gather_fusion
# fill
void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, std::array<char *, (unsigned long)1>>(int, T2, T3)
void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(const c10::Scalar &, const c10::Scalar &, const c10::Scalar &, at::Tensor &)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 4)]>(T1, T2, function_traits<T2>::result_type *)
stream_executor::cuda::RepeatBufferKernel(char*, long, long)
void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::ZeroFunctor<float, 1, 1, 0>>(long)
# copy
void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::[lambda() (instance 7)]::operator ()() const::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>, (int)4, TrivialOffsetCalculator<(int)1, unsigned int>, TrivialOffsetCalculator<(int)1, unsigned int>, at::native::memory::LoadWithCast<(int)1>, at::native::memory::StoreWithCast<(int)1>>(int, T1, T2, T4, T5, T6, T7)
void at::native::vectorized_elementwise_kernel<(int)8, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)
void at::native::<unnamed>::CatArrayBatchedCopy_vectorized<at::native::<unnamed>::OpaqueType<(unsigned int)2>, unsigned int, (int)1, (int)128, (int)1, (int)16, (int)8>(char *, at::native::<unnamed>::CatArrInputTensorMetadata<T1, T2, T4, T5>)
void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 1, 128, 1>(at::native::(anonymous namespace)::OpaqueType<2u>*)
void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::TensorListMetadata<(int)2>, at::native::<unnamed>::UnaryOpFunctor<long, (int)2, (int)1, (int)1>, at::native::Copy<long, long>>(T1, T2, T3...)
void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true, (cudnnKernelDataType_t)0>(cudnn::ops::nchw2nhwc_params_t<float>, __half const*, __half*)
void at::native::roll_cuda_kernel<float>(float const*, float*, long, long, long, long, long, long)
void CUTENSOR_NAMESPACE::permutationKernelPLC3<CUTENSOR_NAMESPACE::permutationPLC3_config_t<float>>(Params)
void marlin::gptq_marlin_repack_kernel<(int)256, (int)4, (bool)0, (bool)0>(const unsigned int *, const unsigned int *, unsigned int *, int, int)
input_transpose_fusion_1
loop_concatenate_fusion
loop_convert_fusion_3
copy_fusion
void deep_gemm::transpose_fp32<512u, 64u, 56u>(float const*, float*, unsigned int)
wrapped_transpose
loop_dynamic_update_slice_fusion_2
void cpy_flt<&(cpy_1_flt<float, __half>)>(char const*, char*, int, int)
# pooling
void at::native::(anonymous namespace)::max_pool_forward_nhwc<c10::BFloat16, int>(c10::BFloat16 const*, int, long, long)
void at::native::(anonymous namespace)::upsample_nearest2d_nhwc_out_frame<c10::BFloat16, &at::native::nearest_neighbor_compute_source_index>(c10::BFloat16 const*)
void at::native::(anonymous namespace)::grid_sampler_2d_kernel<float, int>(int, at::cuda::detail::TensorInfo<float const, int>)
# reduce
void at::native::reduce_kernel<(int)128, (int)4, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator ()(at::TensorIterator &)::[lambda(float, float) (instance 1)]>, unsigned int, float, (int)4, (int)4>>(T3)
void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<c10::BFloat16, at::native::ArgMaxOps<float>, unsigned int, long, (int)4, (int)4>>(T3)
void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, (int)4, (int)4>>(T3)
void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, unsigned int, float, 4, 4>>(at::native::ReduceOp<float, at::native::NormTwoOps<float, float, float>, unsigned int, float, 4, 4>)
void at_cuda_detail::cub::DeviceReduceSingleTileKernel<at_cuda_detail::cub::DeviceReducePolicy<int, int, int, at_cuda_detail::cub::Sum>::Policy600, bool*, int*, int>(bool*, int*, int)
void small_reduce_kernel<float>(float const*, float*, int)
triton_red_fused_sum_5
triton_per_fused_mean_mul_1
input_reduce_fusion_92
input_add_reduce_fusion_1
wrapped_reduce
# elementwise
void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>, std::array<char *, (unsigned long)3>>(int, T2, T3)
void at::native::vectorized_elementwise_kernel<(int)8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase &, at::native::GeluType)::[lambda() (instance 2)]::operator ()() const::[lambda() (instance 4)]::operator ()() const::[lambda(c10::BFloat16) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)
void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::<unnamed>::where_kernel_impl(at::TensorIterator &)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 11)]::operator ()() const::[lambda(bool, float, float) (instance 1)]>>(int, T3)
void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, std::array<char *, (unsigned long)3>, (int)4, TrivialOffsetCalculator<(int)2, unsigned int>>(int, T1, T2, T4, T5, T6, T7)
void at::native::vectorized_elementwise_kernel<(int)4, void at::native::<unnamed>::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase &, T2)::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)
void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)
void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(silu(float const&))>(__nv_bfloat16*, __nv_bfloat16 const*, int)
_silu_mul_fp8_quant_deep_gemm
_swiglu_forward_kernel
triton_poi_fused_add_gelu_mul_3
triton_poi_fused_add_all_reduce_4
triton_poi_fused_addmm_relu_1
triton_poi_fused__softmax_add_2
triton_poi_fused_native_layer_norm_backward_7
triton_for_fused_0
loop_fusion
loop_add_fusion
loop_multiply_select_fusion_5
loop_convert_multiply_fusion
AddV2_GPU_DT_FLOAT_DT_FLOAT_kernel
wrapped_add
void at::native::(anonymous namespace)::triu_tril_kernel<float, int, false, 4, true>(at::cuda::detail::TensorInfo<float, int>)
void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<thrust::cuda_cub::__transform::unary_transform_f<int*, int*>, long>>(long)
void k_bin_bcast<&(op_add(float, float)), float, float, float>(float const*, float const*, float*)
void unary_gated_op_kernel<&(op_silu(float)), float>(float const*, float const*, float*, long, long, long, long)
void axpy_kernel_val<float, float>(cublasAxpyParamsVal<float>)
generatedNativePointwise
vectorAdd(int *, int *, int *, int)
void at::native::elementwise_kernel<128, 4, void at::native::gpu_kernel_impl_nocast<at::native::(anonymous namespace)::masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() const>>(int)
void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<thrust::cuda_cub::for_each_f<thrust::random_access_device_iterator_tag>, long>>(long)
# other
stopKernel(int *)
calcHistogram(uchar4 *, int *, int, int)
test01()
my_unknown_thing
void dag_lts_kernel<(int)1, (int)128>(const int *, const int *, const double *, const double *, double *, const int *, int)
"""  # noqa: E501


def cases() -> list[tuple[str, str | None, str]]:
    """Return (category, kind, name) of every name above."""
    found = []
    category, kind = "", None
    for line in NAMES.strip().splitlines():
        if line.startswith("# "):
            category, _, second = line.removeprefix("# ").partition("/")
            kind = second or None
        else:
            found.append((category, kind, line))
    return found


@pytest.mark.parametrize(("category", "kind", "name"), cases(), ids=lambda value: str(value)[:60])
def test_a_kernel_has_its_category(category: str, kind: str | None, name: str) -> None:
    entry = SHIPPED.classify(name)
    assert (entry.category if entry else OTHER) == category, entry
    assert (entry.kind if entry else None) == kind, entry


def test_there_are_enough_names_and_no_name_twice() -> None:
    names = [name for _, _, name in cases()]
    assert len(names) == len(set(names)) > 400


def test_every_pattern_wins_a_name() -> None:
    winners = {SHIPPED.classify(name) for _, _, name in cases()}
    assert [entry.source for entry in SHIPPED.patterns if entry not in winners] == []


def test_every_communication_pattern_says_its_kind() -> None:
    for entry in SHIPPED.patterns:
        assert (entry.kind is not None) == (entry.category == "communication"), entry
    assert {entry.kind for entry in SHIPPED.patterns} - {None} == set(COMMUNICATION_KINDS)


def test_the_page_tells_every_category_and_kind() -> None:
    text = (ROOT / "docs" / "categories.md").read_text(encoding="utf-8")
    parts = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    told = set(re.findall(r"^\| `(\w+)` \|", parts["The categories"], re.MULTILINE))
    assert told == {entry.category for entry in SHIPPED.patterns} | {OTHER}
    assert set(re.findall(r"^\| `(\w+)` \|", parts["Kinds of communication"], re.MULTILINE)) == set(COMMUNICATION_KINDS)


def test_the_example_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "categories.md").read_text(encoding="utf-8").partition("## An example")[2]
    block = re.search(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    kernel_categories = load_kernel_categories(written(tmp_path, block[1]))
    rows = [re.findall(r"`([^`]+)`", row) for row in text.splitlines() if row.startswith("| `")]
    assert len(rows) == 4
    for name, category, *rest in rows:
        entry = kernel_categories.classify(name)
        assert (entry.category if entry else OTHER) == category
        if entry and entry.source.startswith("mine"):
            assert rest == [*filter(None, [entry.kind]), entry.source]


def test_an_answer_is_remembered() -> None:
    kernel_categories = KernelCategories.shipped()
    name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
    assert kernel_categories.classify(name) is kernel_categories.classify(name) is not None
    assert kernel_categories.classify("nothing like it") is kernel_categories.classify("nothing like it") is None


def test_the_names_of_lambdas_and_hidden_namespaces_do_not_matter() -> None:
    for hidden in ("<unnamed>", "(anonymous namespace)"):
        entry = SHIPPED.classify(f"void at::native::{hidden}::CatArrayBatchedCopy<float, unsigned int, 1>(float*)")
        assert entry is not None
        assert entry.category == "copy"


def kernel_time(trace: Path) -> dict[str, int]:
    """Return the summed time of each demangled kernel name."""
    with sqlite3.connect(f"{trace.as_uri()}?mode=ro&immutable=1", uri=True) as base:
        if not base.execute("SELECT 1 FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'").fetchone():
            return {}
        query = """SELECT s.value, SUM(k."end" - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k
                   JOIN StringIds s ON s.id = k.demangledName GROUP BY s.value"""
        return dict(base.execute(query))


def strings_of(trace: Path) -> list[str]:
    """Return all texts of an export, the names of its kernels among them."""
    with sqlite3.connect(f"{trace.as_uri()}?mode=ro&immutable=1", uri=True) as base:
        return [text for (text,) in base.execute("SELECT value FROM StringIds WHERE typeof(value) = 'text'")]


@pytest.mark.parametrize("trace", sorted((ROOT / "fixtures" / "traces").glob("*.sqlite")), ids=lambda path: path.stem)
def test_little_time_of_the_fixtures_is_left_over(trace: Path) -> None:
    spent: dict[str, int] = defaultdict(int)
    for name, length in kernel_time(trace).items():
        entry = SHIPPED.classify(name)
        spent[entry.category if entry else OTHER] += length
    assert spent[OTHER] <= 0.05 * sum(spent.values()), dict(spent)
    assert len(spent) > 2 or trace.stem in {"nogpu", "mixed"}


MOST_WAYS = 5_000
"""In how many ways a pattern may match from one place of a name: what a search can cost for each letter of it."""


def ways(tree: Any) -> float:
    """Return in how many ways a parsed pattern can match from one place; without end where a repeat has no bound."""
    found = 1.0
    for kind, value in tree:
        if kind is _constants.SUBPATTERN:
            found *= ways(value[3])
        elif kind is _constants.BRANCH:
            found *= sum(map(ways, value[1]))
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            least, most, repeated = value
            once = ways(repeated)
            found *= math.inf if most is _constants.MAXREPEAT else sum(once**times for times in range(least, most + 1))
        elif kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            found *= ways(value[1])
    return found


@pytest.mark.parametrize("entry", SHIPPED.patterns, ids=lambda entry: entry.source)
def test_a_search_costs_so_much_a_letter_and_no_more_however_long_the_name(entry: CategoryPattern) -> None:
    assert ways(_parser.parse(entry.pattern)) <= MOST_WAYS


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\w+Q", math.inf),  # from each letter of a long word to its end: the square of its length
        (r"a[bc]{0,3}d", 4),
        (r"a(?:bb|c){0,3}d", 1 + 2 + 4 + 8),
        (r"x.{0,9}?y|z", 10 + 1),
        (r"(?<!\w)a(?!\w*b)", math.inf),
    ],
)
def test_ways_of_a_pattern(pattern: str, expected: float) -> None:
    assert ways(_parser.parse(pattern)) == expected


OWN = """
[[category]]
name = "search"
pattern = 'my_kernel'
note = "ours"

[[category]]
name = "communication"
kind = "broadcast"
pattern = '(?i)MY_BCAST'
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_no_file_means_the_shipped_patterns() -> None:
    assert load_kernel_categories(None).patterns == SHIPPED.patterns
    assert SHIPPED.patterns[0].source == "shipped 1"


@pytest.mark.parametrize("first", ["", "extends = true"])
def test_own_patterns_stand_before_the_shipped_ones(tmp_path: Path, first: str) -> None:
    kernel_categories = load_kernel_categories(written(tmp_path, first + OWN))
    assert kernel_categories.patterns[2:] == SHIPPED.patterns
    assert kernel_categories.classify("my_kernel_gemm") == CategoryPattern(
        "search", "my_kernel", None, "ours", "mine.toml 1"
    )
    own = kernel_categories.classify("do_my_bcast")
    assert own is not None
    assert (own.category, own.kind, own.source) == ("communication", "broadcast", "mine.toml 2")
    gemm = kernel_categories.classify("ampere_sgemm_128x64_tn")
    assert gemm is not None
    assert gemm.category == "gemm"


def test_own_patterns_replace_the_shipped_ones(tmp_path: Path) -> None:
    kernel_categories = load_kernel_categories(written(tmp_path, "extends = false" + OWN))
    assert [entry.source for entry in kernel_categories.patterns] == ["mine.toml 1", "mine.toml 2"]
    assert kernel_categories.classify("ampere_sgemm_128x64_tn") is None


@pytest.mark.parametrize("pattern", ["(e+)+#", "(e|ee)+#", "(?:e*)*e*#", "(e?){60}e{60}#"])
def test_a_pattern_of_the_user_cannot_run_away(tmp_path: Path, pattern: str) -> None:
    """Python's own expressions take longer than anybody waits: each `e` more doubles what they do."""
    trace = TraceBuilder().kernel(0, 10, name="e" * 60).write(tmp_path / "trace.sqlite")
    path = written(tmp_path, f"[[category]]\nname = 'mine'\npattern = '{pattern}'\n")
    program = command("summarize", trace, "--categories", path, "-q", "--compact")
    done = subprocess.run(program, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    assert [*json.loads(done.stdout)["categories"]] == [OTHER]


def test_a_name_that_is_no_unicode_is_searched(tmp_path: Path) -> None:
    text = "extends = false\n[[category]]\nname = 'mine'\npattern = 'x.y'\n"
    categories = load_kernel_categories(written(tmp_path, text))
    found = categories.classify_all(["x\udc80y", "xy", "x\0y", "x\u00e9y"])
    assert [entry is not None for entry in found] == [True, False, True, True]


def test_copies_of_shipped_patterns_take_what_these_take(tmp_path: Path) -> None:
    """RE2 and Python's expressions agree on every text of the traces; what looks around is refused."""
    plain = [entry for entry in SHIPPED.patterns if "(?!" not in entry.pattern and "(?<" not in entry.pattern]
    assert len(plain) > 50
    text = "".join(f"[[category]]\nname = 'c{i}'\npattern = '''{entry.pattern}'''\n" for i, entry in enumerate(plain))
    own = load_kernel_categories(written(tmp_path, "extends = false\n" + text))
    searches = [re.compile(entry.pattern) for entry in plain]
    traces = [*(ROOT / "fixtures" / "traces").glob("*.sqlite"), *(ROOT.parent / "shared" / "traces").rglob("*.sqlite")]
    names = sorted({name for trace in traces for name in strings_of(trace)} | {*NAMES.splitlines()})
    assert len(names) > 1_000
    expected = [next((f"c{i}" for i, search in enumerate(searches) if search.search(name)), None) for name in names]
    assert [entry.category if entry else None for entry in own.classify_all(names)] == expected


def test_the_first_match_wins(tmp_path: Path) -> None:
    text = "".join(f"[[category]]\nname = '{word}'\npattern = 'gemm'\n" for word in ("first", "second"))
    found = load_kernel_categories(written(tmp_path, text)).classify("ampere_sgemm")
    assert found is not None
    assert found.category == "first"


def test_a_file_without_patterns_changes_nothing(tmp_path: Path) -> None:
    assert load_kernel_categories(written(tmp_path, "")).patterns == SHIPPED.patterns
    assert load_kernel_categories(written(tmp_path, "extends = false")).patterns == ()


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    assert len(load_kernel_categories(written(tmp_path, "\ufeff" + OWN)).patterns) == 2 + len(SHIPPED.patterns)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("[[category]", "mine.toml", "not valid TOML"),
        ('[[category]]\npattern = "\\d"', "mine.toml", "single quotes"),
        ("extend = true", "mine.toml", "unknown key 'extend'"),
        ("extends = 1", "mine.toml", "extends is not true or false"),
        ("category = 1", "mine.toml", r"begin each entry with \[\[category"),
        ("category = [1]", "mine.toml, category 1", r"begin each entry with \[\[category"),
        (OWN + "[[category]]\npatern = 'x'", "mine.toml, category 3", "unknown key 'patern'; use name, pattern"),
        ("[[category]]\npattern = 'x'", "mine.toml, category 1", "has no name"),
        ("[[category]]\nname = 'gemm'", "mine.toml, category 1", "has no pattern"),
        ("[[category]]\nname = 1\npattern = 'x'", "mine.toml, category 1", "name is not text"),
        ("[[category]]\nname = 'a'\npattern = 1", "mine.toml, category 1", "pattern is not text"),
        ("[[category]]\nname = 'a'\npattern = 'x'\nnote = 1", "mine.toml, category 1", "note is not text"),
        ("[[category]]\nname = 'GEMM'\npattern = 'x'", "mine.toml, category 1", "no name of a category"),
        ("[[category]]\nname = ''\npattern = 'x'", "mine.toml, category 1", "no name of a category"),
        ('[[category]]\nname = "a\\n"\npattern = "x"', "mine.toml, category 1", "no name of a category"),
        ("[[category]]\nname = 'a'\npattern = 'f('", "mine.toml, category 1", "no regular expression"),
        ("[[category]]\nname = 'a'\npattern = '[[:a:]]'", "mine.toml, category 1", "no regular expression"),
        ("[[category]]\nname = 'a'\npattern = 'x{9999}'", "mine.toml, category 1", "no regular expression"),
        (
            "[[category]]\nname = 'a'\npattern = 'x(?!y)'",
            "mine.toml, category 1",
            r"'x\(\?!y\)' is no regular .* of RE2",
        ),
        ("[[category]]\nname = 'a'\npattern = '(?<=x)y'", "mine.toml, category 1", "use neither look-around nor"),
        ("[[category]]\nname = 'a'\npattern = '(x)\\1'", "mine.toml, category 1", "no regular expression of RE2"),
        ("[[category]]\nname = 'a'\npattern = 'x*'", "mine.toml, category 1", "matches the empty string"),
        ("[[category]]\nname = 'a'\npattern = ''", "mine.toml, category 1", "matches the empty string"),
        ("[[category]]\nname = 'gemm'\npattern = 'x'\nkind = 'reduce'", "mine.toml, category 1", "only communication"),
        (
            "[[category]]\nname = 'communication'\npattern = 'x'\nkind = 'gossip'",
            "mine.toml, category 1",
            "use one of all_reduce",
        ),
    ],
)
def test_a_bad_file_is_one_line_that_helps(tmp_path: Path, text: str, where: str, what: str) -> None:
    with pytest.raises(CategoriesInvalid, match=what) as caught:
        load_kernel_categories(written(tmp_path, text))
    message = str(caught.value)
    assert where in message
    assert "\n" not in message
    assert (caught.value.code, caught.value.exit_status) == ("categories-invalid", 2)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(CategoriesInvalid, match=r"cannot read the kernel categories .*gone\.toml: No such file"):
        load_kernel_categories(tmp_path / "gone.toml")
    with pytest.raises(CategoriesInvalid, match="cannot read the kernel categories"):
        load_kernel_categories(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# \xe9\n")
    with pytest.raises(CategoriesInvalid, match=r"latin\.toml is not UTF-8 text"):
        load_kernel_categories(tmp_path / "latin.toml")
