"""One encoding for each layer: its effect in the body, building and steering it."""

import pytest
import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Encoding, Fourier, LearnedPositions, Rotary, Sinusoidal
from babygpt.encodings.layers import PerLayer, rope_and_none
from babygpt.errors import BadInput
from babygpt.models.transformer import Transformer, norm, score_scale
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt.training.loop import snapshot

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=3, n_head=2, n_embd=16)
MIXED = {"layers": ("v4", "nope", "alibi")}


def by_hand(model: Transformer, idx: torch.Tensor) -> torch.Tensor:
    """Compute the logits of one text, layer after layer: (T,) -> (T, V)."""
    positions = Positions.arange(len(idx))
    hidden = torch.full((len(idx), len(idx)), -torch.inf).triu(1)
    x = norm(model.token_embedding(idx[None]))
    for block, encoding in zip(model.blocks, model.encoding.layers, strict=True):
        layer, read = block.attention, norm(x)
        q, k, v = (
            m(read).unflatten(-1, (2, -1)).transpose(1, 2) for m in (layer.to_q, layer.to_k, layer.to_v)
        )
        q, k = encoding.transform_qk(norm(q), norm(k), positions)
        bias = encoding.score_bias(positions, positions)
        scores = q @ k.mT * score_scale(v) + hidden + (0.0 if bias is None else bias)
        x = x + layer.out((scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2))
        x = x + block.mlp.out(F.relu(block.mlp.up(norm(x))) ** 2)
    return model.head(norm(x))[0]


@pytest.mark.parametrize(("version", "options"), [("v4", MIXED), ("v5", {"per_layer": True})])
def test_each_layer_uses_its_own_encoding(awake, text, version, options):
    model, idx = awake(version, options, n_layer=3), text(12)
    if version == "v5":
        for i, encoding in enumerate(model.encoding.layers):
            encoding.steer("sigma1", 1.0 + 3 * i)
    assert torch.allclose(model(idx[None])[0], by_hand(model, idx), atol=1e-5)


@pytest.mark.parametrize("version", ["v4", "v5", "pope", "v7-polar", "v6-rope2d"])
def test_equal_encodings_act_like_one(awake, text, one_text, version):
    single, several = awake(version, n_layer=3), awake(version, {"per_layer": True}, n_layer=3)
    body = {name: p for name, p in single.state_dict().items() if not name.startswith("encoding.")}
    several.load_state_dict(body, strict=False)
    for encoding in several.encoding.layers:
        encoding.load_state_dict(single.encoding.state_dict())
    idx, positions = text(2, 10), one_text(version, 10)
    assert torch.equal(several(idx, positions), single(idx, positions))


def test_each_encoding_computes_its_bias_once(text):
    calls = []

    class Counting(ALiBi):
        def score_bias(self, queries, keys):
            calls.append(self)
            return super().score_bias(queries, keys)

    shared, unshared = Counting(2), Counting(2)
    Transformer(CONFIG, shared)(text(1, 5))
    Transformer(CONFIG, PerLayer([shared, unshared, shared]))(text(1, 5))
    assert calls == [shared, shared, unshared]


def test_each_layers_phase_is_trained(awake, text):
    """Give each layer a phi of its own, as note 000 does."""
    model = awake("v7-exact", {"per_layer": True}, n_layer=3)
    positions = Positions(torch.arange(9), masked=torch.arange(9)[None] % 3 == 1)
    model(text(1, 9), positions).square().mean().backward()
    gradients = [layer.phi.grad for layer in model.encoding.layers]
    assert all(g.abs().max() > 0 for g in gradients)
    assert not torch.equal(gradients[0], gradients[1])
    assert list(snapshot(model)) == ["layers.0.phi", "layers.1.phi", "layers.2.phi"]


