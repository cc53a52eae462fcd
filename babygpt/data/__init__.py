"""Corpora, the tokenizer and the windows cut from them."""

from babygpt.data.corpus import Corpus as Corpus
from babygpt.data.corpus import load_corpus as load_corpus
from babygpt.data.corpus import recall_corpus as recall_corpus
from babygpt.data.tokenizer import CharTokenizer as CharTokenizer
