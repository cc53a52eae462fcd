"""Exercises with checkers: `exercise.check(yours)`, `.hint()`, `.solution()`; one file lists a lesson's."""

from babygpt_course.exercises.base import Exercise as Exercise
from babygpt_course.exercises.base import Report as Report
