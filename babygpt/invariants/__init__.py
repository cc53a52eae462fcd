"""Promises of encodings, models and samplers, as functions that measure them.

A promise is kept or broken by a number. The same functions serve the tests, the panels in the
notebooks and the checks of exercises. Some models break a promise on purpose: that is a finding.
"""

from babygpt.invariants.base import Promise as Promise
from babygpt.invariants.base import promises as promises
from babygpt.invariants.checked_promise import EncodingCheck as EncodingCheck
from babygpt.invariants.encoding_check import check as check
from babygpt.invariants.encodings import alpha_is_idle as alpha_is_idle
from babygpt.invariants.encodings import left_right_symmetry as left_right_symmetry
from babygpt.invariants.encodings import norm_preserved as norm_preserved
from babygpt.invariants.encodings import phase_never_learns as phase_never_learns
from babygpt.invariants.encodings import shift_invariant as shift_invariant
from babygpt.invariants.encodings import shift_is_rotation as shift_is_rotation
from babygpt.invariants.encodings import table_equals_closed_form as table_equals_closed_form
from babygpt.invariants.models import at_least_one_a_step as at_least_one_a_step
from babygpt.invariants.models import batch_equals_alone as batch_equals_alone
from babygpt.invariants.models import blind_to_the_past as blind_to_the_past
from babygpt.invariants.models import branches_permute as branches_permute
from babygpt.invariants.models import cache_equals_full as cache_equals_full
from babygpt.invariants.models import causal as causal
from babygpt.invariants.models import distance_alone as distance_alone
from babygpt.invariants.models import extrapolates_or_refuses as extrapolates_or_refuses
from babygpt.invariants.models import fills_every_mask as fills_every_mask
from babygpt.invariants.models import keeps_the_prompt as keeps_the_prompt
from babygpt.invariants.models import nothing_leaks as nothing_leaks
from babygpt.invariants.models import one_branch_is_one_text as one_branch_is_one_text
from babygpt.invariants.models import order_blind as order_blind
from babygpt.invariants.models import parallel_cache_equals_full as parallel_cache_equals_full
from babygpt.invariants.models import pieces_equal_full as pieces_equal_full
from babygpt.invariants.models import sees_the_past_alone as sees_the_past_alone
from babygpt.invariants.precision import bfloat16_is_near as bfloat16_is_near
from babygpt.invariants.precision import float32_is_exact as float32_is_exact
from babygpt.invariants.precision import traces_in_one_graph as traces_in_one_graph
