"""The claims of note 001, Gaussian RoPE, each with the sentence that makes it."""

from __future__ import annotations

from babygpt_course.claims import gaussian_formula as formula
from babygpt_course.claims.base import Claim
from babygpt_course.claims.gaussian_code import CODE_CLAIMS
from babygpt_course.claims.gaussian_kernels import BUILT, NOTE, RANDOM, TWO_KERNELS
from babygpt_course.claims.gaussian_training import BALANCE_CLAIM, FAR_CLAIM, TRAINED_CLAIMS

CLAIMS: tuple[Claim, ...] = (
    Claim(
        NOTE,
        "RoPE keeps relative positions",
        formula.rope_is_relative,
        quote="RoPE 通过旋转嵌入方式保留了相对位置信息",
        translation="by embedding through rotation, RoPE keeps the information of relative positions",
        scope="random queries and keys",
    ),
    Claim(
        NOTE,
        "θ_j = 10000^(−2j/d)",
        formula.frequencies_are_right,
        quote="$\\theta_j = 10000^{-2j/d}$，用于控制旋转角度",
        translation="θ_j = 10000^(−2j/d), which controls the angle of rotation",
        scope="arithmetic",
    ),
    Claim(
        NOTE,
        "RoPE is fixed and cannot balance near and far",
        formula.rope_cannot_choose_its_scale,
        quote="这种固定的旋转变换可能在局部信息（例如短距离依赖）和全局信息（长距离依赖）之间无法做到良好的平衡",
        translation="this fixed rotation may not strike a good balance between the local and the global",
        reading="the rotation is fixed, and that holds; that a head can therefore not choose does not",
        scope=BUILT,
    ),
    Claim(
        NOTE,
        "RoPE's frequencies may be too coarse for near tokens",
        formula.rope_is_too_coarse,
        quote="而 RoPE 默认的旋转频率可能不足以应对",
        translation="(near dependencies ask for finer detail,) for which RoPE's usual frequencies may not do",
        scope=BUILT,
    ),
    FAR_CLAIM,
    Claim(
        NOTE,
        "K(m) controls the sensitivity at relative positions",
        formula.kernel_knows_the_distance,
        quote="这意味着高斯核控制 RoPE 在不同相对位置 $r$ 的感知能力",
        translation="this means that the kernel controls RoPE's perception at different relative positions r",
        reading=TWO_KERNELS,
        scope="random queries and keys",
    ),
    Claim(
        NOTE,
        "α₁ and α₂ weigh local against global",
        formula.weights_set_the_share,
        quote="分别控制不同尺度的权重，分别对应局部和全局信息的感知",
        translation="(α₁ and α₂) control the weights of the scales, one for local, one for global perception",
        reading=TWO_KERNELS,
        scope=RANDOM,
    ),
    Claim(
        NOTE,
        "σ₁ and σ₂ control how far the model looks",
        formula.widths_set_the_range,
        quote="控制局部和全局信息的感知范围",
        translation="(σ₁ and σ₂) control the range in which local and global information is perceived",
        reading=TWO_KERNELS,
        scope=RANDOM,
    ),
    Claim(
        NOTE,
        "K works by controlling the rotation's frequency",
        formula.kernel_changes_the_rotation,
        quote="高斯核通过控制 RoPE 的旋转频率，起到调整模型感知范围的作用",
        translation="by controlling RoPE's frequency, the kernel adjusts how far the model perceives",
        reading="the note says the opposite one section later, and that is a claim of its own",
        scope="the formula on 64 random vectors",
    ),
    Claim(
        NOTE,
        "where m is small, K strengthens the local",
        formula.early_queries_look_nearer,
        quote="当 $m$ 较小时，高斯核将加强局部信息的处理能力",
        translation="where m is small, the kernel strengthens the processing of local information",
        reading=TWO_KERNELS,
        scope=RANDOM,
    ),
    Claim(
        NOTE,
        "where m is large, K strengthens the global",
        formula.late_queries_see_more,
        quote="当 $m$ 较大时，高斯核将增强对全局信息的处理能力",
        translation="where m is large, the kernel strengthens the processing of global information",
        reading=TWO_KERNELS,
        scope=RANDOM,
    ),
    Claim(
        NOTE,
        "K scales from outside and leaves the frequency alone",
        formula.kernel_leaves_the_frequency,
        quote="而不是直接影响旋转频率本身",
        translation="(K adjusts the focus) and does not directly affect the rotation's frequency itself",
        reading="the note says the opposite one section before, and that is a claim of its own",
        scope="the formula on 64 random vectors",
    ),
    Claim(
        NOTE,
        "the two terms switch scales by themselves",
        formula.scales_switch,
        quote="进而让模型在不同的绝对位置下自动切换",
        translation="and so lets the model switch by itself at different absolute positions",
        reading="by the place, or distance, alone, which holds; or by what the text needs, which does not",
        scope=RANDOM,
    ),
    BALANCE_CLAIM,
    *CODE_CLAIMS,
    *TRAINED_CLAIMS,
)
