//! The network: from the pieces of a text to its vector.

#![expect(clippy::inline_always, reason = "the vector instructions reach only what is inlined")]

use pulp::Arch;
use serde::Deserialize;

use super::attention;
use super::attention::attend;
use super::functions::{gelu, sum};
use super::linear::{Linear, OUTPUTS};
use super::rows::{Rows, WholeRows, largest, round};
use super::safetensors::Safetensors;
use crate::embed::EmbedError;

/// A model of the BERT family, with its weights.
#[derive(Debug)]
pub(super) struct Network {
    arch: Arch,
    words: WordVectors,
    /// A row for each place in a text.
    places: Rows,
    norm: Norm,
    layers: Vec<Layer>,
    heads: usize,
    pub(super) width: usize,
}

#[derive(Debug)]
struct Layer {
    /// The queries, keys and values of attention.
    asked: Linear,
    attended: Linear,
    attended_norm: Norm,
    inner: Linear,
    outer: Linear,
    outer_norm: Norm,
}

impl Network {
    /// Reads the weights of a model, and rounds them.
    pub(super) fn read(config: &ModelConfig, weights: &mut Safetensors) -> Result<Self, EmbedError> {
        let ModelConfig { hidden_size: width, .. } = *config;
        let kinds =
            weights.read("embeddings.token_type_embeddings.weight", &[config.type_vocab_size, width])?;
        let mut places = weights
            .read("embeddings.position_embeddings.weight", &[config.max_position_embeddings, width])?;
        places.truncate(super::MAX_PIECES * width);
        // All of a text is of the first kind.
        for place in places.chunks_exact_mut(width) {
            place.iter_mut().zip(&kinds).for_each(|(place, kind)| *place += kind);
        }
        let words = weights.read("embeddings.word_embeddings.weight", &[config.vocab_size, width])?;
        let words = WordVectors::new(width, &words);
        let norm = Norm::read(config, weights, "embeddings.LayerNorm")?;
        let layers = (0..config.num_hidden_layers).map(|number| Layer::read(config, weights, number));
        Ok(Self {
            arch: Arch::new(),
            words,
            places: Rows { width, numbers: places },
            norm,
            layers: layers.collect::<Result<_, _>>()?,
            heads: config.num_attention_heads,
            width,
        })
    }

    /// Returns the vector of each text, of length 1, from the numbers of its pieces: the mean of the vectors of all its
    /// pieces. Together, short texts take little more time than one of them: the weights are read once.
    pub(super) fn vectors(&self, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let arch = self.arch;
        let mut rows = Rows::new(texts.iter().map(Vec::len).sum(), self.width);
        let pieces = texts.iter().flat_map(|pieces| pieces.iter().zip(self.places.iter()));
        for (row, (piece, place)) in rows.iter_mut().zip(pieces) {
            self.words.add(*piece, row);
            row.iter_mut().zip(place).for_each(|(number, place)| *number += place);
        }
        self.norm.apply(arch, &mut rows);
        for layer in &self.layers {
            let asked = layer.asked.apply(arch, &whole(arch, &rows));
            let mut attended = Rows::new(0, self.width);
            for asked in asked.parts(texts.iter().map(Vec::len)) {
                attended.numbers.extend(attend(arch, &asked, self.heads).numbers);
            }
            add(&mut rows, &layer.attended.apply(arch, &whole(arch, &attended)));
            layer.attended_norm.apply(arch, &mut rows);
            let mut inner = layer.inner.apply(arch, &whole(arch, &rows));
            arch.dispatch(|| inner.numbers.iter_mut().for_each(|number| *number = gelu(*number)));
            add(&mut rows, &layer.outer.apply(arch, &whole(arch, &inner)));
            layer.outer_norm.apply(arch, &mut rows);
        }
        rows.parts(texts.iter().map(Vec::len)).map(|rows| mean_direction(&rows)).collect()
    }
}

/// Returns the direction of the mean of some rows, as a vector of length 1.
fn mean_direction(rows: &Rows) -> Vec<f32> {
    let mut vector = vec![0.0; rows.width];
    for row in rows.iter() {
        vector.iter_mut().zip(row).for_each(|(sum, number)| *sum += number);
    }
    let length = sum(&vector, |number| number * number).sqrt().max(f32::MIN_POSITIVE);
    for number in &mut vector {
        *number /= length;
    }
    vector
}

fn whole(arch: Arch, rows: &Rows) -> WholeRows {
    arch.dispatch(|| WholeRows::of(rows))
}

fn add(rows: &mut Rows, other: &Rows) {
    rows.numbers.iter_mut().zip(&other.numbers).for_each(|(number, other)| *number += other);
}

