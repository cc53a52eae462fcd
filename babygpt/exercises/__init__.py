"""Exercises with checkers, one file a notebook: `exercise.check(yours)`, `.hint()`, `.solution()`."""

from babygpt.exercises.base import Exercise as Exercise
from babygpt.exercises.base import Report as Report
