"""Measurements of note 000: polar gates in place of RoPE."""

from statistics import mean

import torch
from torch import Tensor, nn

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.data import tales
from babygpt.encodings import Encoding, GatesLast, Polar, Quadrature, Rotary
from babygpt.encodings.polar import ALPHA
from babygpt.experiments.paired import compare, differences, exceeds
from babygpt.invariants.encodings import phase_gradient
from babygpt.metrics.texts import distinct, repeated_share
from babygpt.models.cache import KVCache
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import score_scale
from babygpt.models.versions import build
from babygpt.objectives import denoise
from babygpt.positions import Positions
from babygpt.sampling import by_confidence, fill_in
from babygpt.tables import format_measured
from babygpt_course.claims.claim import Finding, combine, decide, measured_on, negligible
from babygpt_course.claims.note_001 import HEAD_DIM, random_heads
from babygpt_course.studies.results import load_results

NOTE = "000_295e7101e184e601.txt"
LENGTH = 64
LETTERS = 12  # vocabulary of the small models, MASK among them
VECTORS = "random queries and keys of one head, 32 channels, 64 positions"
MODEL = "an untrained model of 2 layers and width 64 with random weights, 64 positions, every other one MASK"
TRAINED = "plain tales in windows of 64, 2 layers of width 96, 400 steps; models paired by seed"
ALPHA_CANCELS = "the norm after the gates divides α out"
PHASE_AS_FACTOR = "the phase is a factor beside the cosine, not a term inside it"


# ---------------------------------------------------------------- the gate


@measured_on(VECTORS)
@torch.inference_mode()
def position_is_kept() -> Finding:
    """Measure the change of the scores when every key moves by one position, as a share of their spread."""
    (q, k), encoding = random_heads(LENGTH, 256), Polar(HEAD_DIM)
    here, moved = (Positions(torch.arange(LENGTH) + s, masked=torch.zeros(LENGTH).bool()) for s in (0, 1))
    queries, keys = encoding.transform_qk(q, k, here)
    _, later = encoding.transform_qk(q, k, moved)
    change = float((queries @ (later - keys).mT).std() / (queries @ keys.mT).std())
    encodings = (encoding, Rotary(HEAD_DIM))
    gate, rope = (invariants.shift_invariant(e, head_dim=HEAD_DIM).value for e in encodings)
    reason = (
        f"Moving all keys by one position changes scores by {change:.0%} of their spread. But moving "
        f"query and key together also changes a score, by up to {gate:.1f} "
        f"(RoPE: {format_measured(rope)})."
    )
    return Finding(decide(change > 0.01), change, reason)


def bare_gate() -> GatesLast:
    """Return the note's gate without its norm; RoPE needs the same norm, so we count neither."""
    with torch.random.fork_rng(devices=[]):  # GatesLast draws random phases
        return GatesLast(HEAD_DIM)


def channel_dependence(encoding: Encoding) -> Tensor:
    """Return which channels of a query influence which gated channels: (gated channels, channels)."""
    positions = Positions(torch.tensor([5]), masked=torch.zeros(1, dtype=torch.bool))

    def gated(q: Tensor) -> Tensor:
        return encoding.transform_qk(q.view(1, 1, 1, -1), q.view(1, 1, 1, -1), positions)[0].flatten()

    q = torch.randn(HEAD_DIM, generator=torch.Generator().manual_seed(0))
    slopes: Tensor = torch.func.jacrev(gated)(q)
    return slopes != 0


def multiplications(encoding: Encoding) -> float:
    """Count the multiplications that a query, a key and their score take, for each channel of a head."""
    table = channel_dependence(encoding)
    return (2 * int(table.sum()) + len(table)) / HEAD_DIM


@measured_on("one query, one key and their score, 32 channels")
def simpler_than_rope() -> Finding:
    """Count the multiplications for each channel that the gate takes, minus those of RoPE."""
    gate, rope = map(multiplications, (bare_gate(), Rotary(HEAD_DIM)))
    reason = f"Query, key and score take {gate:.0f} multiplications per channel, and {rope:.0f} with RoPE."
    return Finding(decide(gate < rope), gate - rope, reason)


@measured_on("one query of 32 channels at position 5")
def needs_no_pairs() -> Finding:
    """Count the other channels that a channel of a gated query is mixed with."""
    tables = map(channel_dependence, (bare_gate(), Rotary(HEAD_DIM)))
    gate, rope = (float(table.sum(dim=1).float().mean()) - 1 for table in tables)
    reason = f"The gate mixes a channel with {gate:.0f} other channels, RoPE with {rope:.0f}."
    return Finding(decide(gate == 0), gate, reason)


