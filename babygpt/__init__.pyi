from . import data as data
from . import encodings as encodings
from . import invariants as invariants
from . import metrics as metrics
from . import sampling as sampling
from .config import ModelConfig as ModelConfig
from .config import TrainConfig as TrainConfig
from .data import CharTokenizer as CharTokenizer
from .data import load_corpus as load_corpus
from .metrics import attention_weights as attention_weights
from .metrics import loss_by_position as loss_by_position
from .metrics import role_accuracy as role_accuracy
from .models.versions import build as build
from .objectives import Branches as Branches
from .objectives import NextToken as NextToken
from .positions import Positions as Positions
from .sampling import generate as generate
from .training import follow as follow
from .training import train as train
from .training.checkpoint import load as load
from .training.checkpoint import save as save

__version__: str
