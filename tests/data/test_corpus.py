"""Corpora that are written, downloaded or read, and each failure of these."""

import hashlib
import json
import re
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO, TextIOWrapper
from pathlib import Path
from threading import Thread

import pooch
import pytest
import torch

from babygpt.data import corpus as corpora
from babygpt.data import tales
from babygpt.data.corpus import Corpus, as_text, from_text, load_corpus
from babygpt.data.tales import ENGLISH_NAMES
from babygpt.data.tokenizer import MASK
from babygpt.errors import BadInput
from babygpt.objectives import NextToken

ROOT = Path(__file__).resolve().parents[2]
SHAKESPEARE = ROOT.parent / "shared" / "data" / "tinyshakespeare.txt"
VARIABLE = "BABYGPT_SHAKESPEARE"
TEXTS = json.loads((ROOT / "tests" / "tables" / "texts.json").read_text(encoding="utf-8"))


def decoded(corpus: Corpus) -> str:
    return corpus.tokenizer.decode(torch.cat([corpus.train, corpus.val]))


@pytest.fixture(autouse=True)
def _nothing_cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ignore any copy or cache of this machine."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "cache" / project)


# ---------------------------------------------------------------- tales


@pytest.mark.parametrize("name", ["tales", "plain-tales", "tales-zh"])
def test_tales_have_the_wanted_size_and_their_grammars_floors(name: str) -> None:
    corpus = load_corpus(name, n_chars=50_000)
    assert 50_000 <= len(corpus.train) < 51_000
    assert len(corpus.val) == pytest.approx(50_000 / 9, rel=0.2)
    assert corpus.name == name
    assert corpus.floor == corpus.grammar.floor()
    assert corpus.bigram_floor == corpus.grammar.bigram_floor()
    assert corpus.tokenizer.characters == corpus.grammar.alphabet()
    masking = load_corpus(name, n_chars=1000, with_mask=True).tokenizer
    assert masking.vocab_size == corpus.tokenizer.vocab_size + 1 == masking.mask_id + 1


def test_plain_tales_tell_one_kind_of_fact_of_people_whose_names_end_alike() -> None:
    words = tales.plain().write(20_000, seed=1).replace(".", " ").replace("?", " ").split()
    assert {word[-2:] for word in words if word in ENGLISH_NAMES} == {"la", "ra"}
    assert not {word for thing in tales.english().words["thing"] for word in thing.split()} & set(words)


def test_validation_stories_are_new() -> None:
    corpus = load_corpus("tales", n_chars=300_000)
    train, val = (corpus.tokenizer.decode(part).split("\n")[:-1] for part in (corpus.train, corpus.val))
    train_stories = set(train)
    assert sum(story in train_stories for story in val) / len(val) < 0.05


def test_a_longer_text_begins_like_a_shorter_one_and_shares_its_vocabulary() -> None:
    """Make sure that a checkpoint trained on a short text fits a long one."""
    short, long = (load_corpus(n_chars=n) for n in (1000, 20_000))
    assert torch.equal(long.train[: len(short.train)], short.train)
    assert long.tokenizer.characters == short.tokenizer.characters


# ---------------------------------------------------------------- files


