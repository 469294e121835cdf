"""Kernels that were only renamed: found where nothing else could be meant, and never else."""

from __future__ import annotations

from random import Random

import pytest

from nsys_digest.compare.renames import LONGEST, renamed_calls, renamed_kernels


def matched(vanished: dict[str, int], appeared: dict[str, int]) -> dict[str, tuple[str, str]]:
    found = renamed_kernels(vanished, appeared, lambda name: "gemm" if "gemm" in name else "other")
    return {pair.base: (pair.head, pair.why) for pair in found.renamed}


@pytest.mark.parametrize(
    ("base", "head", "why"),
    [
        ("void norm<float, Vec<4>>(float*)", "void norm<__half, Vec<8>>(__half*)", "template arguments"),
        ("triton_red_fused_add_0d1d2d3de", "triton_red_fused_add_0d1d2de3d", "hash"),
        ("kernel_4f3a9bc1", "kernel_00c0ffee", "hash"),
        ("flash_fwd_kernel", "flash_fwd_kernel_v2", "version"),
        ("attn_v1_kernel", "attn_v3_kernel", "version"),
        ("cutlass_sm90_gemm_nn", "cutlass_sm100_gemm_nn", "GPU architecture"),
        ("nvjet_sm90_hsh_v2_NNT", "nvjet_sm100_hsh_NNT", "hash, version or GPU architecture"),
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_NNT", "nvjet_sm90_tst_128x8_64x12_2x1_v_bz_NNT", "tile sizes"),
        (
            "nvjet_sm90_tst_64x8_64x16_v_bz_NNT",
            "nvjet_sm100_tst_128x8_64x12_v_bz_NNT",
            "tile sizes, with hash, version or GPU architecture",
        ),
        ("triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul_9", "numbers"),
        ("gemm_bf16_stage3_align4", "gemm_bf16_stage5_align8", "numbers"),
    ],
)
def test_renamed(base: str, head: str, why: str) -> None:
    assert matched({base: 100}, {head: 100}) == {base: (head, f"same but for {why}")}


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ("gemm_f32_64x64", "gemm_bf16_64x64"),
        ("gemm_bf16bf16_f32", "gemm_f16f16_f32"),
        ("fp8_e4m3_quant", "fp8_e5m2_quant"),
        ("conv1d_forward", "conv2d_forward"),
        ("gemm_nn", "gemm_nt"),
        ("add", "mul"),
        ("<", ">"),
    ],
)
def test_another_type_or_layout_is_another_kernel(base: str, head: str) -> None:
    assert matched({base: 100}, {head: 100}) == {}


def test_the_number_of_launches_tells_several_apart() -> None:
    vanished = {"gemm_64x64_nn": 100, "gemm_64x128_nn": 7}
    appeared = {"gemm_128x64_nn": 7, "gemm_256x64_nn": 103}
    why = "same but for tile sizes; of several the one with as many launches"
    assert matched(vanished, appeared) == {
        "gemm_64x64_nn": ("gemm_256x64_nn", why),
        "gemm_64x128_nn": ("gemm_128x64_nn", why),
    }


def partners(old: dict[str, int], fresh: dict[str, int]) -> set[tuple[str, str]]:
    """Return the pairs within 5 % of which neither has another partner, by trying all."""

    def like(base: str, head: str) -> bool:
        return 20 * max(old[base], fresh[head]) <= 21 * min(old[base], fresh[head])

    return {
        (base, head)
        for base in old
        for head in fresh
        if like(base, head)
        and sum(like(base, other) for other in fresh) == 1
        and sum(like(other, head) for other in old) == 1
    }


@pytest.mark.parametrize("seed", range(30))
def test_partners_are_those_that_trying_all_finds(seed: int) -> None:
    random = Random(seed)
    old = {f"gemm_{index}": random.randint(1, 400) for index in range(random.randint(2, 25))}
    fresh = {f"gemm_{100 + index}": random.randint(1, 400) for index in range(random.randint(2, 25))}
    found = renamed_kernels(old, fresh, lambda _: "gemm")
    assert {(pair.base, pair.head) for pair in found.renamed} == partners(old, fresh)


@pytest.mark.slow
def test_thousands_of_alike_names() -> None:
    old = {f"triton_poi_fused_{index}": 7 for index in range(20_000)}
    fresh = {f"triton_poi_fused_{50_000 + index}": 7 for index in range(20_000)}
    found = renamed_kernels(old, fresh, lambda _: "elementwise")
    assert (found.renamed, len(found.families[0].base)) == ((), 20_000)


