"""Explorers of formulas and of trained models, and watches that each belong to one version."""

from babygpt_course.explorers.formulas import alibi as alibi
from babygpt_course.explorers.formulas import branches as branches
from babygpt_course.explorers.formulas import gaussian_kernel as gaussian_kernel
from babygpt_course.explorers.formulas import polar as polar
from babygpt_course.explorers.formulas import rotary as rotary
from babygpt_course.explorers.formulas import sinusoidal as sinusoidal
from babygpt_course.explorers.switches import Switchboard as Switchboard
from babygpt_course.explorers.switches import Switches as Switches
from babygpt_course.explorers.trained_models import attention as attention
from babygpt_course.explorers.trained_models import diffusion as diffusion
from babygpt_course.explorers.watches import branch_similarity as branch_similarity
from babygpt_course.explorers.watches import clocks as clocks
from babygpt_course.explorers.watches import encode_masked as encode_masked
from babygpt_course.explorers.watches import filled_text as filled_text
from babygpt_course.explorers.watches import gates as gates
from babygpt_course.explorers.watches import heads as heads
from babygpt_course.explorers.watches import interference as interference
from babygpt_course.explorers.watches import kernel as kernel
from babygpt_course.explorers.watches import next_characters as next_characters
from babygpt_course.explorers.watches import position_codes as position_codes
from babygpt_course.explorers.watches import roles as roles
from babygpt_course.explorers.watches import votes as votes
