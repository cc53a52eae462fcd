"""Exercises with checkers: `exercise.check(yours)`, `.hint()`, `.solution()`; one file lists a lesson's."""

from babygpt_course.exercises.exercise import Exercise as Exercise
from babygpt_course.exercises.exercise import Report as Report
