"""Benchmarks: several ways of doing one thing, in turn in one process, because machines are noisy."""

from benchmarks.encodings import encodings as encodings
from benchmarks.generation import generation as generation
from benchmarks.machine import machine as machine
from benchmarks.machine import store as store
from benchmarks.recipes import diffusion as diffusion
from benchmarks.recipes import polar as polar
from benchmarks.recipes import recipe as recipe
from benchmarks.shapes import shapes as shapes
from benchmarks.step import step as step
