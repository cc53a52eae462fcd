"""Tools that carry the argument of a lesson.

switchboard  heads of a trained model to switch off, and what the model then answers and loses
"""

from babygpt_course.tools.switchboard import asked as asked
from babygpt_course.tools.switchboard import switchboard as switchboard
