"""Corpora: made, fetched once, or read; and each way in which that can fail."""

import hashlib
import re
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import torch

from babygpt.data import corpus as corpora
from babygpt.data.corpus import Corpus, from_text, load_corpus
from babygpt.data.tokenizer import MASK
from babygpt.objectives import NextToken

ROOT = Path(__file__).resolve().parents[2]
SHAKESPEARE = ROOT.parent / "shared" / "data" / "tinyshakespeare.txt"
VARIABLE = "BABYGPT_SHAKESPEARE"


def decoded(corpus: Corpus) -> str:
    return corpus.tokenizer.decode(torch.cat([corpus.train, corpus.val]))


@pytest.fixture(autouse=True)
def _nothing_cached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither a copy nor a cache of this machine plays a part."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(corpora.pooch, "os_cache", lambda project: tmp_path / "cache" / project)


# ---------------------------------------------------------------- tales


@pytest.mark.parametrize("name", ["tales", "plain-tales", "tales-zh"])
def test_tales_have_the_size_asked_for(name: str) -> None:
    corpus = load_corpus(name, n_chars=50_000)
    assert 50_000 <= len(corpus.train) < 51_000
    assert len(corpus.val) == pytest.approx(50_000 / 9, rel=0.2)
    assert corpus.name == name


@pytest.mark.parametrize("name", ["tales", "plain-tales", "tales-zh"])
def test_tales_know_their_floors(name: str) -> None:
    corpus = load_corpus(name, n_chars=2000)
    assert corpus.floor == corpus.grammar.floor()
    assert corpus.bigram_floor == corpus.grammar.bigram_floor()
    assert corpus.tokenizer.characters == corpus.grammar.alphabet()


def test_validation_stories_are_new() -> None:
    corpus = load_corpus("tales", n_chars=300_000)
    train, val = (corpus.tokenizer.decode(part).split("\n")[:-1] for part in (corpus.train, corpus.val))
    known = set(train)
    assert sum(story in known for story in val) / len(val) < 0.05


def test_tales_are_the_same_every_time() -> None:
    assert torch.equal(load_corpus(n_chars=5000).train, load_corpus("tales", n_chars=5000).train)


def test_a_longer_text_begins_like_a_shorter_one_and_shares_its_vocabulary() -> None:
    """So that a checkpoint trained on little text fits a corpus of much."""
    short, long = (load_corpus(n_chars=n) for n in (1000, 20_000))
    assert torch.equal(long.train[: len(short.train)], short.train)
    assert long.tokenizer.characters == short.tokenizer.characters


def test_mask_token_is_there_when_asked_for() -> None:
    plain, masking = (load_corpus(n_chars=1000, with_mask=m).tokenizer for m in (False, True))
    assert masking.vocab_size == plain.vocab_size + 1
    assert masking.mask_id == plain.vocab_size


# ---------------------------------------------------------------- files


def test_a_file_is_split_nine_to_one_and_nothing_is_lost(tmp_path: Path) -> None:
    text = "我爱你，你爱我。\n" * 100 + "ünïcode\n"
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    corpus = load_corpus(str(path))
    assert decoded(corpus) == text
    assert len(corpus.train) == int(0.9 * len(text))
    assert (corpus.floor, corpus.bigram_floor, corpus.name) == (None, None, str(path))


@pytest.mark.survives("a text larger than the memory", "it is refused before it is read")
def test_a_text_for_which_there_is_no_memory_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.txt"
    path.write_text("ab" * 50)
    monkeypatch.setattr("babygpt.memory.device_memory", lambda device: 1700)
    assert len(load_corpus(str(path)).train) == 90
    monkeypatch.setattr("babygpt.memory.device_memory", lambda device: 1699)
    with pytest.raises(ValueError, match=r"the 100 characters of .*long\.txt"):
        load_corpus(str(path))
    monkeypatch.setattr("babygpt.memory.device_memory", lambda device: 399)
    path.write_bytes(b"\xff" * 100)  # whoever reads it says that this is no UTF-8
    with pytest.raises(ValueError, match=r"the characters of .*long\.txt .* need at least"):
        load_corpus(str(path))


def test_missing_file_names_the_path_and_the_corpora(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.txt"
    with pytest.raises(ValueError, match="no file") as caught:
        load_corpus(str(path))
    for word in (str(path), "tales", "plain-tales", "tales-zh", "recall", "shakespeare"):
        assert word in str(caught.value)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no file"):
        load_corpus(str(tmp_path))


def test_empty_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.touch()
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))}.* empty"):
        load_corpus(str(path))


def test_bytes_that_are_no_text_are_refused_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"fine until here \xe9\xe8")
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))}.*UTF-8.* 16"):
        load_corpus(str(path))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        (b"\xef\xbb\xbfab", "ab"),
        (b"a\0b", "a\0b"),
        (b"\n" * 50, "\n" * 50),
        (b"x", "x"),
        ("\u2028\u0085\v\f".encode(), "\u2028\u0085\v\f"),
        (b"long " * 200_000, "long " * 200_000),
    ],
    ids=["line ends", "byte order mark", "NUL", "only line ends", "one character", "rare breaks", "one line"],
)
@pytest.mark.survives(
    "a corpus with Windows line ends, a byte order mark, NUL, or a million characters in one line",
    "it is read as text: line ends become one kind, the mark goes, all else stays",
)
def test_a_strange_text_is_read_whole(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(content)
    assert decoded(load_corpus(str(path))) == text


@pytest.mark.parametrize(
    "content", [b"\xff\xfea\0", b"\xed\xa0\x80", b"ok\x80", bytes(range(256)), b"\xc0\xaf"]
)
@pytest.mark.survives(
    "a corpus that is empty, binary or not UTF-8", "it is refused, with the byte where it fails"
)
def test_bytes_that_are_no_utf_8_are_never_guessed_at(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "binary"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not UTF-8 text: byte"):
        load_corpus(str(path))


@pytest.mark.parametrize("name", ["a" * 5000, "\0", "no/" * 100, ""])
def test_a_name_that_can_be_no_file_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"cannot be read|no file"):
        load_corpus(name)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "text.txt").write_text("text")
    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(ValueError, match=r"text\.txt cannot be read: Permission denied"):
        load_corpus(str(tmp_path / "text.txt"))