def attention_to_masked(encoding: Encoding) -> float:
    """Return the mean share of attention on MASK in random texts, where every other token is MASK."""
    masked = torch.arange(LENGTH) % 2 == 0
    q, k = encoding.transform_qk(*random_heads(LENGTH, 256), Positions(torch.arange(LENGTH), masked=masked))
    scores = (q @ k.mT * score_scale(torch.empty(HEAD_DIM)))[:, 0].detach()
    return float(scores.softmax(dim=-1)[..., masked].sum(dim=-1).mean())


@measured_on(VECTORS + ", every other one MASK", ALPHA_CANCELS)
def mask_gets_less_attention() -> Finding:
    """Measure the change of the attention to MASK tokens when alpha falls from 1 to the note's."""
    written, keys = (
        [attention_to_masked(kind(HEAD_DIM, alpha)) for alpha in (1.0, ALPHA)] for kind in (Polar, Quadrature)
    )
    change = written[1] - written[0]
    reason = (
        f"The norm after the gates divides α out: MASK keeps {written[1]:.0%} of the attention. With α "
        f"on keys only and no norm after it, α = {ALPHA} lowers this from {keys[0]:.0%} to "
        f"{keys[1]:.0%}."
    )
    return Finding(decide(change < -0.01), change, reason)


# ---------------------------------------------------------------- the phase


def small_model(version: str, alpha: float = ALPHA, per_layer: bool = False) -> tuple[LanguageModel, Tensor]:
    """Return an untrained model with random weights and phase 0, and a text; both are equal in every call.

    per_layer  whether each of its two layers has a phase of its own
    """
    config = ModelConfig(LETTERS, LENGTH, n_layer=2, n_head=2, n_embd=2 * HEAD_DIM)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build(version, config, per_layer=per_layer, alpha=alpha)
        for name, p in model.named_parameters():
            if name.startswith("encoding."):
                nn.init.zeros_(p)
            else:
                nn.init.normal_(p, std=p.shape[-1] ** -0.5)
        idx = torch.randint(LETTERS - 1, (LENGTH,))
    return model, idx


@measured_on(MODEL, PHASE_AS_FACTOR)
def phase_is_learnable() -> Finding:
    """Measure the largest gradient of φ at its initial value 0, for one φ and for one in each layer."""
    (written, idx), (exact, _) = small_model("v7-polar"), small_model("v7-exact")
    own, _ = small_model("v7-polar", per_layer=True)
    layers = [f"layers.{i}.phi" for i in range(own.config.n_layer)]
    slope = max(phase_gradient(written, idx), *(phase_gradient(own, idx, name) for name in layers))
    reason = (
        "φ starts at 0, where cos φ is flat. So its gradient is 0 and it never changes, with one φ or "
        f"one in each of {len(layers)} layers. Inside the cosine its gradient is "
        f"{format_measured(phase_gradient(exact, idx), digits=1)}."
    )
    return Finding(decide(slope > 0), slope, reason)


def phase_errors(phi: float) -> tuple[Tensor, Tensor]:
    """Return the mean square errors of cos(iω) cos φ and of cos(iω) against cos(iω + φ): (D,) each."""
    frequency = 10_000 ** (-torch.arange(HEAD_DIM).double() / HEAD_DIM)
    wave, angle = torch.arange(LENGTH)[:, None] * frequency, torch.tensor(phi, dtype=torch.float64)
    product, exact = wave.cos() * angle.cos(), (wave + angle).cos()
    return (product - exact).square().mean(dim=0), (wave.cos() - exact).square().mean(dim=0)


@measured_on("the gates of one head, 32 channels, 64 positions", PHASE_AS_FACTOR)
def product_approximates_the_phase() -> Finding:
    """Measure the error of the note's product at φ = 0.3, as a share of the error of having no phase."""
    product, without = phase_errors(0.3)
    share = float((product.sum() / without.sum()).sqrt())
    fastest, slowest = (product / without).sqrt()[[0, -1]].tolist()
    reason = (
        f"At φ = 0.3 the product's error is {share:.0%} of the error without a phase. It is "
        f"{fastest:.0%} for the fastest wave and {slowest:.0%} for the slowest, which hardly moves "
        f"within {LENGTH} positions."
    )
    return Finding(decide(share < 0.5), share, reason)


