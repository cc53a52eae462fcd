"""Measurements of a trained model: losses, right answers, bounds, leakage, attention weights."""

from babygpt.metrics.answers import answer_log_probs as answer_log_probs
from babygpt.metrics.answers import answer_losses as answer_losses
from babygpt.metrics.answers import greedy_answers as greedy_answers
from babygpt.metrics.answers import role_accuracy as role_accuracy
from babygpt.metrics.answers import whole_answer_accuracy as whole_answer_accuracy
from babygpt.metrics.denoising import answer_bounds as answer_bounds
from babygpt.metrics.denoising import exact_nelbo as exact_nelbo
from babygpt.metrics.denoising import nelbo as nelbo
from babygpt.metrics.inspection import ablate_heads as ablate_heads
from babygpt.metrics.inspection import attention_weights as attention_weights
from babygpt.metrics.inspection import with_heads as with_heads
from babygpt.metrics.inspection import without_heads as without_heads
from babygpt.metrics.inspection import written_by_heads as written_by_heads
from babygpt.metrics.losses import loss_by_position as loss_by_position
from babygpt.metrics.losses import position_matched_change as position_matched_change
from babygpt.metrics.losses import position_matched_losses as position_matched_losses
from babygpt.metrics.losses import recall_by_distance as recall_by_distance
from babygpt.metrics.parallel_texts import split_gap as split_gap
