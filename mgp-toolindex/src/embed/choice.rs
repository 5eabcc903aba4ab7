//! The choice of an embedder by configuration.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use super::{EmbedError, Embedder, StaticEmbedder};

/// The choice of an embedder, in the words of a configuration: `static` or `fastembed:PATH`.
///
/// ```
/// use mgp_toolindex::embed::EmbedderChoice;
///
/// let choice: EmbedderChoice = "fastembed:/models/small".parse()?;
/// assert_eq!(choice.to_string(), "fastembed:/models/small");
/// assert_eq!(EmbedderChoice::default(), "static".parse()?);
/// # Ok::<(), mgp_toolindex::embed::ChoiceError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbedderChoice {
    /// The table that is built in.
    #[default]
    Static,
    /// A sentence encoder for onnxruntime: the folder with its files, or the `.onnx` file in it.
    FastEmbed(PathBuf),
}

impl EmbedderChoice {
    /// Opens the embedder, or the built-in one if that fails, with a warning that has the reason.
    pub async fn open(&self) -> Arc<dyn Embedder> {
        self.try_open().await.unwrap_or_else(|error| {
            tracing::warn!(embedder = %self, %error, "the embedder cannot be used; the built-in one is used instead");
            built_in()
        })
    }

    /// Opens the embedder.
    ///
    /// # Errors
    /// The files are not usable, or the crate was built without this embedder.
    pub async fn try_open(&self) -> Result<Arc<dyn Embedder>, EmbedError> {
        match self {
            Self::Static => Ok(built_in()),
            Self::FastEmbed(path) => fast(path.clone()).await,
        }
    }
}

impl FromStr for EmbedderChoice {
    type Err = ChoiceError;

    fn from_str(words: &str) -> Result<Self, ChoiceError> {
        match words.split_once(':') {
            None if words == "static" => Ok(Self::Static),
            Some(("fastembed", path)) if !path.is_empty() => Ok(Self::FastEmbed(path.into())),
            _ => Err(ChoiceError),
        }
    }
}

impl fmt::Display for EmbedderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static => f.write_str("static"),
            Self::FastEmbed(path) => write!(f, "fastembed:{}", path.display()),
        }
    }
}

/// A text that names no embedder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an embedder is `static` or `fastembed:PATH`")]
#[expect(clippy::exhaustive_structs, reason = "there is nothing more to say")]
pub struct ChoiceError;

fn built_in() -> Arc<dyn Embedder> {
    Arc::new(StaticEmbedder::new())
}

/// Loads a model, which takes about a second.
#[cfg(feature = "fastembed")]
async fn fast(path: PathBuf) -> Result<Arc<dyn Embedder>, EmbedError> {
    let failed = || Err(EmbedError::new("the model panicked while it was loaded"));
    let loaded = super::off_thread(move || super::FastEmbedder::load(&path, None)).await;
    Ok(Arc::new(loaded.unwrap_or_else(failed)?))
}

#[cfg(not(feature = "fastembed"))]
#[expect(clippy::unused_async, reason = "with the feature it waits")]
async fn fast(_: PathBuf) -> Result<Arc<dyn Embedder>, EmbedError> {
    Err(EmbedError::new("this program is built without the feature `fastembed`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read_and_written_in_the_same_words() {
        for words in ["static", "fastembed:/models/a:b"] {
            assert_eq!(words.parse::<EmbedderChoice>().unwrap().to_string(), words);
        }
        for words in ["", "Static", "static:x", "encoder:/x", "fastembed", "fastembed:", "x:y"] {
            assert_eq!(words.parse::<EmbedderChoice>(), Err(ChoiceError), "{words}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_had_is_replaced_by_what_is_built_in() {
        let built_in = EmbedderChoice::Static.open().await;
        let choice: EmbedderChoice = "fastembed:/no/such/folder".parse().unwrap();
        assert!(choice.try_open().await.is_err());
        assert_eq!(choice.open().await.id(), built_in.id());
    }
}