def test_ambiguous_names_are_a_family() -> None:
    vanished, appeared = {"gemm_64x64": 10, "gemm_32x32": 10}, {"gemm_128x64": 10, "gemm_8x8": 10, "norm": 1}
    found = renamed_kernels(vanished, appeared, lambda _: "gemm")
    assert found.renamed == ()
    (family,) = found.families
    assert (family.name, family.base, family.head) == ("gemm_#", tuple(vanished), ("gemm_128x64", "gemm_8x8"))


def test_one_kernel_split_in_two_is_not_renamed() -> None:
    assert matched({"gemm_64x64": 100}, {"gemm_128x64": 60, "gemm_32x32": 40}) == {}


def test_categories_tell_apart_what_launches_cannot() -> None:
    kinds = {"k_1": "gemm", "k_2": "norm", "k_3": "norm", "k_4": "gemm"}
    found = renamed_kernels({"k_1": 5, "k_2": 5}, {"k_3": 5, "k_4": 5}, kinds.__getitem__)
    assert {(pair.base, pair.head) for pair in found.renamed} == {("k_1", "k_4"), ("k_2", "k_3")}


def test_other_tiles_with_far_more_launches_are_not_the_same() -> None:
    assert matched({"gemm_64x64": 100}, {"gemm_128x64": 201}) == {}
    assert matched({"gemm_64x64": 100}, {"gemm_128x64": 200}) != {}
    assert matched({"norm<float>": 100}, {"norm<half>": 1000}) != {}


def test_strict_matches_come_first() -> None:
    """The template twin is taken first, which leaves one candidate for the tiles."""
    found = matched({"gemm_64x64<a>": 5, "gemm_32x32": 5}, {"gemm_64x64<b>": 5, "gemm_8x8": 5})
    assert found == {
        "gemm_64x64<a>": ("gemm_64x64<b>", "same but for template arguments"),
        "gemm_32x32": ("gemm_8x8", "same but for tile sizes"),
    }


def test_calls_are_renamed_by_version_only() -> None:
    found = renamed_calls({"cudaGraphAddNode_v12020": 3, "cudaFree": 1}, {"cudaGraphAddNode_v13000": 9, "cudaFree2": 1})
    assert [(pair.base, pair.head) for pair in found.renamed] == [
        ("cudaGraphAddNode_v12020", "cudaGraphAddNode_v13000")
    ]


@pytest.mark.parametrize("text", ["<" * 200_000, "<(" * 100_000, "<" * 100_000 + ">" * 100_000, "1x" * 100_000 + "y"])
@pytest.mark.slow
def test_long_names_take_no_longer_than_their_length(text: str) -> None:
    assert matched({f"{text}a": 1}, {f"{text}b": 1}) in ({}, {f"{text}a": (f"{text}b", "same but for numbers")})


@pytest.mark.slow
def test_digits_and_versions_without_end() -> None:
    for text in ("1" * 200_000, "_v1" * 60_000 + "x", "_v" + "1_" * 100_000 + "x", "0a" * 100_000 + "g"):
        assert matched({f"{text}x_": 1}, {f"{text}y_": 1}) == {}


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ("sm90_xmma_gemm_bf16bf16_tn", "sm90_xmma_gemm_f16f16f32_tn"),
        ("gemm_S32", "gemm_S64"),
        ("k_F64", "k_F32"),
        ("castF32ToF16", "castF16ToF32"),
        ("cast_c64", "cast_c128"),
        ("quant_nf4", "quant_nf8"),
        ("mxfp8_k", "mxfp4_k"),
        ("pack_double2", "pack_double4"),
        ("atomicAddI32", "atomicAddI64"),
        ("k_dim2", "k_dim3"),
        ("gemmf32k", "gemmf16k"),
    ],
)
def test_kernels_of_other_types_are_other_kernels(base: str, head: str) -> None:
    """However a type is written, and though a run of types looks like a hash."""
    assert renamed_kernels({base: 10}, {head: 10}, lambda _: "gemm").renamed == ()


def test_arguments_that_differ_beside_a_version_are_told() -> None:
    (renamed,) = renamed_kernels({"k<int>": 10}, {"k_v2<float>": 10}, lambda _: "gemm").renamed
    assert renamed.why == "same but for version, and template arguments"


def test_names_of_absurd_length_are_not_looked_at() -> None:
    for length, matched in ((LONGEST, 1), (LONGEST + 1, 0)):
        names = ["a" * (length - 3) + version for version in ("_v1", "_v2")]
        found = renamed_calls({names[0]: 1}, {names[1]: 1})
        assert len(found.renamed) == matched