def test_steering_sets_every_layer_that_has_the_number():
    encoding = build("v5", CONFIG, layers=("v5", "nope", "v4"), sigmas=(2.0, 9.0)).encoding
    assert (encoding.sigma2, encoding.theta) == pytest.approx((9.0, 10_000.0))
    assert {"theta", "sigma1", "alpha2"} <= set(encoding.steerable())
    encoding.steer("theta", 50.0)
    assert [getattr(layer, "theta", None) for layer in encoding.layers] == [50.0, None, 50.0]
    for name, value in (("stride", 2), ("sigma1", 0)):
        with pytest.raises(BadInput, match=name):
            encoding.steer(name, value)


def test_the_first_layer_adds_to_the_embeddings_for_all(awake, text):
    single, several = awake("v3", n_layer=3), awake("v3", {"layers": ("v3", "nope", "nope")}, n_layer=3)
    several.load_state_dict(single.state_dict())
    assert torch.equal(several(text(2, 9)), single(text(2, 9)))
    table = build("learned", CONFIG, layers=("learned", "v4", "nope"))
    assert table.encoding.max_positions == 16
    with pytest.raises(ValueError, match="position 16 "):
        table(text(1, 17))
    for late in (Sinusoidal(16), LearnedPositions(16, 16), Fourier(8, 16)):
        with pytest.raises(ValueError, match=f"layer 1 has {type(late).__name__}, which adds"):
            PerLayer([Encoding(), late])


def test_layers_that_do_not_fit_the_model_are_refused():
    for layers, says in (
        (("v4",), "1 encodings; n_layer is 3"),
        *(
            (("v4", name, "v4"), f"{name} is no encoding for a layer of v4")
            for name in ("v2", "v7", "v6-none", "v99")
        ),
        (("v4", "v4-nope", "v4"), "v4-nope has an encoding for each layer already"),
    ):
        with pytest.raises(BadInput, match=says):
            build("v4", CONFIG, layers=layers)
    with pytest.raises(BadInput, match="v1 has no layers"):
        build("v1", CONFIG, per_layer=True)
    with pytest.raises(TypeError, match="no layer's encoding takes sigmas"):
        build("v4", CONFIG, per_layer=True, sigmas=(1.0, 2.0))


def test_every_fourth_layer_or_else_the_last_has_no_encoding(awake, text) -> None:
    cases = [(8, 4, [4, 8]), (4, 2, [2, 4]), (3, 1, [1, 2, 3]), (5, 4, [4]), (2, 4, [2]), (1, 4, [1])]
    for n_layer, every, without in cases:
        kinds = [type(encoding) for encoding in rope_and_none(8, n_layer, every, theta=50.0).all()]
        assert [i for i, kind in enumerate(kinds, start=1) if kind is Encoding] == without
        assert set(kinds) <= {Encoding, Rotary}
    model, twin = awake("v4-nope", n_layer=4), awake("v4", {"layers": ("v4", "v4", "v4", "nope")}, n_layer=4)
    twin.load_state_dict(model.state_dict())
    assert torch.equal(model(text(2, 30)), twin(text(2, 30)))


@pytest.mark.parametrize("name", ["to_q", "to_k", "to_v"])
def test_a_hook_that_would_never_run_is_refused(awake, text, name: str) -> None:
    """Expect a refusal: attention multiplies by the three matrices at once."""
    model = awake("v4")
    hook = getattr(model.blocks[0].attention, name).register_forward_hook(lambda *_: None)
    with pytest.raises(BadInput, match="give the hook to the Attention"):
        model(text(4)[None])
    hook.remove()
    model(text(4)[None])


class Doubled(torch.nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


@pytest.mark.parametrize("name", ["to_q", "to_k", "to_v"])
def test_a_layer_whose_own_product_would_be_skipped_is_refused(awake, text, name: str) -> None:
    model = awake("v4")
    setattr(model.blocks[0].attention, name, Doubled(32, 32, bias=False))
    with pytest.raises(BadInput, match="matrices alone, and one is a Doubled"):
        model(text(4)[None])
