//! Sentence encoders run by onnxruntime (feature `fastembed`).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fastembed::{InitOptionsUserDefined, Pooling, TextEmbedding, TokenizerFiles, UserDefinedEmbeddingModel};
use mgp_types::BoxFuture;
use ort::environment::Environment;
use parking_lot::Mutex;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{EmbedError, Embedder, off_thread, short_hex};

/// A sentence encoder, run on this machine by onnxruntime.
///
/// Its files lie in one folder, as models are published: `model.onnx` or `model_int8.onnx`, `tokenizer.json`,
/// `config.json`, `special_tokens_map.json` and `tokenizer_config.json`; and `1_Pooling/config.json`, without which the
/// vectors of a text's tokens are averaged. Nothing is downloaded.
#[derive(Debug)]
pub struct FastEmbedder {
    id: String,
    dimension: usize,
    /// The number of texts that are embedded at once.
    batch: usize,
    model: Arc<Mutex<FastEmbedModel>>,
}

struct FastEmbedModel(TextEmbedding);

const PROBE: &str = "text";

/// The number of tokens that a model gets at most; some models take fewer.
const MAX_TOKENS: usize = 512;

/// The likeness from which on two vectors are of one text: they differ by the order in which numbers were added, and by
/// no more.
const ALIKE: f32 = 0.9999;

/// The number of texts that are embedded at once and under one lock; a query waits for no more.
const BATCH: usize = 16;

impl FastEmbedder {
    /// Loads a model, which takes about a second.
    ///
    /// `path` is the folder, and the smaller of the two files is taken; or it is the `.onnx` file to take. `library` is
    /// the path of onnxruntime, version 1.24 or newer; the default is the environment variable `ORT_DYLIB_PATH`. A
    /// process has one onnxruntime: that of the first model.
    ///
    /// # Errors
    /// A file is missing or malformed, or onnxruntime is missing or too old.
    pub fn load(path: &Path, library: Option<&Path>) -> Result<Self, EmbedError> {
        let files = Files::find(path)?;
        let environment = environment(library)?;
        let (model, digest) = open(&files, environment)?;
        let mut model = FastEmbedModel(model);
        let alone = model.embed(&[PROBE])?.swap_remove(0);
        if alone.is_empty() {
            return Err(EmbedError::new("the model makes no vectors"));
        }
        let dimension = alone.len();
        let beside = model.embed(&[PROBE, &"a longer text ".repeat(30)])?.swap_remove(0);
        // Models that are quantised as they run round the numbers of all texts of a batch alike. They gain nothing by
        // batches either, so that each text is embedded alone, and always has the same vector.
        let batch = if likeness(&alone, &beside) > ALIKE { BATCH } else { 1 };
        let id = format!("fastembed:{}:{}", files.name(), short_hex(&digest.finalize()));
        Ok(Self { id, dimension, batch, model: Arc::new(Mutex::new(model)) })
    }
}

/// Opens a model, and returns the digest of its files.
fn open(files: &Files, environment: Environment) -> Result<(TextEmbedding, Sha256), EmbedError> {
    let model_file = read(&files.model)?;
    let tokenizer_file = read(&files.folder.join("tokenizer.json"))?;
    let digest = Sha256::new().chain_update(&model_file).chain_update(&tokenizer_file);
    let tokenizer_files = TokenizerFiles {
        tokenizer_file,
        config_file: read(&files.folder.join("config.json"))?,
        special_tokens_map_file: read(&files.folder.join("special_tokens_map.json"))?,
        tokenizer_config_file: read(&files.folder.join("tokenizer_config.json"))?,
    };
    let model = UserDefinedEmbeddingModel::new(model_file, tokenizer_files).with_pooling(files.pooling()?);
    // One thread is enough for a query; more of them would spin between queries, and take the processor from
    // searches while tools are embedded.
    let options = InitOptionsUserDefined::new()
        .with_environment(environment)
        .with_max_length(MAX_TOKENS)
        .with_intra_threads(1);
    let model = TextEmbedding::try_new_from_user_defined(model, options).map_err(|error| failed(&error))?;
    Ok((model, digest))
}

impl Embedder for FastEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>> {
        let (model, most) = (Arc::clone(&self.model), self.batch);
        let work = move || in_batches(&texts, most, |batch| model.lock().embed(batch));
        let failed = || Err(EmbedError::new("the model panicked, or the program is ending"));
        Box::pin(async move { off_thread(work).await.unwrap_or_else(failed) })
    }
}

impl FastEmbedModel {
    fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = self.0.embed(texts, Some(texts.len())).map_err(|error| failed(&error))?;
        if vectors.len() == texts.len() {
            Ok(vectors)
        } else {
            Err(EmbedError::new(format!("{} texts have {} vectors", texts.len(), vectors.len())))
        }
    }
}

mgp_types::partial_debug!(FastEmbedModel);

/// Embeds texts of about the same length together, because the shorter ones of a batch cost as much as its longest.
fn in_batches(
    texts: &[String],
    most: usize,
    mut embed: impl FnMut(&[&str]) -> Result<Vec<Vec<f32>>, EmbedError>,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&place| texts[place].len());
    let mut vectors = vec![Vec::new(); texts.len()];
    for places in order.chunks(most) {
        let batch: Vec<&str> = places.iter().map(|&place| &*texts[place]).collect();
        for (&place, vector) in places.iter().zip(embed(&batch)?) {
            vectors[place] = vector;
        }
    }
    Ok(vectors)
}

