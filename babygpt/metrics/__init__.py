"""Numbers that a trained model is asked for."""

from babygpt.metrics.attention import attention_weights as attention_weights
from babygpt.metrics.losses import loss_by_position as loss_by_position
from babygpt.metrics.roles import answer_log_probs as answer_log_probs
from babygpt.metrics.roles import role_accuracy as role_accuracy
