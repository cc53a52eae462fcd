"""Numbers that a trained model is asked for."""

from babygpt.metrics.inspection import attention_weights as attention_weights
from babygpt.metrics.next_token import answer_log_probs as answer_log_probs
from babygpt.metrics.next_token import loss_by_position as loss_by_position
from babygpt.metrics.next_token import role_accuracy as role_accuracy
