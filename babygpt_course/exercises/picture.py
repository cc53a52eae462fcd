from babygpt_course.exercises.base import Comparison as Picture  # noqa: F401  old name, until lessons 05 to 10 follow
