"""Compares examples/pytorch/tilewright_torch.py with PyTorch's own attention, on tensors of the CPU.

Usage: check_torch.py LIBTILEWRIGHT_RUNTIME [--seed N]

Fresh random data each time; a failure prints the seed. Without PyTorch it says so.
"""

import argparse
import gc
import math
import os
import random
import sys

try:
    import torch
except ImportError as error:
    print(f"no PyTorch: {error}")
    sys.exit(0)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../examples/pytorch"))
import tilewright_torch as tilewright  # noqa: E402

# Of the largest difference, for values of a normal distribution: a few roundings of the largest.
LIMITS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def right(q, k, v, visible=None, bias=None, scale=None):
    """In f64: the output, and the logarithm of each row's sum."""
    group = q.shape[1] // k.shape[1]
    q, k, v = q.double(), *(x.double().repeat_interleave(group, 1) for x in (k, v))
    added = torch.zeros(q.shape[-2], k.shape[-2], dtype=torch.float64) if bias is None else bias.double()
    if visible is not None:
        added = added.masked_fill(~visible, -math.inf)
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=scale)
    scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale) + added
    return out, torch.logsumexp(scores, -1)


def expect(what, got, wanted, limit):
    difference = (got.double() - wanted).abs().max().item()
    assert difference <= limit, f"{what}: differs by {difference}, and the limit is {limit}"


def positions(length, keys):
    return torch.arange(length)[:, None], torch.arange(keys)[None, :]


def check_values():
    for dtype, limit in LIMITS.items():
        batch, kv_heads, group = (random.randint(1, 3) for _ in range(3))
        length, keys, width = (random.randint(1, 150) for _ in range(3))
        heads = kv_heads * group
        what = f"{dtype} {(batch, heads, kv_heads, length, keys, width)}"
        q, k, v = (torch.randn(batch, h, t, width).to(dtype)
                   for h, t in ((heads, length), (kv_heads, keys), (kv_heads, keys)))
        i, j = positions(length, keys)

        out, lse = tilewright.attention(q, k, v, mask="k <= q", return_lse=True)
        wanted, wanted_lse = right(q, k, v, j <= i)
        expect(f"causal, {what}", out, wanted, limit)
        expect(f"lse of causal, {what}", lse, wanted_lse, limit)

        window = random.randint(1, 64)
        out = tilewright.attention(q, k, v, mask=["k <= q", "q - k < window || k == 0"],
                                   scalars={"window": window}, scale=0.3)
        expect(f"window {window}, {what}", out,
               right(q, k, v, (j <= i) & ((i - j < window) | (j == 0)), scale=0.3)[0], limit)

        slope = torch.rand(heads)
        out = tilewright.attention(q, k, v, score="s + slope[h] * factor * real(k - q)",
                                   tensors={"slope": slope}, scalars={"factor": 0.125})
        expect(f"slopes, {what}", out,
               right(q, k, v, bias=slope.double()[:, None, None] * 0.125 * (j - i))[0], limit)


def check_views():
    """Tensors as hosts have them, without copies."""
    batch, length, heads, width = 2, random.randint(2, 100), 4, 40
    packed = torch.randn(batch, length, 3, heads, width)
    q, k, v = (packed[:, :, i].transpose(1, 2) for i in range(3))
    out = torch.full((batch, length, heads, width), math.nan).transpose(1, 2)
    returned = tilewright.attention(q, k, v, out=out)
    assert returned is out
    expect("[b, t, h, d] of a packed qkv", out, right(q, k, v)[0], 1e-5)

    k, v = (x[:, :1].expand(batch, heads, length, width) for x in (k, v))
    expect("expanded heads", tilewright.attention(q, k, v), right(q, k, v)[0], 1e-5)
    lonely = q[:, :, :0]
    assert tilewright.attention(lonely, k, v).shape == lonely.shape


def check_prepared_launches():
    q, k, v = torch.randn(3, 1, 2, 9, 8)
    values = torch.randn(9)
    bias = {"bias": values.clone()}
    launch = tilewright.prepare(q, k, v, score="s + bias[k]", tensors=bias)
    expected = tilewright.attention(q, k, v, score="s + bias[k]", tensors=bias)
    bias.clear()  # what was given is kept
    gc.collect()
    assert torch.equal(launch(), expected)
    q.mul_(2)
    assert torch.equal(launch(), tilewright.attention(q, k, v, score="s + bias[k]",
                                                      tensors={"bias": values}))
    q.resize_(1, 2, 9000, 8)
    try:
        launch()
    except tilewright.InvalidArgument as error:
        assert "prepare again" in str(error)
    else:
        raise AssertionError("a launch on memory that is gone was not refused")