def test_a_file_is_split_nine_to_one_and_nothing_is_lost(tmp_path: Path) -> None:
    text = "我爱你，你爱我。\n" * 100 + "ünïcode\n"
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    corpus = load_corpus(str(path))
    assert decoded(corpus) == text
    assert len(corpus.train) == int(0.9 * len(text))
    assert (corpus.floor, corpus.bigram_floor, corpus.name) == (None, None, str(path))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbfab", "ab"),
        (b"\xef\xbb\xbf\xef\xbb\xbfab", "ab"),
        (b"\n" * 50, "\n" * 50),
        (b"x", "x"),
        ("\u2028\u0085\v\f".encode(), "\u2028\u0085\v\f"),
        (b"long " * 200_000, "long " * 200_000),
    ],
    ids=[
        "line ends",
        "byte order mark",
        "two of them",
        "only line ends",
        "one character",
        "rare breaks",
        "one line",
    ],
)
def test_a_strange_text_is_read_whole(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    assert decoded(load_corpus(str(path))) == text


WRONG_BYTES = [b"\xff\xfea\0", b"\xed\xa0\x80", b"ok\x80", bytes(range(256)), b"\xc0\xaf"]


@pytest.mark.parametrize("row", TEXTS, ids=lambda row: row["name"])
def test_bytes_become_a_text_or_are_refused(row):
    """Compare with a table that a test of the book's lab reads, too."""
    content = bytes.fromhex(row["bytes"])
    if "text" in row:
        assert as_text(content, "mine.txt") == row["text"]
    else:
        with pytest.raises(BadInput, match=f"mine.txt is not UTF-8 text: {row['says']}"):
            as_text(content, "mine.txt")


@pytest.mark.parametrize("code", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-16"])
def test_a_text_in_utf_16_is_refused_with_and_without_a_byte_order_mark(tmp_path: Path, code: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes("the cat sat on the mat\n".encode(code) * 9)
    with pytest.raises(BadInput, match=r"text\.txt is not UTF-8 text: (character \d is NUL|byte 0)"):
        load_corpus(str(path))


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    for name, text in (
        ("b.txt", "two\n"),
        ("a/z.txt", "one"),
        ("c.txt", ""),
        ("notes.md", "no"),
        ("d.txt", "三"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "folder.txt").mkdir()
    assert decoded(load_corpus(str(tmp_path))) == "one\ntwo\n三\n"
    (tmp_path / "d.txt").write_bytes(b"\xff")
    with pytest.raises(BadInput, match=r"d\.txt is not UTF-8 text: byte 0"):
        load_corpus(str(tmp_path))
    with pytest.raises(BadInput, match=r"no file in .*folder\.txt has a name that ends in \.txt"):
        load_corpus(str(tmp_path / "folder.txt"))


def test_files_that_programs_left_behind_are_no_part_of_a_corpus(tmp_path: Path) -> None:
    """Put JupyterLab's copies, an archive from a Mac and a hidden file beside a text in capitals."""
    for name, content in (
        ("a.TXT", b"one\n"),
        (".ipynb_checkpoints/a-checkpoint.txt", b"old\n"),
        ("deep/.ipynb_checkpoints/b-checkpoint.txt", b"old\n"),
        ("__MACOSX/._a.txt", b"\xff\0"),
        ("._a.txt", b"\xff\0"),
    ):
        (tmp_path / ".mine" / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / ".mine" / name).write_bytes(content)
    assert decoded(load_corpus(tmp_path / ".mine")) == "one\n"  # a hidden folder that was named is read


def test_a_path_may_begin_at_home_and_a_near_name_is_suggested(tmp_path, monkeypatch) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / "mine.txt").write_text("the cat", encoding="utf-8")
    assert decoded(load_corpus("~/mine.txt")) == "the cat"
    assert isinstance(load_corpus(tmp_path / "mine.txt").name, str)
    for name, says in (("Tales", "did you mean tales"), ("shakespear", "did you mean shakespeare")):
        with pytest.raises(BadInput, match=says):
            load_corpus(name)


def test_a_pipe_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for content, read in (("a\r\n我".encode(), "a\n我"), (b"x\xff", None)):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(content)))
        if read is not None:
            assert decoded(load_corpus("-")) == read
            continue
        with pytest.raises(BadInput, match="standard input is not UTF-8 text: byte 1"):
            load_corpus("-")


def test_a_text_is_read_with_another_tokenizer_if_that_knows_its_characters() -> None:
    wide = from_text("wide", "abcdef" * 9)
    again = from_text("narrow", "bed" * 9).encoded_by(wide.tokenizer)
    assert decoded(again) == "bed" * 9
    assert again.tokenizer is wide.tokenizer
    with pytest.raises(BadInput, match="character 'b' at position 0"):
        from_text("narrow", "bed" * 9).encoded_by(from_text("other", "ed" * 9).tokenizer)


def test_files_without_text_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "text.txt"
    for content in WRONG_BYTES:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"text\.txt is not UTF-8 text: byte"):
            load_corpus(str(path))
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))}.* empty"):
        load_corpus(str(path))
    for name in (str(tmp_path / "nowhere.txt"), "a" * 5000, "\0", "no/" * 100, ""):
        with pytest.raises(
            ValueError, match=r"cannot be read|(no file at|is empty).* plain-tales, tales-zh, recall"
        ):
            load_corpus(name)

    def denied(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(ValueError, match=r"text\.txt cannot be read: Permission denied"):
        load_corpus(str(path))


def test_lengths_and_texts_that_do_not_fit_are_refused() -> None:
    for n_chars in (0, -1):
        with pytest.raises(ValueError, match=str(n_chars)):
            load_corpus("tales", n_chars=n_chars)
    for length in (1, 64, 70, 600):  # At 600 only the validation part is too short.
        with pytest.raises(
            ValueError,
            match=r"block_size \(64\) needs 65 tokens, and the .* part of short has",
        ):
            NextToken(from_text("short", "ab" * (length // 2) + "a"), block_size=64)
    with pytest.raises(ValueError, match=f"{MASK}.* another character"):
        from_text("own", f"ab{MASK}" * 9, with_mask=True)
    assert from_text("own", f"ab{MASK}" * 9).tokenizer.vocab_size == 3


# ---------------------------------------------------------------- shakespeare


def test_a_failed_connection_names_both_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try the real download on a machine that cannot connect."""

    def unreachable(*args: object, **kwargs: object) -> None:
        raise OSError("Network is unreachable")

    monkeypatch.setattr(socket, "getaddrinfo", unreachable)
    monkeypatch.setattr(socket.socket, "connect", unreachable)
    with pytest.raises(ValueError, match="could not be downloaded") as caught:
        load_corpus("shakespeare")
    assert VARIABLE in str(caught.value)
    assert "tales" in str(caught.value)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict]:
    """Serve a text on this machine in place of the real server, and count the requests."""
    state: dict = {"sends": b"to be or not to be\n" * 20, "times": 0, "promises": None, "status": 200}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state["times"] += 1
            self.send_response(state["status"])
            if state["promises"]:
                self.send_header("Content-Length", str(state["promises"]))
            self.end_headers()
            self.wfile.write(state["sends"])

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(corpora, "SHAKESPEARE_URL", f"http://127.0.0.1:{http.server_port}/x")
        digest = hashlib.sha256(state["sends"]).hexdigest()
        monkeypatch.setattr(corpora, "SHAKESPEARE_SHA256", digest)
        yield state
        http.shutdown()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        *(({"sends": wrong}, "Tiny Shakespeare") for wrong in (b"longer", b"", b"\0")),
        ({"promises": 10_000}, "Tiny Shakespeare"),
        ({"status": 404}, "could not be downloaded"),
    ],
)
def test_a_broken_download_is_refused_and_not_stored(server: dict, tmp_path: Path, fault: dict, message: str):
    healthy = dict(server)
    server.update(fault)
    for times in (1, 2):
        with pytest.raises(ValueError, match=message):
            load_corpus("shakespeare")
        assert server["times"] == times
        assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []
    server.update(healthy)
    assert decoded(load_corpus("shakespeare")) == healthy["sends"].decode()


def test_a_download_happens_once_and_a_damaged_one_is_fetched_again(server: dict, tmp_path: Path) -> None:
    first, second = (decoded(load_corpus("shakespeare")) for _ in range(2))
    assert first == second == server["sends"].decode()
    assert server["times"] == 1
    (cached,) = (tmp_path / "cache").rglob("tinyshakespeare.txt")
    cached.write_bytes(b"rot")
    assert decoded(load_corpus("shakespeare")) == first
    assert server["times"] == 2


def test_a_local_copy_is_used_without_the_network_if_its_checksum_is_right(
    server: dict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_bytes(server["sends"])
    monkeypatch.setenv(VARIABLE, str(copy))
    assert decoded(load_corpus("shakespeare")) == server["sends"].decode()
    copy.write_text("to be or not to be")
    digest = hashlib.sha256(copy.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match=rf"{re.escape(str(copy))} has SHA-256 {digest}, not"):
        load_corpus("shakespeare")
    copy.unlink()
    with pytest.raises(ValueError, match=rf"{VARIABLE} \(.*copy\.txt\) must be the path of a file"):
        load_corpus("shakespeare")
    assert server["times"] == 0


@pytest.mark.skipif(not SHAKESPEARE.is_file(), reason="no local copy of Tiny Shakespeare")
def test_the_real_text_has_65_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(SHAKESPEARE))
    corpus = load_corpus("shakespeare")
    sizes = corpus.tokenizer.vocab_size, len(corpus.train), len(corpus.val)
    assert sizes == (65, 1_003_854, 111_540)
    assert decoded(corpus).startswith("First Citizen:")