impl Layer {
    fn read(config: &ModelConfig, weights: &mut Safetensors, number: usize) -> Result<Self, EmbedError> {
        let ModelConfig { hidden_size: width, intermediate_size: inner, .. } = *config;
        let mut linear = |names: &[&str], outputs: usize, inputs: usize| {
            let (mut all, mut shifts) = (Vec::new(), Vec::new());
            for name in names {
                let name = format!("encoder.layer.{number}.{name}");
                all.extend(weights.read(&format!("{name}.weight"), &[outputs, inputs])?);
                shifts.extend(weights.read(&format!("{name}.bias"), &[outputs])?);
            }
            Ok(Linear::new(&all, shifts))
        };
        let asked = ["attention.self.query", "attention.self.key", "attention.self.value"];
        let asked = linear(&asked, width, width)?;
        let attended = linear(&["attention.output.dense"], width, width)?;
        let inner_part = linear(&["intermediate.dense"], inner, width)?;
        let outer = linear(&["output.dense"], width, inner)?;
        let mut norm =
            |name: &str| Norm::read(config, weights, &format!("encoder.layer.{number}.{name}.LayerNorm"));
        Ok(Self {
            asked,
            attended,
            attended_norm: norm("attention.output")?,
            inner: inner_part,
            outer,
            outer_norm: norm("output")?,
        })
    }
}

/// The vectors of all pieces, as whole numbers with a factor each.
#[derive(Debug)]
struct WordVectors {
    width: usize,
    numbers: Box<[i16]>,
    scales: Box<[f32]>,
}

impl WordVectors {
    fn new(width: usize, words: &[f32]) -> Self {
        let mut numbers = vec![0; words.len()].into_boxed_slice();
        let scales = words.chunks_exact(width).zip(numbers.chunks_exact_mut(width)).map(|(word, whole)| {
            let scale = largest(word) / f32::from(i16::MAX);
            round(word, scale, whole);
            scale
        });
        let scales = scales.collect();
        Self { width, numbers, scales }
    }

    /// Adds the vector of a piece.
    fn add(&self, piece: u32, row: &mut [f32]) {
        let piece = piece as usize;
        let scale = self.scales[piece];
        let numbers = &self.numbers[piece * self.width..][..self.width];
        row.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += scale * f32::from(*number));
    }
}

/// A layer that brings each row to the same mean and spread.
#[derive(Debug)]
struct Norm {
    scales: Vec<f32>,
    shifts: Vec<f32>,
    /// The number that is added to each variance.
    epsilon: f32,
}

impl Norm {
    fn read(config: &ModelConfig, weights: &mut Safetensors, name: &str) -> Result<Self, EmbedError> {
        let scales = weights.read(&format!("{name}.weight"), &[config.hidden_size])?;
        let shifts = weights.read(&format!("{name}.bias"), &[config.hidden_size])?;
        Ok(Self { scales, shifts, epsilon: config.layer_norm_eps })
    }

    fn apply(&self, arch: Arch, rows: &mut Rows) {
        arch.dispatch(|| rows.iter_mut().for_each(|row| self.apply_to_row(row)));
    }

    #[inline(always)]
    fn apply_to_row(&self, row: &mut [f32]) {
        #[expect(clippy::cast_precision_loss, reason = "a row has some hundred numbers")]
        let count = row.len() as f32;
        let mean = sum(row, |number| number) / count;
        let variance = sum(row, |number| (number - mean) * (number - mean)) / count;
        let factor = (variance + self.epsilon).sqrt().recip();
        for ((number, scale), shift) in row.iter_mut().zip(&self.scales).zip(&self.shifts) {
            *number = (*number - mean) * factor * scale + shift;
        }
    }
}

/// The sizes of a model.
#[derive(Debug, Deserialize)]
pub(super) struct ModelConfig {
    model_type: String,
    hidden_act: String,
    pub(super) hidden_size: usize,
    pub(super) intermediate_size: usize,
    pub(super) layer_norm_eps: f32,
    pub(super) max_position_embeddings: usize,
    pub(super) num_attention_heads: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) type_vocab_size: usize,
    pub(super) vocab_size: usize,
}

/// Sizes of which no encoder of sentences has more.
const MAX_WIDE: usize = 1 << 13;
const MAX_LAYERS: usize = 1 << 7;
const MAX_PIECES: usize = 1 << 20;

/// The shortest text has two pieces besides its own.
const FEWEST_PLACES: usize = 3;

impl ModelConfig {
    pub(super) fn read(file: &[u8]) -> Result<Self, EmbedError> {
        let wrong = |why: &str| EmbedError::new(format!("config.json: {why}"));
        let config: Self = serde_json::from_slice(file).map_err(|error| wrong(&error.to_string()))?;
        if config.model_type != "bert" || config.hidden_act != "gelu" {
            return Err(wrong("only models of the type `bert` with the activation `gelu` are known"));
        }
        let is_width = |width: usize| width.is_multiple_of(OUTPUTS) && (1..=MAX_WIDE).contains(&width);
        let heads = config.num_attention_heads;
        let sizes = is_width(config.hidden_size)
            && is_width(config.intermediate_size)
            && heads > 0
            && config.hidden_size.is_multiple_of(heads)
            && (config.hidden_size / heads).is_multiple_of(attention::AT_ONCE)
            && config.num_hidden_layers <= MAX_LAYERS
            && (1..=MAX_PIECES).contains(&config.vocab_size)
            && (1..=MAX_PIECES).contains(&config.type_vocab_size)
            && (FEWEST_PLACES..=MAX_PIECES).contains(&config.max_position_embeddings)
            && (0.0..1.0).contains(&config.layer_norm_eps);
        if sizes { Ok(config) } else { Err(wrong("a size is not one of such a model")) }
    }
}
