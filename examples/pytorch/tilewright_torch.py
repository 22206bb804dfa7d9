"""Tilewright's attention on PyTorch tensors, in one file over the C interface.

    import tilewright_torch as tilewright

    out = tilewright.attention(q, k, v, mask="k <= q")
    out = tilewright.attention(q, k, v, mask="q - k < window && k <= q", scalars={"window": 256})
    out = tilewright.attention(q, k, v, score="s + slope[h] * real(k - q)", tensors={"slope": slopes})
    out, lse = tilewright.attention(q, k, v, return_lse=True)

q, k and v are [batch, heads, length, head_dim] with any strides whose last one is 1. The first call
of a problem compiles a kernel for the device of the tensors; calls after it launch that kernel, on a
GPU on the current stream. The lengths are no part of the problem. docs/semantics.md explains the
expressions. Forward only: tensors that need a gradient are refused.

The library is libtilewright_runtime.so of the path in TILEWRIGHT_LIBRARY, or wherever the loader
finds it.
"""

import ctypes
import functools
import numbers
import os

import torch

ABI_VERSION = 2
MAX_RANK = 8

_DTYPES = {
    torch.float64: 0,
    torch.float32: 1,
    torch.float16: 2,
    torch.bfloat16: 3,
    torch.int64: 4,
    torch.int32: 5,
    torch.uint8: 6,
    torch.bool: 7,
}


class Error(RuntimeError):
    """Something failed: a file, the driver, or Tilewright itself."""


class InvalidArgument(Error, ValueError):
    """An argument is wrong; the message names it, its value and the limit."""


class Unsupported(Error, NotImplementedError):
    """The request is meaningful, but this build or device cannot serve it."""


_ERRORS = {1: InvalidArgument, 2: Unsupported}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("shape", ctypes.c_int64 * MAX_RANK), ("strides", ctypes.c_int64 * MAX_RANK)]


class _ScalarDeclaration(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("is_real", ctypes.c_bool)]


class _TensorDeclaration(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32)]


class _Problem(ctypes.Structure):
    _fields_ = [("head_dim", ctypes.c_int64), ("value_dim", ctypes.c_int64),
                ("dtype", ctypes.c_int), ("out_dtype", ctypes.c_int), ("lse", ctypes.c_bool),
                ("scores", ctypes.POINTER(ctypes.c_char_p)), ("score_count", ctypes.c_size_t),
                ("masks", ctypes.POINTER(ctypes.c_char_p)), ("mask_count", ctypes.c_size_t),
                ("scalars", ctypes.POINTER(_ScalarDeclaration)), ("scalar_count", ctypes.c_size_t),
                ("tensors", ctypes.POINTER(_TensorDeclaration)), ("tensor_count", ctypes.c_size_t)]


class _CompileOptions(ctypes.Structure):
    _fields_ = [("target", ctypes.c_char_p), ("cpu", ctypes.c_char_p), ("schedule", ctypes.c_char_p)]


class _Sizes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64)
                for name in ("batch", "heads", "kv_heads", "query_length", "key_length")]


class _NamedScalar(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_double)]


class _NamedTensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("tensor", _Tensor)]


class _Arguments(ctypes.Structure):
    _fields_ = [("query", _Tensor), ("key", _Tensor), ("value", _Tensor), ("out", _Tensor),
                ("lse", ctypes.POINTER(_Tensor)), ("scale", ctypes.POINTER(ctypes.c_double)),
                ("scalars", ctypes.POINTER(_NamedScalar)), ("scalar_count", ctypes.c_size_t),
                ("tensors", ctypes.POINTER(_NamedTensor)), ("tensor_count", ctypes.c_size_t)]


class _Execution(ctypes.Structure):
    _fields_ = [("threads", ctypes.c_uint32), ("stream", ctypes.c_void_p),
                ("executor", ctypes.c_void_p), ("executor_context", ctypes.c_void_p)]


@functools.cache
def _library():
    path = os.environ.get("TILEWRIGHT_LIBRARY", "libtilewright_runtime.so")
    library = ctypes.CDLL(path)
    found = library.tilewright_c_abi_version()
    if found != ABI_VERSION:
        raise Unsupported(f"{path} has version {found} of the C interface, and this file is "
                          f"written for version {ABI_VERSION}")
    library.tilewright_status_message.restype = ctypes.c_char_p
    for name in ("tilewright_kernel_compile", "tilewright_kernel_load_file",
                 "tilewright_kernel_workspace_size", "tilewright_kernel_launch"):
        getattr(library, name).restype = ctypes.c_void_p
    return library


def _check(status):
    if not status:
        return
    library, status = _library(), ctypes.c_void_p(status)
    message = library.tilewright_status_message(status).decode()
    error = _ERRORS.get(library.tilewright_status_get_code(status), Error)
    library.tilewright_status_destroy(status)
    raise error(message)


def _array(kind, items):
    return (kind * len(items))(*items)


