"""The claims of note 000: Polar gates in place of RoPE."""

from __future__ import annotations

from functools import partial

from babygpt_course.claims import polar_findings as found
from babygpt_course.claims.base import Claim

NOTE = "000_295e7101e184e601.txt"

VECTORS = "random queries and keys of one head, 32 channels, 64 positions"
GATES = "the gates of one head, 32 channels, 64 positions"
MODEL = "an untrained model of 2 layers and width 64 with random weights, 64 positions, every other one MASK"
TRAINED = "plain tales in windows of 64, 2 layers of width 96, 400 steps from 3 seeds"

ALPHA_CANCELS = "the norm that follows divides α out again"
PHASE_AS_FACTOR = "the phase is a factor beside the cosine and not a term inside it"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        NOTE,
        "gates keep scores dependent on position",
        found.position_is_kept,
        "保留位置相关性，但降低实现复杂度",
        "keep the dependence on position, but make the implementation less complex",
        "dependent on position at all, or on the distance alone, as in RoPE: the first is asked",
        VECTORS,
    ),
    Claim(
        NOTE,
        "they are simpler than RoPE",
        found.simpler_than_rope,
        "保留位置相关性，但降低实现复杂度",
        "keep the dependence on position, but make the implementation less complex",
        "simple to write, or to compute: multiplications are counted, of the gate as written and repaired",
        "one query, one key and their score, 32 channels",
    ),
    Claim(
        NOTE,
        "they act on each dimension by itself and need no pairs",
        found.needs_no_pairs,
        "Polar gate 是按维度缩放调制（不要求维度配对）",
        "the Polar gate scales each dimension by itself (no pairs of dimensions are needed)",
        scope="one query of 32 channels at position 5",
    ),
    Claim(
        NOTE,
        "the gates have the shapes (1, L, 1, D) and (B, T, 1, 1)",
        found.shapes_fit,
        "运行时截断到当前序列长度 `T` 后广播到 `(B, T, H, D)`",
        "at run time cut to the present length T of the sequence, and broadcast to (B, T, H, D)",
        scope="2 texts of 64 positions, 3 heads of 32 channels, L = 128",
    ),
    Claim(
        NOTE,
        "α lowers the attention to MASK tokens, under control",
        found.mask_gets_less_attention,
        "引入 MASK 状态门控，让被遮蔽位置在注意力中可控降权",
        "bring in a gate for the state MASK, so that masked positions weigh less in attention, under control",
        "α = 0.3, the note's, against 1; α = 0, which no norm can bring back, is not asked",
        VECTORS + ", every other one MASK",
        ALPHA_CANCELS,
    ),
    Claim(
        NOTE,
        "φ is a phase that is learned",
        found.phase_is_learnable,
        "Polar 版本额外引入 `phi`，用于学习维度级相位偏置（当前实现为近似形式）",
        "the Polar version has phi besides, to learn a phase for each dimension (at present approximately)",
        "one φ for the whole model, or one in each layer's attention (section 4.3): both are asked",
        MODEL,
        PHASE_AS_FACTOR,
    ),
    Claim(
        NOTE,
        "cos(iω) cos(φ) approximates a phase",
        found.product_approximates_the_phase,
        "每个 `head_dim` 一组可学习参数 `phi_k`，当前实现采用低成本近似",
        "one set of learnable parameters phi_k for each head_dim; at present by a cheap approximation",
        "nearer to cos(iω + φ) than no phase at all, by half its error: at φ = 0.3",
        GATES,
        PHASE_AS_FACTOR,
    ),
    Claim(
        NOTE,
        "it is not strictly cos(iω + φ)",
        found.product_is_not_strict,
        "`phi` 当前是近似门控 `cos(phase)*cos(phi)`，不是严格的 `cos(phase+phi)`",
        "phi is at present an approximate gate cos(phase)*cos(phi), not strictly cos(phase+phi)",
        "at φ = 0.3, and not at φ = 0, where training leaves it",
        GATES,
    ),
    Claim(
        NOTE,
        "distinct-2 and repeated 3-grams do not tell how readable a text is",
        found.metrics_are_not_readability,
        "自动指标（如 `distinct_2`、`repeat_3gram`）不能完全代表可读性",
        "automatic measures (such as distinct_2, repeat_3gram) cannot wholly stand for readability",
        scope="2,000 characters of English tales, beside the same in a cipher",
    ),
    Claim(
        NOTE,
        "α matters much to what is written",
        found.alpha_matters,
        "`mask_gate_alpha`、`confidence_threshold` 对生成稳定性影响较大，建议做小网格调参",
        "mask_gate_alpha and confidence_threshold matter much to the stability of what is generated; "
        "tuning them over a small grid is advised",
        "asked of the logits, from which everything is written, for α from 0.1 to 0.9",
        MODEL,
        ALPHA_CANCELS,
    ),
    Claim(
        NOTE,
        "the threshold matters much to what is written",
        found.threshold_matters,
        "`mask_gate_alpha`、`confidence_threshold` 对生成稳定性影响较大，建议做小网格调参",
        "mask_gate_alpha and confidence_threshold matter much to the stability of what is generated; "
        "tuning them over a small grid is advised",
        "stable: what appears in one step does not contradict itself",
        "a model without errors, 1,000 texts of eight letters that must be alike",
    ),
    Claim(
        NOTE,
        "gates are an alternative to RoPE (as written)",
        partial(found.replaces_rope, "v7-polar"),
        "形成一种轻量、可学习、可控的替代 RoPE 方案",
        "a light, learnable, controllable scheme in place of RoPE",
        "no worse than RoPE, or only better than no code: if it is no worse it holds, if better than no "
        "code it depends on what is asked for",
        TRAINED,
    ),
    Claim(
        NOTE,
        "gates are an alternative to RoPE (repaired)",
        partial(found.replaces_rope, "v7"),
        "形成一种轻量、可学习、可控的替代 RoPE 方案",
        "a light, learnable, controllable scheme in place of RoPE",
        "the same, asked of the gates with all six repairs, which are no longer the note's",
        TRAINED,
    ),
)
