"""Benchmarks: several ways of doing one thing, in turn in one process, because machines are noisy."""

from babygpt.experiments.bench.encodings import encodings as encodings
from babygpt.experiments.bench.generation import generation as generation
from babygpt.experiments.bench.machine import machine as machine
from babygpt.experiments.bench.machine import store as store
from babygpt.experiments.bench.recipes import diffusion as diffusion
from babygpt.experiments.bench.recipes import polar as polar
from babygpt.experiments.bench.recipes import recipe as recipe
from babygpt.experiments.bench.shapes import shapes as shapes
from babygpt.experiments.bench.step import step as step
