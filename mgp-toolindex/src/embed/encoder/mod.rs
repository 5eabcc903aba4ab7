//! A sentence encoder without a foreign library: a small model of the BERT family, such as all-MiniLM-L6-v2, whose
//! weights are rounded to whole numbers when they are read.

mod attention;
#[cfg(all(test, feature = "fastembed"))]
mod comparison_tests;
mod functions;
mod lanes;
mod linear;
mod network;
mod rows;
mod safetensors;
#[cfg(test)]
mod tests;
mod word_pieces;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use mgp_types::BoxFuture;
use sha2::{Digest as _, Sha256};

use self::network::{ModelConfig, Network};
use self::safetensors::Safetensors;
use self::word_pieces::WordPieces;
use super::{EmbedError, Embedder, StaticEmbedder, off_thread, short_hex};

/// A sentence encoder, from the files of a published model.
///
/// The files lie in one folder: `model.safetensors`, `tokenizer.json` and `config.json`. Models of the BERT family
/// without case are known, and the vector of a text is the mean of the vectors of its pieces, of which the first 256
/// are read. The vectors are those of the published weights to the third digit and better.
#[derive(Debug, Clone)]
pub struct SentenceEncoder {
    model: Arc<EncoderModel>,
}

#[derive(Debug)]
struct EncoderModel {
    id: String,
    pieces: WordPieces,
    network: Network,
    /// The number of pieces of a text at most.
    most_pieces: usize,
}

/// The number of pieces that are read of a text at most.
const MAX_PIECES: usize = 256;

/// The names of the files of a model.
const WEIGHTS: &str = "model.safetensors";
const TOKENIZER: &str = "tokenizer.json";
const CONFIG: &str = "config.json";

/// The prefix of what names the vectors; it changes whenever they are made in another way.
const RECIPE: &[u8] = b"mgp encoder 1\0";

/// The largest size of a file with settings, in bytes.
const MAX_TEXT: u64 = 64 << 20;

impl SentenceEncoder {
    /// Loads the model of a folder, which takes about half a second.
    ///
    /// # Errors
    /// A file is missing or malformed, or the model is of another kind.
    pub fn load(folder: &Path) -> Result<Self, EmbedError> {
        let config_file = read(&folder.join(CONFIG))?;
        let tokenizer_file = read(&folder.join(TOKENIZER))?;
        let weights = folder.join(WEIGHTS);
        let mut digest = Sha256::new_with_prefix(RECIPE);
        digest.update(&config_file);
        digest.update(&tokenizer_file);
        update(&mut digest, &weights)?;
        let config = ModelConfig::read(&config_file)?;
        let pieces = WordPieces::read(&tokenizer_file, config.vocab_size)?;
        let network = Network::read(&config, &mut Safetensors::open(&weights)?)?;
        let id = format!("encoder-{}", short_hex(&digest.finalize()));
        let most_pieces = config.max_position_embeddings.min(MAX_PIECES);
        Ok(Self { model: Arc::new(EncoderModel { id, pieces, network, most_pieces }) })
    }

    /// Returns the name of a file of a model that a folder lacks, if there is one.
    pub fn missing(folder: &Path) -> Option<&'static str> {
        [CONFIG, TOKENIZER, WEIGHTS].into_iter().find(|name| !folder.join(name).is_file())
    }

    /// Returns the vector of a text, of length 1; `None` for a text without a piece.
    #[cfg(test)]
    fn vector(&self, text: &str) -> Option<Vec<f32>> {
        let vector = self.model.vectors(&[text.to_owned()]).swap_remove(0);
        vector.iter().any(|member| *member != 0.0).then_some(vector)
    }
}

impl EncoderModel {
    /// Returns the vectors of texts; that of a text without a piece has zeros.
    fn vectors(&self, texts: &[String]) -> Vec<Vec<f32>> {
        let mut vectors = vec![vec![0.0; self.network.width]; texts.len()];
        let (mut together, mut places) = (Vec::new(), Vec::new());
        let mut read = 0;
        for (place, text) in texts.iter().enumerate() {
            let pieces = self.pieces.split(text, self.most_pieces);
            // A text has pieces besides those for its start and its end, or it has no meaning.
            if pieces.len() > 2 {
                read += pieces.len();
                together.push(pieces);
                places.push(place);
            }
            if read >= TOGETHER || (place + 1 == texts.len() && read > 0) {
                for (place, vector) in places.drain(..).zip(self.network.vectors(&together)) {
                    vectors[place] = vector;
                }
                together.clear();
                read = 0;
            }
        }
        vectors
    }
}

impl Embedder for SentenceEncoder {
    fn id(&self) -> &str {
        &self.model.id
    }

    fn dimension(&self) -> usize {
        self.model.network.width
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        let model = Arc::clone(&self.model);
        // Nothing is locked, so that a query does not wait for the texts of tools.
        let work = move || model.vectors(&texts);
        let failed = || EmbedError::new("the encoder panicked, or the program is ending");
        Box::pin(async move { off_thread(work).await.ok_or_else(failed) })
    }

    /// Returns the share of words in a script that such a model knows: it has little but letters of others, as the
    /// built-in table has.
    fn grasps(&self, text: &str) -> f32 {
        StaticEmbedder::new().grasps(text)
    }
}

/// The number of pieces from which on texts are not read together any more: more of them gain nothing.
const TOGETHER: usize = 64;

fn read(path: &Path) -> Result<Vec<u8>, EmbedError> {
    let failed = |error: std::io::Error| EmbedError::new(format!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.take(MAX_TEXT).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Adds the contents of a file to a digest.
fn update(digest: &mut Sha256, path: &Path) -> Result<(), EmbedError> {
    let failed = |error: std::io::Error| EmbedError::new(format!("{}: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block).map_err(failed)? {
            0 => return Ok(()),
            some => digest.update(&block[..some]),
        }
    }
}
