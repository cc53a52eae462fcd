"""Small GPT in one file: it reads a text, learns to predict the next character, and writes.

Read the file from top to bottom: text, model, training, writing. It needs nothing but PyTorch. The model is
v4 of this course, a Transformer with rotary position encoding (RoPE).

    python babygpt/minimal.py            trains on short stories, which this file writes
    python babygpt/minimal.py text.txt   trains on your own text

Letters in shapes: B windows in a batch, T tokens in a window, C channels of a token, H heads, and D = C / H
channels of a head.
"""

import argparse
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Config:
    """Shape of the model, and plan of its training."""

    block_size: int = 64  # tokens in a window, which is all that the model reads at once
    n_layer: int = 2  # blocks
    n_head: int = 4  # attention heads of each block
    n_embd: int = 64  # channels of a token; RoPE needs an even number of them in each head
    theta: float = 10_000.0  # base of RoPE's frequencies
    steps: int = 600  # updates of the weights
    batch_size: int = 12  # windows in a batch
    lr_matrix: float = 0.03  # peak learning rate of Muon
    lr_other: float = 0.02  # peak learning rate of AdamW
    warmup: int = 10  # steps until the peak
    eval_every: int = 50  # steps from one validation loss to the next
    seed: int = 1337


# ---------------------------------------------------------------- text: characters become numbers

NAMES = "ada ben cleo dan eva finn gus hana ida jon kim lea".split()
VERBS = "called carried chased found freed helped hugged met paid saved thanked told".split()
PLACES = "at noon, at sea, by bus, by night, in bed, in may, in snow, on foot, on ice, up north".split(", ")


def write_stories(n_stories: int = 5_000, seed: int = 0) -> str:
    """Write stories of one line each, in which only the order of the names shows who did what to whom."""
    draw, stories = random.Random(seed), []
    for _ in range(n_stories):
        doer, receiver = draw.sample(NAMES, 2)
        verb, place = draw.choice(VERBS), draw.choice(PLACES)
        question = draw.choice([f"who {verb}? {doer}.", f"{verb} whom? {receiver}."])
        stories.append(f"{place} {doer} {verb} {receiver}. {question}\n")
    return "".join(stories)


class CharTokenizer:
    """One token for each character that occurs in a text."""

    def __init__(self, text: str) -> None:
        self.characters = sorted(set(text))
        self.ids = {char: i for i, char in enumerate(self.characters)}

    def encode(self, text: str) -> Tensor:
        """Return the token ids of a text: (T,)."""
        return torch.tensor([self.ids[char] for char in text])

    def decode(self, ids: Tensor) -> str:
        """Return the text of token ids (T,)."""
        return "".join(self.characters[i] for i in ids.tolist())


