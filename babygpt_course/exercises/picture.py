from babygpt_course.exercises.exercise import Comparison

Picture = Comparison  # old name, for the lessons that still use it
