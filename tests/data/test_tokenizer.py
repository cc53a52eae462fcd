"""Characters to ids and back."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.errors import BadInput

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=MASK), min_size=1)


@given(text=TEXT, with_mask=st.booleans())
def test_decoding_returns_the_encoded_text(text: str, with_mask: bool) -> None:
    tokenizer = CharTokenizer.fit(text, with_mask)
    ids = tokenizer.encode(text)
    assert (ids.shape, ids.dtype) == ((len(text),), torch.long)
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode(ids.tolist()) == text
    assert tokenizer.vocab_size == len(set(text)) + with_mask
    assert tokenizer.encode("".join(sorted(set(text)))).tolist() == list(range(len(set(text))))
    assert tokenizer.encode("").shape == (0,)


def test_mask_is_one_more_token_after_the_characters() -> None:
    plain, masking = CharTokenizer("ab"), CharTokenizer("ab", with_mask=True)
    assert (plain.vocab_size, plain.mask_id) == (2, None)
    assert (masking.vocab_size, masking.mask_id) == (3, 2)
    assert masking.decode([0, 2, 1]) == f"a{MASK}b"
    with pytest.raises(ValueError, match="'b' occurs twice"):
        CharTokenizer("abcb")
    with pytest.raises(ValueError, match=MASK):  # it is never read from text
        masking.encode(f"a{MASK}")


@pytest.mark.parametrize(("size", "ending"), [(12, ""), (13, " and 1 more"), (5000, " and 4988 more")])
def test_an_error_names_at_most_twelve_characters(size: int, ending: str) -> None:
    with pytest.raises(BadInput, match=f"'abcdefghijkl'{ending}$") as caught:
        CharTokenizer(map(chr, range(ord("a"), ord("a") + size))).encode("我")
    assert len(str(caught.value)) < 120


@given(text=st.text(min_size=1), training_text=TEXT)
def test_any_text_is_decoded_or_its_first_unknown_character_is_named(text: str, training_text: str) -> None:
    tokenizer = CharTokenizer.fit(training_text)
    unknown = [place for place, char in enumerate(text) if char not in training_text]
    if unknown:
        with pytest.raises(ValueError, match=f"at position {unknown[0]} "):
            tokenizer.encode(text)
    else:
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("wrong", [["a", "b"], b"ab", 3, None])
def test_only_a_text_is_encoded(wrong) -> None:
    with pytest.raises(BadInput, match=f"a text is needed, and this is a {type(wrong).__name__}"):
        CharTokenizer("ab").encode(wrong)


@pytest.mark.parametrize("wrong", [-1, -100, 3, 1.0, "a"])
@pytest.mark.parametrize("kind", [list, torch.tensor])
def test_ids_that_are_no_tokens_are_refused(wrong, kind) -> None:
    """Refuse -1, too, which Python reads as the last one of a list."""
    if isinstance(wrong, str) and kind is not list:
        pytest.skip("no tensor holds texts")
    with pytest.raises(BadInput, match="is no token id: this tokenizer has 0 to 2"):
        CharTokenizer("ab", with_mask=True).decode(kind([0, wrong]))