def _text(text):
    """As C takes it: UTF-8 that ends at its first NUL, so that there must be none within."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{text!r} is no text: it has half a surrogate pair") from None
    if b"\0" in encoded:
        raise InvalidArgument(f"{text!r} has a NUL in it")
    return encoded


def _texts(expressions):
    return _array(ctypes.c_char_p, [_text(text) for text in expressions])


class Kernel:
    """A kernel of the C interface, destroyed with this object. load() makes them."""

    def __init__(self, *_):
        # What is no handle would be used as one, by code that cannot tell.
        raise InvalidArgument("a Kernel is not made by hand; load(path) returns one")

    @classmethod
    def _owning(cls, handle):
        kernel = cls.__new__(cls)
        kernel.handle = handle
        return kernel

    def __del__(self):
        if getattr(self, "handle", None):
            _library().tilewright_kernel_destroy(self.handle)
            self.handle = None

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


@functools.lru_cache(maxsize=256)
def _compile(target, cpu, schedule, head_dim, value_dim, dtype, out_dtype, lse, scores, masks,
             scalars, tensors):
    problem = _Problem(
        head_dim, value_dim, dtype, out_dtype, lse, _texts(scores), len(scores), _texts(masks),
        len(masks), _array(_ScalarDeclaration, [_ScalarDeclaration(_text(n), r) for n, r in scalars]),
        len(scalars), _array(_TensorDeclaration,
                             [_TensorDeclaration(_text(n), d, r) for n, d, r in tensors]),
        len(tensors))
    options = _CompileOptions(_text(target), _text(cpu) if cpu else None,
                              _text(schedule) if schedule else None)
    handle = ctypes.c_void_p()
    _check(_library().tilewright_kernel_compile(ctypes.byref(problem), ctypes.byref(options),
                                                ctypes.byref(handle)))
    return Kernel._owning(handle)


def load(path):
    """The kernel of an image file, for `attention(..., kernel=...)`; each file is read once."""
    _require(isinstance(path, (str, bytes, os.PathLike)), "path", path, "the name of a file")
    name = os.fsencode(path)
    _require(b"\0" not in name, "path", path, "a name without NUL")
    return _load(name)


@functools.lru_cache(maxsize=64)
def _load(name):
    handle = ctypes.c_void_p()
    _check(_library().tilewright_kernel_load_file(name, ctypes.byref(handle)))
    return Kernel._owning(handle)


def _dtype(name, tensor):
    code = _DTYPES.get(tensor.dtype)
    if code is None:
        raise InvalidArgument(f"{name} is {tensor.dtype}; Tilewright has "
                              + ", ".join(str(known) for known in _DTYPES))
    return code


def _view(name, tensor):
    if tensor.dim() > MAX_RANK:
        raise InvalidArgument(f"{name} has {tensor.dim()} dimensions; the limit is {MAX_RANK}")
    if tensor.layout != torch.strided:
        raise InvalidArgument(f"{name} has layout {tensor.layout}; it must be strided")
    if tensor.is_neg() or tensor.is_conj():
        raise InvalidArgument(f"{name} is a view that negates or conjugates what is in its memory; "
                              "resolve_neg() and resolve_conj() make a plain tensor of it")
    view = _Tensor(tensor.data_ptr(), _dtype(name, tensor), tensor.dim())
    view.shape[:tensor.dim()] = tensor.shape
    view.strides[:tensor.dim()] = tensor.stride()
    return view


def _check_tensors(tensors):
    device = None
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgument(f"{name} is a {type(tensor).__name__}; it must be a torch.Tensor")
        if tensor.requires_grad and torch.is_grad_enabled():
            raise Unsupported(f"{name} requires a gradient, and there is no backward pass yet; "
                              "call under torch.no_grad() or detach it")
        device = device or tensor.device
        if tensor.device != device:
            raise InvalidArgument(f"{name} is on {tensor.device}, and q on {device}")
    return device


def _require(condition, name, value, wanted):
    if not condition:
        raise InvalidArgument(f"{name} is {value!r}; it must be {wanted}")


def _expressions(name, text):
    if text is None:
        return ()
    texts = (text,) if isinstance(text, str) else text
    _require(isinstance(texts, (tuple, list)) and all(isinstance(each, str) for each in texts), name,
             text, "an expression or a list of them")
    return tuple(texts)


def _named(name, values):
    values = {} if values is None else values
    _require(isinstance(values, dict) and all(isinstance(each, str) for each in values), name, values,
             "a dict from names to values")
    return values


def _real(name, value):
    _require(isinstance(value, numbers.Real), name, value, "an int or a float")
    try:
        converted = float(value)
    except OverflowError:
        converted = None
    # An int that a double rounds is none that a kernel takes either.
    _require(converted is not None and (not isinstance(value, numbers.Integral) or converted == value),
             name, value, "a number that fits")
    return converted


def attention(q, k, v, mask=None, score=None, scalars=None, tensors=None, scale=None,
              return_lse=False, out=None, schedule=None, kernel=None, threads=0, cpu=None):
    """softmax(score(scale * q k^T) where mask) v, exactly, without the score matrix. Takes what
    prepare() takes and returns out, or (out, lse) with return_lse."""
    return prepare(q, k, v, mask, score, scalars, tensors, scale, return_lse, out, schedule, kernel,
                   threads, cpu)()


def prepare(q, k, v, mask=None, score=None, scalars=None, tensors=None, scale=None,
            return_lse=False, out=None, schedule=None, kernel=None, threads=0, cpu=None):
    """Checks and compiles, and returns a function that launches: each call computes anew from what
    is then in the tensors' memory and returns the same out, or (out, lse). On a GPU it is queued on
    the stream that is current at the call. The function keeps the tensors' memory; a tensor that is
    resized, or given other memory, is prepared anew. One launch at a time: all share out and a
    workspace.

    mask, score: an expression or a list of them. scalars: name -> int (an i32) or float (a real).
    tensors: name -> tensor that expressions index. scale: default 1 / sqrt(head_dim). out: where to
    write, default a new tensor [batch, heads, query_length, value_dim]. kernel: of load(), instead of
    compiling; mask and score are then what the image was compiled with. threads: of a CPU kernel.
    cpu: LLVM's name of the processor to compile for, default this machine's.
    """
    scalars, tensors = _named("scalars", scalars), _named("tensors", tensors)
    values = {name: _real(f"scalar {name!r}", value) for name, value in scalars.items()}
    scale = None if scale is None else _real("scale", scale)
    _require(isinstance(return_lse, bool), "return_lse", return_lse, "True or False")
    _require(kernel is None or isinstance(kernel, Kernel), "kernel", kernel, "what load(path) returns")
    _require(isinstance(threads, int) and 0 <= threads < 2**32, "threads", threads,
             "an int from 0 to 4294967295")
    _require(schedule is None or isinstance(schedule, str), "schedule", schedule,
             "text such as 'block_q=64,block_kv=96'")
    _require(cpu is None or isinstance(cpu, str), "cpu", cpu, "a name such as 'haswell'")
    for name, value in (("mask", mask), ("score", score), ("schedule", schedule), ("cpu", cpu)):
        _require(kernel is None or value is None, name, value, "left out with kernel, which has its own")
    device = _check_tensors({"q": q, "k": k, "v": v} | ({"out": out} if out is not None else {})
                            | tensors)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() != 4:
            raise InvalidArgument(f"{name} has {tensor.dim()} dimensions; it must be "
                                  "[batch, heads, length, width]")
    if device.type not in ("cpu", "cuda"):
        raise Unsupported(f"q is on {device}; Tilewright has kernels for cpu and cuda")
    if out is None:
        out = torch.empty((*q.shape[:3], v.shape[3]), dtype=q.dtype, device=device)
    is_real = {name: not isinstance(value, numbers.Integral) for name, value in scalars.items()}
    if kernel is None:
        kernel = _compile(
            "cpu" if device.type == "cpu" else "sm_90a", cpu, schedule, q.shape[3], v.shape[3],
            _dtype("q", q), _dtype("out", out), return_lse, _expressions("score", score),
            _expressions("mask", mask), tuple(is_real.items()),
            tuple((name, _dtype(name, tensor), tensor.dim()) for name, tensor in tensors.items()))

    arguments = _Arguments(_view("q", q), _view("k", k), _view("v", v), _view("out", out))
    lse = None
    if return_lse:
        lse = torch.empty(q.shape[:3], device=device,
                          dtype=torch.float64 if q.dtype == torch.float64 else torch.float32)
        lse_view = _view("lse", lse)
        arguments.lse = ctypes.pointer(lse_view)
    if scale is not None:
        arguments.scale = ctypes.pointer(ctypes.c_double(scale))
    arguments.scalars = _array(_NamedScalar, [_NamedScalar(_text(n), x) for n, x in values.items()])
    arguments.scalar_count = len(scalars)
    arguments.tensors = _array(_NamedTensor,
                               [_NamedTensor(_text(n), _view(n, x)) for n, x in tensors.items()])
    arguments.tensor_count = len(tensors)

    sizes = _Sizes(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2])
    size = ctypes.c_size_t()
    _check(_library().tilewright_kernel_workspace_size(kernel.handle, ctypes.byref(sizes),
                                                       ctypes.byref(size)))
    workspace = torch.empty(size.value, dtype=torch.uint8, device=device)
    execution = _Execution(threads, None)
    results = (out, lse) if return_lse else out
    # Detached, these keep the memory whatever becomes of the tensors.
    used = [x.detach() for x in (q, k, v, out, *tensors.values())]
    addresses = [x.data_ptr() for x in used]

    def launch():
        if [x.data_ptr() for x in used] != addresses:
            raise InvalidArgument("a tensor was resized and has other memory; prepare again")
        _check(_library().tilewright_kernel_launch(kernel.handle, ctypes.byref(arguments),
                                                   ctypes.c_void_p(workspace.data_ptr()), size,
                                                   ctypes.byref(execution)))
        return results

    def launch_on_gpu():
        with torch.cuda.device(device):
            execution.stream = torch.cuda.current_stream().cuda_stream
            return launch()

    return launch_on_gpu if device.type == "cuda" else launch