def draw_batch(ids: Tensor, config: Config, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Cut windows from a text at random. The target of each token is the token after it.

    ids        (N,)  token ids of the text, N above block_size
    generator  source of randomness
    returns    (B, T) inputs and (B, T) targets
    """
    starts = torch.randint(len(ids) - config.block_size, (config.batch_size,), generator=generator)
    windows = ids[starts[:, None] + torch.arange(config.block_size + 1)]  # (B, T + 1)
    return windows[:, :-1], windows[:, 1:]


# ---------------------------------------------------------------- model: tokens become predictions


def norm(x: Tensor) -> Tensor:
    """Scale each vector to a root mean square of 1, so that every layer gets inputs of one size."""
    return F.rms_norm(x, (x.shape[-1],))


def rotate(x: Tensor, position: Tensor, theta: float) -> Tensor:
    """Rotate feature pair i of x, channels 2i and 2i + 1, by position * theta^(-2i/D): RoPE.

    Attention compares queries and keys by their dot products, and these do not depend on where the tokens
    are. If we rotate the query at m and the key at n, their dot product depends on the distance m - n too.

    x         (B, H, T, D)  queries or keys, D even
    position  (T,)          in tokens
    returns   (B, H, T, D)
    Source: Su et al. 2021, arXiv:2104.09864, eq. 34.
    """
    D = x.shape[-1]
    frequency = theta ** (-torch.arange(0, D, 2) / D)  # (D / 2,) radians per token, from fast to slow
    angle = position[:, None] * frequency  # (T, D / 2)
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., 0::2], x[..., 1::2]  # (B, H, T, D / 2)
    pairs = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)  # (B, H, T, D / 2, 2)
    return pairs.flatten(-2)  # (B, H, T, D)


class Attention(nn.Module):
    """Multi-head attention: each token reads a mix of the values of the tokens before it, and of its own."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        C = config.n_embd
        self.n_head, self.theta = config.n_head, config.theta
        self.to_q = nn.Linear(C, C, bias=False)  # query: which tokens this token looks for
        self.to_k = nn.Linear(C, C, bias=False)  # key: describes this token to those that look
        self.to_v = nn.Linear(C, C, bias=False)  # value: what they read from it
        self.out = nn.Linear(C, C, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.shape
        q, k, v = (
            project(x).view(B, T, self.n_head, -1).transpose(1, 2)  # (B, H, T, D)
            for project in (self.to_q, self.to_k, self.to_v)
        )
        position = torch.arange(T)
        q, k = rotate(norm(q), position, self.theta), rotate(norm(k), position, self.theta)
        # Plain attention divides by sqrt(D). After norm, longer queries and keys cannot make the scores
        # larger, so we double them: otherwise no head could attend to one token alone.
        scores = 2 * q @ k.mT / v.shape[-1] ** 0.5  # (B, H, T, T), a row for each query
        later = torch.ones(T, T, dtype=torch.bool).triu(diagonal=1)  # a token must not see its own target
        weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)  # each row sums to 1
        y = weights @ v  # (B, H, T, D)
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class MLP(nn.Module):
    """Two matrices with ReLU squared between them, which change each token by itself."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.up = nn.Linear(config.n_embd, 4 * config.n_embd, bias=False)
        self.out = nn.Linear(4 * config.n_embd, config.n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.relu(self.up(x)).square())


class Block(nn.Module):
    """Attention, then MLP. Each adds to its input, so nothing that earlier blocks computed is lost."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.mlp = MLP(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(norm(x))
        return x + self.mlp(norm(x))  # (B, T, C)


class GPT(nn.Module):
    """Token embedding, blocks, head."""

    def __init__(self, vocab_size: int, config: Config) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(vocab_size, config.n_embd)
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config.n_layer)))
        self.head = nn.Linear(config.n_embd, vocab_size, bias=False)
        for name, weight in self.named_parameters():
            if name.endswith(("out.weight", "head.weight")):
                nn.init.zeros_(weight)  # at first blocks change nothing, and all tokens are equally likely

    def forward(self, idx: Tensor) -> Tensor:
        """Return the logits of the token after each token: (B, T) -> (B, T, vocab_size)."""
        x = norm(self.token_embedding(idx))  # (B, T, C)
        return self.head(norm(self.blocks(x)))


# ---------------------------------------------------------------- training: the loss falls


def batch_loss(model: GPT, ids: Tensor, config: Config, generator: torch.Generator) -> Tensor:
    """Return the mean of -ln p(target) over the tokens of a random batch, in nats."""
    inputs, targets = draw_batch(ids, config, generator)
    return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())


@torch.no_grad()
def validate(model: GPT, ids: Tensor, config: Config, n_batches: int = 20) -> float:
    """Return the mean loss on validation text, in nats per token."""
    generator = torch.Generator().manual_seed(config.seed)  # draws the same windows in every call
    return sum(batch_loss(model, ids, config, generator).item() for _ in range(n_batches)) / n_batches


def schedule(step: int, config: Config) -> float:
    """Return the share of the peak learning rate at a step counted from 0: linear up, then linear down.

    The first steps are small because the model is still random, and its gradients change quickly. The last
    steps are small because every batch is a little different: large steps would follow the differences.
    """
    return min(1.0, (step + 1) / config.warmup) * (1.0 - step / config.steps)