def expect_refusal(kind, text, *tensors, **options):
    try:
        tilewright.attention(*tensors, **options)
    except kind as error:
        assert text in str(error), f"{text!r} is not in {str(error)!r}"
    else:
        raise AssertionError(f"was not refused: {text}")


def check_refusals():
    q, k, v = torch.randn(3, 1, 4, 10, 8)
    wrong, unsupported = tilewright.InvalidArgument, tilewright.Unsupported
    expect_refusal(wrong, "unknown name 'windw'", q, k, v, mask="q - k < windw", scalars={"window": 2})
    expect_refusal(wrong, "scalar 'window' is 4294967296", q, k, v, mask="q < window",
                   scalars={"window": 2**32})
    expect_refusal(wrong, "scalar 'window' is 'a'; it must be an int or a float", q, k, v,
                   mask="q < window", scalars={"window": "a"})
    expect_refusal(wrong, "mask is 3; it must be", q, k, v, mask=3)
    expect_refusal(wrong, "has a NUL in it", q, k, v, mask="k <= q\0 && q - k < 3")
    expect_refusal(wrong, "has a NUL in it", q, k, v, schedule="block_q=8\0x")
    expect_refusal(wrong, "it has half a surrogate pair", q, k, v, mask="\ud800")
    expect_refusal(wrong, "scalar 'x' is 9007199254740993; it must be a number that fits", q, k, v,
                   mask="k < x", scalars={"x": 2**53 + 1})
    expect_refusal(wrong, "it must be a number that fits", q, k, v, scale=10**400)
    expect_refusal(wrong, "return_lse is 'no'; it must be True or False", q, k, v, return_lse="no")
    expect_refusal(wrong, "q has layout torch.sparse_coo; it must be strided", q.to_sparse(), k, v)
    expect_refusal(wrong, "resolve_neg()", torch._neg_view(q), k, v)
    expect_refusal(wrong, "resolve_neg()", q, k, v, score="s + t[h]",
                   tensors={"t": torch.complex(torch.randn(4), torch.randn(4)).conj().imag})
    expect_refusal(wrong, "scale is 'a'; it must be an int or a float", q, k, v, scale="a")
    expect_refusal(wrong, "threads is -1; it must be", q, k, v, threads=-1)
    expect_refusal(wrong, "kernel is 'a.twk'; it must be what load(path) returns", q, k, v, kernel="a.twk")
    expect_refusal(wrong, "4 query heads are not a multiple of 3 kv heads", q, k[:, :3], v[:, :3])
    expect_refusal(wrong, "key_length is 10 in key and 9 in value", q, k, v[:, :, :9])
    expect_refusal(wrong, "key is f16[1, 4, 10, 8]", q, k.half(), v)
    expect_refusal(wrong, "q has 3 dimensions", q[0], k, v)
    expect_refusal(wrong, "q is a list; it must be a torch.Tensor", [1], k, v)
    expect_refusal(wrong, "q is torch.complex64", q.to(torch.complex64), k, v)
    expect_refusal(wrong, "tensor 'slope'", q, k, v, score="s + slope[h]",
                   tensors={"slope": torch.randn(3)})
    expect_refusal(wrong, "out overlaps value", q, k, v, out=v)
    expect_refusal(unsupported, "q requires a gradient", q.clone().requires_grad_(), k, v)
    for function, argument, text in ((tilewright.load, 3, "path is 3; it must be the name of a file"),
                                     (tilewright.load, "a\0b", "a name without NUL"),
                                     (tilewright.Kernel, "x", "load(path) returns one")):
        try:
            function(argument)
        except wrong as error:
            assert text in str(error), error
        else:
            raise AssertionError(f"was not refused: {text}")
    try:
        tilewright.load("no-such-file.twk")
    except tilewright.Error as error:
        assert "no-such-file.twk" in str(error)
    else:
        raise AssertionError("a file that is not there was loaded")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runtime")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    os.environ["TILEWRIGHT_LIBRARY"] = options.runtime
    print(f"seed {options.seed}, PyTorch {torch.__version__}")
    random.seed(options.seed)
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # its idle threads spin, and ours need the processors
    check_values()
    check_views()
    check_prepared_launches()
    check_refusals()
    print("attention on PyTorch's tensors is what PyTorch computes")


if __name__ == "__main__":
    main()
