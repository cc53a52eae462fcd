from babygpt_course.exercises.base import Comparison

Picture = Comparison  # old name, for the lessons that still use it
