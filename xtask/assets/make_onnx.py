#!/usr/bin/env python3
"""Makes ONNX files of a sentence encoder of the BERT family from its published weights.

usage: make_onnx.py FOLDER_WITH_WEIGHTS FOLDER_TO_FILL SHA256_OF_WEIGHTS

Writes model.onnx and, with weights of 8 bits, model_int8.onnx; the files of the tokenizer are copied. The graph is that
of BERT up to the vectors of all tokens, `last_hidden_state`. Whoever uses it has to average them.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

# The first in which GELU is one operator.
OPSET = 20
# The newest form that onnxruntime of the time of that operator set reads.
IR_VERSION = 9
BESIDE_THE_MODEL = [
    "tokenizer.json",
    "config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
]


class Graph:
    """Nodes and tensors, named in the order they come about."""

    def __init__(self):
        self.nodes = []
        self.tensors = {}

    def constant(self, name, value):
        self.tensors.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def integers(self, *values):
        return self.constant("integers_" + "_".join(map(str, values)), np.array(values, np.int64))

    def number(self, name, value):
        return self.constant(name, np.array(value, np.float32))

    def node(self, kind, *inputs, name=None, **attributes):
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name


class Encoder:
    """BERT, layer by layer."""

    def __init__(self, config, weights):
        self.width = config["hidden_size"]
        self.heads = config["num_attention_heads"]
        self.layers = config["num_hidden_layers"]
        self.epsilon = config["layer_norm_eps"]
        if config["hidden_act"] != "gelu":
            raise SystemExit(f"the activation {config['hidden_act']} is not known here")
        self.weights = {name.removeprefix("bert."): value for name, value in weights.items()}
        self.graph = Graph()

    def weight(self, name):
        return self.graph.constant(name, self.weights[name].astype(np.float32))

    def linear(self, value, name):
        transposed = self.weights[name + ".weight"].astype(np.float32).T
        product = self.graph.node("MatMul", value, self.graph.constant(name + ".weight", transposed))
        return self.graph.node("Add", product, self.weight(name + ".bias"))

    def normalized_sum(self, one, other, place, name=None):
        scale, shift = self.weight(place + ".weight"), self.weight(place + ".bias")
        total = self.graph.node("Add", one, other)
        return self.graph.node("LayerNormalization", total, scale, shift, name=name, axis=-1, epsilon=self.epsilon)

    def embeddings(self):
        node, integers = self.graph.node, self.graph.integers
        words = node("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids")
        types = node("Gather", self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
        length = node("Shape", "input_ids", start=1, end=2)
        places = self.weight("embeddings.position_embeddings.weight")
        places = node("Slice", places, integers(0), length, integers(0))
        return self.normalized_sum(node("Add", words, types), places, "embeddings.LayerNorm")

    def mask(self):
        """What is added to the attention of each token: nothing, or so much less than nothing that none is left."""
        node = self.graph.node
        wide = node("Unsqueeze", "attention_mask", self.graph.integers(1, 2))
        is_padding = node("Equal", wide, self.graph.integers(0))
        none, all_of_it = self.graph.number("none", 0.0), self.graph.number("all_of_it", -1e4)
        return node("Where", is_padding, all_of_it, none)

    def attention(self, value, mask, place):
        node, integers = self.graph.node, self.graph.integers
        by_heads = integers(0, 0, self.heads, self.width // self.heads)

        def part(name, order):
            split = node("Reshape", self.linear(value, f"{place}.self.{name}"), by_heads)
            return node("Transpose", split, perm=order)

        query, key, meaning = part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1]), part("value", [0, 2, 1, 3])
        root = self.graph.number("root", np.sqrt(self.width / self.heads))
        scores = node("Add", node("Div", node("MatMul", query, key), root), mask)
        mixed = node("MatMul", node("Softmax", scores, axis=-1), meaning)
        joined = node("Reshape", node("Transpose", mixed, perm=[0, 2, 1, 3]), integers(0, 0, self.width))
        return self.normalized_sum(self.linear(joined, f"{place}.output.dense"), value, f"{place}.output.LayerNorm")

    def layer(self, value, mask, number):
        place = f"encoder.layer.{number}"
        attended = self.attention(value, mask, f"{place}.attention")
        inner = self.graph.node("Gelu", self.linear(attended, f"{place}.intermediate.dense"))
        name = "last_hidden_state" if number == self.layers - 1 else None
        return self.normalized_sum(self.linear(inner, f"{place}.output.dense"), attended, f"{place}.output.LayerNorm", name)

    def model(self):
        value, mask = self.embeddings(), self.mask()
        for number in range(self.layers):
            value = self.layer(value, mask, number)
        shape = ["batch", "tokens"]
        inputs = ["input_ids", "attention_mask", "token_type_ids"]
        graph = helper.make_graph(
            self.graph.nodes,
            "encoder",
            [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
            [helper.make_tensor_value_info(value, TensorProto.FLOAT, [*shape, self.width])],
            list(self.graph.tensors.values()),
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        onnx.checker.check_model(model, full_check=True)
        return model


def main(source, target, expected):
    weights = source / "model.safetensors"
    actual = hashlib.sha256(weights.read_bytes()).hexdigest()
    if actual != expected:
        raise SystemExit(f"error: {weights} has the SHA-256 {actual} instead of {expected}")
    target.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    onnx.save(Encoder(config, load_file(weights)).model(), target / "model.onnx")
    # A scale for each column keeps the most of it; the table of words is the largest part of so small a model.
    quantize_dynamic(
        target / "model.onnx",
        target / "model_int8.onnx",
        op_types_to_quantize=["MatMul", "Gather"],
        per_channel=True,
        weight_type=QuantType.QInt8,
    )
    for name in BESIDE_THE_MODEL:
        shutil.copy(source / name, target / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
