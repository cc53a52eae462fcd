"""Pretended GPU: a second device for tests, whose arithmetic is the CPU's and which refuses to mix devices.

    with pretended_gpu() as device:
        model = build("v4", config).to(device)

A tensor of this device wraps a CPU tensor. Every operation is computed on the wrapped tensors, so a model has
bit for bit the losses that it has on the CPU. The rules are CUDA's:

- a CPU tensor may not meet a tensor of the device, unless it has no dimensions or is an index;
- an operation that draws numbers on the device needs a generator of the device;
- `.numpy()` and `.tolist()` need `.cpu()` first.

It says nothing about speed, bfloat16 or streams. PyTorch cannot unregister a device: it stays in the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

aten = torch.ops.aten
COPIES = {aten.to, aten._to_copy, aten.copy_}  # the operations that may cross from device to device
INDEXING = {aten.index, aten._unsafe_index, aten.index_put, aten.index_put_, aten._index_put_impl_}


class _Backend(_DummyBackendModule):
    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]


_setup_privateuseone_for_python_backend("pretended", _Backend())
DEVICE = torch.device("pretended", 0)


class DeviceTensor(Tensor):
    """Tensor that reports DEVICE as its device and keeps its numbers in `host`, a CPU tensor."""

    host: Tensor

    @staticmethod
    def __new__(cls, host: Tensor) -> DeviceTensor:
        layout = {"strides": host.stride(), "storage_offset": host.storage_offset(), "dtype": host.dtype}
        tensor = Tensor._make_wrapper_subclass(cls, host.size(), device=DEVICE, **layout)
        tensor.host = host
        return tensor

    def __repr__(self, **_: Any) -> str:
        return f"DeviceTensor({self.host!r})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(func, args, kwargs or {})


class _Factories(TorchDispatchMode):
    """Mode that catches operations without a tensor of the device, such as torch.zeros(3, device=DEVICE)."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return compute(func, args, kwargs or {})


@contextmanager
def pretended_gpu() -> Iterator[torch.device]:
    """Offer the device to this thread while the context lasts. Inference mode becomes no_grad."""
    lifts_cpu_only, inference_mode = torch._C._only_lift_cpu_tensors(), torch._C._InferenceMode
    torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(data, device=DEVICE): make it, then copy it
    torch._C._InferenceMode = lambda on: torch.set_grad_enabled(not on)  # wrapped tensors do not survive it
    try:
        with _Factories():
            yield DEVICE
    finally:
        torch._C._set_only_lift_cpu_tensors(lifts_cpu_only)
        torch._C._InferenceMode = inference_mode


def compute(func: Any, args: Any, kwargs: Any) -> Any:
    """Compute an operation on the host. Raises RuntimeError where devices mix."""
    leaves = tree_leaves((args, kwargs))
    wrappers = {id(leaf.host): leaf for leaf in leaves if isinstance(leaf, DeviceTensor)}
    target = target_device(func, args, leaves, bool(wrappers))
    if wrappers and func.overloadpacket not in COPIES:
        operands = [args[0], *args[2:3]] if func.overloadpacket in INDEXING else leaves
        refuse_cpu_tensors(func, operands)
    if target == DEVICE:
        refuse_cpu_generators(func, leaves)
    output = func(*tree_map(on_host, args), **tree_map(on_host, kwargs))
    if func.overloadpacket in COPIES and func.overloadpacket is not aten.copy_:
        shared = any(output is leaf or output is on_host(leaf) for leaf in leaves)
        crossed = target != next(leaf.device for leaf in leaves if isinstance(leaf, Tensor))
        output = output.clone() if shared and crossed else output  # no memory is shared between devices
    return tree_map(lambda value: on_device(value, wrappers, target), output)


def target_device(func: Any, args: Any, leaves: list[Any], has_device_tensor: bool) -> torch.device:
    """Return the device of an operation's result."""
    named = [leaf for leaf in leaves if isinstance(leaf, torch.device)]
    if func.overloadpacket is aten.copy_:
        device = args[0].device
    elif named:
        device = named[0]
    elif func is aten.to.other:
        device = args[1].device
    else:
        device = DEVICE if has_device_tensor else torch.device("cpu")
    return DEVICE if device.type == DEVICE.type else torch.device("cpu")


def refuse_cpu_tensors(func: Any, operands: list[Any]) -> None:
    for operand in tree_leaves(operands):
        if isinstance(operand, Tensor) and not isinstance(operand, DeviceTensor) and operand.dim() > 0:
            shape = tuple(operand.shape)
            raise RuntimeError(f"{func}: a tensor of shape {shape} is on the CPU, others on {DEVICE}")


def refuse_cpu_generators(func: Any, leaves: list[Any]) -> None:
    for leaf in leaves:
        if isinstance(leaf, torch.Generator) and leaf.device.type != DEVICE.type:
            raise RuntimeError(f"{func}: expected a generator of {DEVICE}, not of {leaf.device}")


def on_host(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value.host if isinstance(value, DeviceTensor) else value


def on_device(value: Any, wrappers: dict[int, DeviceTensor], target: torch.device) -> Any:
    if not isinstance(value, Tensor):
        return value
    if id(value) in wrappers and target == DEVICE:  # an operation in place returns its own argument
        return wrappers[id(value)]
    if value.is_conj():  # operations on a wrapper do not see that its host is conjugated lazily
        value = torch._conj_physical(torch._conj(value))
    return DeviceTensor(value) if target == DEVICE else value


def data_parallel(model: torch.nn.Module) -> torch.nn.DataParallel:
    """Return the model in PyTorch's wrapper, without asking for devices: it may find the pretended one."""
    wrapper = torch.nn.DataParallel.__new__(torch.nn.DataParallel)
    torch.nn.Module.__init__(wrapper)
    wrapper.module = model
    return wrapper
