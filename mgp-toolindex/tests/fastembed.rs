//! Tests with a real sentence encoder. `cargo xtask fastembed` brings the files and runs them.

#![cfg(feature = "fastembed")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "this is a test, and says why it does nothing")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mgp_toolindex::embed::{Embedder, EmbedderChoice, FastEmbedder};
use mgp_toolindex::{Index, Search, ServerTools, ToolListing};
use mgp_types::RawJson;
use mgp_types::mgp::SearchStrategy;
use serde_json::json;

/// Returns the folder of the model, or prints why there is none.
fn model() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let model = variable("FASTEMBED_TEST_MODEL").zip(variable("ORT_DYLIB_PATH"));
    if model.is_none() {
        println!(
            "skipped: FASTEMBED_TEST_MODEL and ORT_DYLIB_PATH are not set; `cargo xtask fastembed` sets them"
        );
    }
    Some(model?.0.into())
}

async fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Vec<Vec<f32>> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    embedder.embed(texts).await.unwrap()
}

fn likeness(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The texts and the sums of their vectors stand in the tests of fastembed itself.
#[tokio::test]
async fn vectors_are_those_of_the_published_model() {
    let Some(model) = model() else { return };
    let embedder = FastEmbedder::load(&model.join("model.onnx"), None).unwrap();
    assert_eq!(embedder.dimension(), 384);
    let texts = [
        "Hello, World!",
        "This is an example passage.",
        "fastembed-rs is licensed under Apache-2.0",
        "Some other short text here blah blah blah",
    ];
    let vectors = embed(&embedder, &texts).await;
    for (vector, expected) in
        vectors.iter().zip([0.596_055_27, 0.365_429_25, -0.164_500_31, -0.409_039_88_f32])
    {
        let sum: f32 = vector.iter().sum();
        assert!((sum - expected).abs() < 1e-4, "{sum} instead of {expected}");
    }
}

#[tokio::test]
async fn a_text_has_the_same_vector_whatever_it_is_embedded_with() {
    let Some(model) = model() else { return };
    for file in ["model.onnx", "model_int8.onnx"] {
        let embedder = FastEmbedder::load(&model.join(file), None).unwrap();
        let long = "a much longer text than the others ".repeat(40);
        let together = embed(&embedder, &[&long, "read a file", "send a mail"]).await;
        let alone = embed(&embedder, &["send a mail"]).await;
        assert!(likeness(&together[2], &alone[0]) > 0.999, "{file}");
        assert!(likeness(&together[1], &alone[0]) < 0.8, "{file}");
    }
}

#[tokio::test]
async fn two_files_of_a_model_are_two_embedders_and_the_smaller_one_is_the_default() {
    let Some(model) = model() else { return };
    let load = |path: &Path| FastEmbedder::load(path, None).unwrap().id().to_owned();
    let int8 = load(&model.join("model_int8.onnx"));
    assert_ne!(load(&model.join("model.onnx")), int8);
    let choice: EmbedderChoice = format!("fastembed:{}", model.display()).parse().unwrap();
    assert_eq!(choice.try_open().await.unwrap().id(), int8);
}

#[test]
fn it_works_outside_of_a_runtime() {
    let Some(model) = model() else { return };
    let embedder = FastEmbedder::load(&model, None).unwrap();
    let question = embedder.embed(vec!["read a file".into()]);
    assert_eq!(futures_util::FutureExt::now_or_never(question).unwrap().unwrap()[0].len(), 384);
}

#[tokio::test]
async fn a_file_that_is_no_model_is_an_error() {
    let Some(model) = model() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"] {
        std::fs::copy(model.join(name), folder.path().join(name)).unwrap();
    }
    let whole = std::fs::read(model.join("model_int8.onnx")).unwrap();
    for bytes in [&b"no model"[..], &whole[..whole.len() / 2]] {
        std::fs::write(folder.path().join("model.onnx"), bytes).unwrap();
        assert!(FastEmbedder::load(folder.path(), None).is_err());
    }
}

// covers: MGP-16.4-11
#[tokio::test]
async fn tools_are_found_by_what_they_mean() {
    let Some(model) = model() else { return };
    let index = Index::new(Arc::new(FastEmbedder::load(&model, None).unwrap()));
    let tools = [
        ("read_file", "Read the contents of a file at the given path"),
        ("send_message", "Deliver an e-mail to one or more recipients"),
        ("get_forecast", "Temperature, wind and rain for a place in the next days"),
        ("convert_currency", "Exchange rates between two currencies"),
    ];
    let listings = tools.map(|(name, description)| {
        let definition = json!({ "name": name, "description": description });
        ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap()
    });
    index.put_server(ServerTools::new("everyday", listings.into())).await;
    index.embedded().await;
    for (question, expected) in [
        ("will I need an umbrella tomorrow", "get_forecast"),
        ("how many dollars do I get for 20 euros", "convert_currency"),
        ("write to my boss", "send_message"),
    ] {
        let found = index.search(&Search::new(question).strategy(SearchStrategy::Semantic)).await;
        assert_eq!(found.fallback, None);
        assert_eq!(found.hits[0].tool.name.as_str(), expected, "{question}");
    }
}