fn likeness(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The paths of the files of a model.
struct Files {
    folder: PathBuf,
    model: PathBuf,
}

/// The names of model files, the smaller first: a query takes a fraction of the time, and the ranking is nearly the
/// same.
const MODEL_FILES: [&str; 2] = ["model_int8.onnx", "model.onnx"];

impl Files {
    fn find(path: &Path) -> Result<Self, EmbedError> {
        if path.is_file() {
            let folder = path.parent().unwrap_or_else(|| Path::new(".")).into();
            return Ok(Self { folder, model: path.into() });
        }
        let model = MODEL_FILES.iter().map(|name| path.join(name)).find(|model| model.is_file());
        let model = model.ok_or_else(|| {
            EmbedError::new(format!("{} has no {}", path.display(), MODEL_FILES.join(" and no ")))
        })?;
        Ok(Self { folder: path.into(), model })
    }

    /// Returns the folder and the file, by which people know the model.
    fn name(&self) -> String {
        let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        format!("{}/{}", name(&self.folder), name(&self.model))
    }

    fn pooling(&self) -> Result<Pooling, EmbedError> {
        let path = self.folder.join("1_Pooling/config.json");
        if !path.exists() {
            return Ok(Pooling::Mean);
        }
        let config: PoolingConfig = serde_json::from_slice(&read(&path)?)
            .map_err(|error| EmbedError::new(format!("{}: {error}", path.display())))?;
        match (config.pooling_mode_cls_token, config.pooling_mode_mean_tokens) {
            (true, false) => Ok(Pooling::Cls),
            (false, true) => Ok(Pooling::Mean),
            _ => Err(EmbedError::new("the model pools in an unknown way")),
        }
    }
}

#[derive(Deserialize)]
struct PoolingConfig {
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
}

fn read(path: &Path) -> Result<Vec<u8>, EmbedError> {
    fs::read(path).map_err(|error| EmbedError::new(format!("{}: {error}", path.display())))
}

static ENVIRONMENT: Mutex<Option<Environment>> = Mutex::new(None);

/// Returns the onnxruntime of this process. The library has to be loaded before any other use of `ort`, which would
/// panic without it.
fn environment(library: Option<&Path>) -> Result<Environment, EmbedError> {
    let mut environment = ENVIRONMENT.lock();
    if let Some(environment) = &*environment {
        return Ok(environment.clone());
    }
    let library = match library {
        Some(library) => library.into(),
        None => std::env::var_os("ORT_DYLIB_PATH")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from)
            .ok_or_else(|| EmbedError::new("ORT_DYLIB_PATH is not set: set it to the path of onnxruntime"))?,
    };
    let builder = ort::init_from(library).map_err(|error| EmbedError::new(error.to_string()))?;
    let made = builder.with_name("mgp").with_telemetry(false).build();
    let made = made.map_err(|error| EmbedError::new(error.to_string()))?;
    Ok(environment.insert(made).clone())
}

fn failed(error: &fastembed::Error) -> EmbedError {
    EmbedError::new(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_embedded_by_length_and_answered_in_their_order() {
        let texts: Vec<String> = (0..40).map(|n| "x".repeat(n * 7 % 40)).collect();
        let mut longest = Vec::new();
        let vectors = in_batches(&texts, 16, |batch| {
            assert!(batch.len() <= 16);
            longest.push(batch.iter().map(|text| text.len()).max());
            #[expect(clippy::cast_precision_loss, reason = "short texts")]
            Ok(batch.iter().map(|text| vec![text.len() as f32]).collect())
        });
        #[expect(clippy::cast_precision_loss, reason = "short texts")]
        let lengths: Vec<_> = texts.iter().map(|text| vec![text.len() as f32]).collect();
        assert_eq!(vectors, Ok(lengths));
        assert!(longest.is_sorted());
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = |path: &Path, library: &str| {
            FastEmbedder::load(path, Some(Path::new(library))).unwrap_err().to_string()
        };
        assert!(error(folder.path(), "none.so").contains("model_int8.onnx"));
        fs::write(folder.path().join("model.onnx"), "no model").unwrap();
        assert!(error(folder.path(), "/no/such/onnxruntime.so").contains("/no/such/onnxruntime.so"));
        let no_library = folder.path().join("model.onnx");
        assert!(error(folder.path(), no_library.to_str().unwrap()).contains("model.onnx"));
    }

    #[test]
    fn a_folder_says_how_its_model_pools() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files { folder: folder.path().into(), model: folder.path().join("model.onnx") };
        assert_eq!(files.pooling(), Ok(Pooling::Mean));
        fs::create_dir(folder.path().join("1_Pooling")).unwrap();
        let pooling = |config: &str| {
            fs::write(folder.path().join("1_Pooling/config.json"), config).unwrap();
            files.pooling()
        };
        assert_eq!(pooling(r#"{"pooling_mode_cls_token":true}"#), Ok(Pooling::Cls));
        assert!(pooling(r#"{"pooling_mode_max_tokens":true}"#).is_err());
        assert!(pooling("nonsense").is_err());
    }
}
