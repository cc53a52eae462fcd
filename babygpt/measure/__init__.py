"""Numbers that a trained model is asked for."""

from babygpt.measure.attention import attention_weights as attention_weights
from babygpt.measure.losses import loss_by_position as loss_by_position
from babygpt.measure.roles import answer_log_probs as answer_log_probs
from babygpt.measure.roles import role_accuracy as role_accuracy