def test_a_text_with_the_sign_for_mask_is_refused_where_there_is_a_mask() -> None:
    assert from_text("own", f"ab{MASK}" * 9).tokenizer.vocab_size == 3
    with pytest.raises(ValueError, match=f"{MASK}.* another character"):
        from_text("own", f"ab{MASK}" * 9, with_mask=True)


@pytest.mark.parametrize("n_chars", [0, -1, 10**15])
def test_no_tale_is_that_long(n_chars: int) -> None:
    with pytest.raises(ValueError, match=str(n_chars)):
        load_corpus("tales", n_chars=n_chars)


@pytest.mark.parametrize("length", [1, 64, 70, 600])
def test_text_too_short_for_a_window_says_what_is_needed(length: int) -> None:
    """Also where only the validation part is too short."""
    with pytest.raises(ValueError, match="block_size 64 needs at least 65"):
        NextToken(from_text("short", "ab" * (length // 2) + "a"), block_size=64)


def test_unknown_character_in_a_prompt_is_named() -> None:
    tokenizer = load_corpus("tales", n_chars=1000).tokenizer
    with pytest.raises(ValueError, match=r"'Ж' at place 4 "):
        tokenizer.encode("ada Ж")


# ---------------------------------------------------------------- shakespeare


@pytest.mark.survives("no network", "all but one corpus work; that one says how to do without")
def test_no_network_names_both_ways_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real download, on a machine that cannot connect."""

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
    """A web server on this machine in place of the real one: what it sends, how often it did."""
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


def test_download_happens_once(server: dict) -> None:
    first, second = (decoded(load_corpus("shakespeare")) for _ in range(2))
    assert first == second == server["sends"].decode()
    assert server["times"] == 1


@pytest.mark.parametrize("wrong", [b"longer", b"", b"\0"])
@pytest.mark.survives(
    "a download with the wrong checksum", "it is refused and not kept; the next call asks for it again"
)
def test_download_with_another_checksum_is_refused_and_not_cached(
    server: dict, tmp_path: Path, wrong: bytes
) -> None:
    right, server["sends"] = server["sends"], wrong
    for times in (1, 2):
        with pytest.raises(ValueError, match="Tiny Shakespeare"):
            load_corpus("shakespeare")
        assert server["times"] == times
        assert cached(tmp_path) == []
    server["sends"] = right
    assert decoded(load_corpus("shakespeare")) == right.decode()


@pytest.mark.survives("a download that breaks off", "nothing of it is kept; the next call asks for it again")
def test_an_interrupted_download_leaves_nothing(server: dict, tmp_path: Path) -> None:
    server["promises"] = len(server["sends"]) + 1000
    with pytest.raises(ValueError, match="Tiny Shakespeare"):
        load_corpus("shakespeare")
    assert cached(tmp_path) == []
    server["promises"] = None
    assert decoded(load_corpus("shakespeare")) == server["sends"].decode()


def test_a_server_that_has_no_such_file_is_a_failed_download(server: dict, tmp_path: Path) -> None:
    server["status"] = 404
    with pytest.raises(ValueError, match="could not be downloaded"):
        load_corpus("shakespeare")
    assert cached(tmp_path) == []


def cached(folder: Path) -> list[Path]:
    """All files that a download left."""
    return [path for path in (folder / "cache").rglob("*") if path.is_file()]


@pytest.mark.survives("a cached download that rots on the disk", "it is fetched again")
def test_damaged_cache_is_fetched_again(server: dict, tmp_path: Path) -> None:
    load_corpus("shakespeare")
    (cached,) = (tmp_path / "cache").rglob("tinyshakespeare.txt")
    cached.write_bytes(b"rot")
    assert decoded(load_corpus("shakespeare")) == server["sends"].decode()
    assert server["times"] == 2


def test_local_copy_is_used_without_the_network(
    server: dict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_bytes(server["sends"])
    monkeypatch.setenv(VARIABLE, str(copy))
    assert decoded(load_corpus("shakespeare")) == server["sends"].decode()
    assert server["times"] == 0


def test_local_copy_with_another_checksum_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "copy.txt"
    copy.write_text("to be or not to be")
    monkeypatch.setenv(VARIABLE, str(copy))
    with pytest.raises(ValueError, match="SHA-256") as caught:
        load_corpus("shakespeare")
    for word in (str(copy), hashlib.sha256(copy.read_bytes()).hexdigest(), "86c4e6aa"):
        assert word in str(caught.value)


def test_local_copy_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone.txt"))
    with pytest.raises(ValueError, match=r"gone\.txt"):
        load_corpus("shakespeare")


@pytest.mark.skipif(not SHAKESPEARE.is_file(), reason="no local copy of Tiny Shakespeare")
def test_the_real_text_has_65_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(SHAKESPEARE))
    corpus = load_corpus("shakespeare")
    assert corpus.tokenizer.vocab_size == 65
    assert (len(corpus.train), len(corpus.val)) == (1_003_854, 111_540)
    assert decoded(corpus).startswith("First Citizen:")
