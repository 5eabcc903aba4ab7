//! The sizes of a model, as its `config.json` tells them.

use serde::Deserialize;

use super::attention;
use super::linear::OUTPUTS;
use crate::embed::EmbedError;

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