# ---------------------------------------------------------------- writing, and after training


@measured_on("2,000 characters of English tales, and the same text in a cipher")
def metrics_are_not_readability() -> Finding:
    """Measure the change of distinct-2 and repeated 3-grams when every letter is exchanged for another."""
    text = tales.english().write(2_000, seed=0)
    letters = "".join(sorted({letter for letter in text if letter.isalpha()}))
    secret = text.translate(str.maketrans(letters, letters[1:] + letters[:1]))
    change = max(
        abs(distinct(text, 2) - distinct(secret, 2)), abs(repeated_share(text, 3) - repeated_share(secret, 3))
    )
    reason = f"A cipher turns “{text[:20].strip()}” into “{secret[:20].strip()}”. Both measures stay equal."
    return Finding(decide(change == 0 and secret != text), change, reason)


@measured_on(MODEL, ALPHA_CANCELS)
@torch.inference_mode()
def alpha_matters() -> Finding:
    """Measure the largest change of a logit between alpha 0.1 and 0.9, as a share of the logits' spread."""

    def change(version: str, low: float) -> float:
        logits = []
        for alpha in (low, 0.9):
            model, idx = small_model(version, alpha)
            holes = torch.where(torch.arange(LENGTH) % 2 == 0, LETTERS - 1, idx)
            logits.append(denoise(model, holes[None]))
        return float((logits[0] - logits[1]).abs().max() / logits[0].std())

    written, repaired, zero = change("v7-polar", 0.1), change("v7", 0.1), change("v7-polar", 0.0)
    reason = (
        "The norm divides α out: from 0.1 to 0.9 logits change by "
        f"{format_measured(written, digits=1)} of their spread. Only "
        f"values near 0 have an effect: from 0 to 0.9 logits change by {zero:.1f} times their spread. "
        f"After our repairs they change by {repaired:.2f} times their spread from 0.1 to 0.9."
    )
    return Finding(decide(written > 1e-3), written, reason)


class OneLetterModel(LanguageModel):
    """Model without errors of texts that repeat one letter, the first or the second of two."""

    causal = False

    def __init__(self, length: int) -> None:
        super().__init__(ModelConfig(3, length), Encoding())
        self.sure = nn.Parameter(torch.tensor(40.0))

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        occurs = torch.stack([(idx == letter).any(dim=1) for letter in range(3)], dim=-1)  # (B, 3)
        return (self.sure * occurs)[:, None].expand(*idx.shape, 3)


def inconsistent_share(threshold: float, length: int = 8, n: int = 1000) -> float:
    """Return the share of written texts that mix two letters, although the model knows that none does."""
    model, holes = OneLetterModel(length), torch.full((n, length), 2)
    draw = torch.Generator().manual_seed(0)
    tokens = fill_in(model, holes, by_confidence(threshold), generator=draw).tokens
    return float((tokens != tokens[:, :1]).any(dim=1).float().mean())


@measured_on("a model without errors, 1,000 texts that repeat one letter eight times")
def threshold_matters() -> Finding:
    """Measure the share of texts with mixed letters at threshold 0.5, minus the share at 0.95."""
    low, high = inconsistent_share(0.5), inconsistent_share(0.95)
    reason = (
        f"Each text must repeat one letter. At threshold 0.5, {low:.0%} of the texts mix two letters; "
        f"at 0.95, {high:.0%} do. Letters written in one step cannot depend on each other."
    )
    return Finding(decide(low - high > 0.1), low - high, reason)


@measured_on(TRAINED)
def as_written() -> Finding:
    """Measure the loss of trained gates on masked tokens, minus that of RoPE, in nats per character."""
    results = load_results("polar")
    gates, rope, nothing = (results["val_loss"][name] for name in ("v7-polar", "v7-rope", "v7-nope"))
    more = differences(gates, rope)
    gain = differences(nothing, gates)
    verdicts = negligible(more), exceeds(gain)
    reason = (
        f"The loss with gates minus that with RoPE is {compare(more):+.3f} nats per character after "
        f"{results['steps']} steps. Without position encoding the loss is higher than with gates, by "
        f"{compare(gain):+.3f}. “As low as RoPE” {verdicts[0]}, “lower than without position encoding” "
        f"{verdicts[1]}."
    )
    return Finding(combine(*verdicts), mean(more), reason, len(verdicts))
