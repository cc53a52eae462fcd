"""What is measured of a trained model: losses, right answers, bounds, leakage, attention weights."""

from babygpt.metrics.diffusion import answer_bounds as answer_bounds
from babygpt.metrics.diffusion import exact_nelbo as exact_nelbo
from babygpt.metrics.diffusion import nelbo as nelbo
from babygpt.metrics.inspection import attention_weights as attention_weights
from babygpt.metrics.next_token import answer_log_probs as answer_log_probs
from babygpt.metrics.next_token import loss_by_position as loss_by_position
from babygpt.metrics.next_token import role_accuracy as role_accuracy