def train(model: GPT, train_ids: Tensor, val_ids: Tensor, config: Config) -> list[float]:
    """Train a model in place, print losses on the way, and return the training loss of every step.

    Muon moves a matrix equally far in all its directions, which suits the matrices of the blocks: they map
    vectors to vectors. Embedding and head hold a vector for each token. AdamW trains them, and gives each
    number a step size of its own.
    Source: Jordan et al. 2024, Muon; Loshchilov and Hutter 2019, arXiv:1711.05101.
    """
    muon = torch.optim.Muon(model.blocks.parameters(), lr=config.lr_matrix, weight_decay=0.0)
    token_vectors = [*model.token_embedding.parameters(), *model.head.parameters()]
    # By default AdamW averages squared gradients over 1,000 steps, but our runs are shorter: 0.95 means 20.
    adamw = torch.optim.AdamW(token_vectors, lr=config.lr_other, betas=(0.9, 0.95), weight_decay=0.0)
    generator, losses = torch.Generator().manual_seed(config.seed), []

    for step in range(config.steps):
        for optimizer, peak in ((muon, config.lr_matrix), (adamw, config.lr_other)):
            optimizer.param_groups[0]["lr"] = peak * schedule(step, config)
        loss = batch_loss(model, train_ids, config, generator)
        loss.backward()
        for optimizer in (muon, adamw):
            optimizer.step()
            optimizer.zero_grad()  # `backward` would add the next gradients to these
        losses.append(loss.item())
        if (step + 1) % config.eval_every == 0 or step + 1 == config.steps:
            val_loss = validate(model, val_ids, config)
            print(f"step {step + 1:4}: loss {losses[-1]:.3f}, validation loss {val_loss:.3f}", flush=True)
    return losses


# ---------------------------------------------------------------- writing: one token after another


@torch.no_grad()
def generate(model: GPT, idx: Tensor, n_tokens: int, config: Config) -> Tensor:
    """Continue texts token by token. Each new token is drawn at random, with the model's probabilities.

    idx      (B, T)  token ids with which the texts begin, T at least 1
    returns  (B, T + n_tokens)
    """
    for _ in range(n_tokens):
        window = idx[:, -config.block_size :]  # the model was not trained on longer ones
        logits = model(window)[:, -1]  # (B, vocab_size), of the token after the last
        token = torch.multinomial(logits.softmax(dim=-1), num_samples=1)  # (B, 1)
        idx = torch.cat([idx, token], dim=1)
    return idx


def read_training_text(path: Path, n_chars: int) -> str:
    """Return the text of a UTF-8 file, or exit with one line if it cannot be read or is below n_chars."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{path} cannot be read ({error}): give the path of a UTF-8 text file")
    if len(text) < n_chars:
        sys.exit(f"{path} has {len(text)} characters: at least {n_chars} are needed, and 100,000 are better")
    return text


def main() -> None:
    """Train a model on a file or on stories, and print a sample."""
    parser = argparse.ArgumentParser(description="Train a small GPT on a text, and print what it writes.")
    parser.add_argument("file", nargs="?", type=Path, help="UTF-8 text file; by default, short stories")
    parser.add_argument("--steps", type=int, default=Config.steps, help="training steps (%(default)s)")
    args = parser.parse_args()
    if args.steps < 1:
        sys.exit(f"--steps ({args.steps}) must be at least 1")
    config = Config(steps=args.steps)
    torch.manual_seed(config.seed)  # decides the first weights, and the tokens that are drawn
    torch.set_num_threads(1)  # on a busy computer, several threads wait for each other most of the time

    fewest = 10 * (config.block_size + 1)  # then the last tenth, for validation, has a window and its targets
    text = read_training_text(args.file, fewest) if args.file else write_stories()
    tokenizer = CharTokenizer(text)
    ids = tokenizer.encode(text)  # (N,)
    n_val = len(ids) // 10
    model = GPT(len(tokenizer.characters), config)
    n_weights = sum(weight.numel() for weight in model.parameters())
    print(f"{len(ids)} characters, {len(tokenizer.characters)} of them different; {n_weights} weights")
    train(model, ids[:-n_val], ids[-n_val:], config)

    prompt = "\n" if "\n" in tokenizer.ids else text[0]  # a line end, after which something new begins
    written = generate(model, tokenizer.encode(prompt)[None], 400, config)
    print(tokenizer.decode(written[0]))


if __name__ == "__main__":
    main()
