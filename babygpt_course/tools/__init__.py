"""Tools that carry the argument of a lesson.

bench        tests of a score with positions
click        when seeds begin to answer and to spell, with each encoding
company      a value that stays equally far back while the text grows
gap          the loss of an encoding minus that of RoPE, step by step
letters      loss of each letter of a story, and the name that a model writes, while it trains
masks        what each layer of a trained model may read, and what the model then answers
orders       what a name costs in each order of its letters
stretching   a trained model that reads beyond its window, its pairs of channels slowed
sums         a row of a table of tokens and a row of a table of positions, added
switchboard  heads of a trained model to switch off, and what the model then answers and loses
valley       a text that is dragged along the positions
vowel_heads  heads of stored seeds that write the second letter of a name
"""

from babygpt_course.tools.bench import bench as bench
from babygpt_course.tools.click import click as click
from babygpt_course.tools.company import company as company
from babygpt_course.tools.gap import gap as gap
from babygpt_course.tools.letters import letters as letters
from babygpt_course.tools.masks import masks as masks
from babygpt_course.tools.orders import orders as orders
from babygpt_course.tools.stretching import explore_stretching as explore_stretching
from babygpt_course.tools.sums import sums as sums
from babygpt_course.tools.switchboard import asked as asked
from babygpt_course.tools.switchboard import switchboard as switchboard
from babygpt_course.tools.valley import valley as valley
from babygpt_course.tools.vowel_heads import vowel_heads as vowel_heads
