"""The names that `import babygpt` offers, each from the module that defines it."""

from babygpt.config import ModelConfig as ModelConfig
from babygpt.config import TrainConfig as TrainConfig
from babygpt.data import CharTokenizer as CharTokenizer
from babygpt.data import load_corpus as load_corpus
from babygpt.metrics import attention_weights as attention_weights
from babygpt.metrics import loss_by_position as loss_by_position
from babygpt.metrics import role_accuracy as role_accuracy
from babygpt.models.versions import build as build
from babygpt.objectives import Branches as Branches
from babygpt.objectives import NextToken as NextToken
from babygpt.positions import Positions as Positions
from babygpt.sampling import generate as generate
from babygpt.training import follow as follow
from babygpt.training import train as train
from babygpt.training.checkpoint import load as load
from babygpt.training.checkpoint import save as save
