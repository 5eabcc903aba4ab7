"""The sentence encoder that the table is fitted to."""

import hashlib
import json

import numpy as np
import onnxruntime

from words import TeacherPieces

# A longer text is cut: what it is about has been said by then.
MOST_PIECES = 96
# Texts of like length go through together, as many as make this many pieces.
PIECES_AT_ONCE = 2048
TEXTS_AT_ONCE = 256


class Teacher:
    """all-MiniLM-L6-v2, or another BERT encoder whose sentence vector is the mean of its outputs."""

    def __init__(self, model):
        self.digest = hashlib.sha256(model.read_bytes()).hexdigest()
        tokenizer = json.loads(model.with_name("tokenizer.json").read_text(encoding="utf-8"))
        self.vocabulary = tokenizer["model"]["vocab"]
        self.pieces = TeacherPieces(self.vocabulary)
        options = onnxruntime.SessionOptions()
        # How sums are shared out must not depend on the machine.
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(model), options)

    def of_texts(self, texts):
        """A vector for each text, of length one."""
        first, last = self.vocabulary["[CLS]"], self.vocabulary["[SEP]"]
        inputs = [[first, *self.pieces.of_text(text)[: MOST_PIECES - 2], last] for text in texts]
        order = sorted(range(len(inputs)), key=lambda number: len(inputs[number]))
        vectors = np.zeros((len(texts), self._width()), np.float32)
        at = 0
        while at < len(order):
            count = 1
            while (
                at + count < len(order)
                and (count + 1) * len(inputs[order[at + count]]) <= PIECES_AT_ONCE
                and count < TEXTS_AT_ONCE
            ):
                count += 1
            batch = order[at : at + count]
            vectors[batch] = self._of_batch([inputs[number] for number in batch])
            at += count
        return vectors

    def of_pieces(self):
        """A vector for each piece of the vocabulary, as if it were a text of its own."""
        first, last = self.vocabulary["[CLS]"], self.vocabulary["[SEP]"]
        rows = [[first, piece, last] for piece in range(max(self.vocabulary.values()) + 1)]
        return np.concatenate([self._of_batch(rows[at : at + 512]) for at in range(0, len(rows), 512)])

    def _width(self):
        return self.session.get_outputs()[0].shape[2]

    def _of_batch(self, rows):
        longest = max(map(len, rows))
        pieces = np.zeros((len(rows), longest), np.int64)
        mask = np.zeros((len(rows), longest), np.int64)
        for number, row in enumerate(rows):
            pieces[number, : len(row)] = row
            mask[number, : len(row)] = 1
        inputs = {"input_ids": pieces, "attention_mask": mask, "token_type_ids": np.zeros_like(pieces)}
        output = self.session.run(None, inputs)[0]
        vectors = (output * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
