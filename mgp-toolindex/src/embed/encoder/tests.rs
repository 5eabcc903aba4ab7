//! Tests of encoders with weights that are made up.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::*;

const PIECES: [&str; 4] = ["read", "write", "file", "##s"];

const WIDTH: usize = 32;
const PLACES: usize = 8;

/// Returns a folder with a model of one layer.
fn folder() -> TempDir {
    let pieces = PIECES.len() + 3;
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![pieces, WIDTH]),
        ("embeddings.position_embeddings.weight".into(), vec![PLACES, WIDTH]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, WIDTH]),
    ];
    let mut add = |name: &str, sides: &[usize]| {
        shapes.push((format!("{name}.weight"), sides.to_vec()));
        shapes.push((format!("{name}.bias"), vec![sides[0]]));
    };
    add("embeddings.LayerNorm", &[WIDTH]);
    for name in
        ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]
    {
        add(&format!("encoder.layer.0.{name}"), &[WIDTH, WIDTH]);
    }
    add("encoder.layer.0.attention.output.LayerNorm", &[WIDTH]);
    add("encoder.layer.0.intermediate.dense", &[2 * WIDTH, WIDTH]);
    add("encoder.layer.0.output.dense", &[WIDTH, 2 * WIDTH]);
    add("encoder.layer.0.output.LayerNorm", &[WIDTH]);
    let mut state = 7_u32;
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(state.to_be_bytes()[0]) / 128.0 - 1.0
    };
    let numbers: Vec<Vec<f32>> =
        shapes.iter().map(|(_, sides)| (0..sides.iter().product()).map(|_| number()).collect()).collect();
    let tensors: Vec<_> =
        shapes.iter().zip(&numbers).map(|((name, sides), numbers)| (&**name, &**sides, &**numbers)).collect();
    let config = json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH, "intermediate_size": 2 * WIDTH,
        "layer_norm_eps": 1e-12, "max_position_embeddings": PLACES, "num_attention_heads": 2,
        "num_hidden_layers": 1, "type_vocab_size": 2, "vocab_size": pieces,
    });
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(WEIGHTS), safetensors::tests::file(&tensors)).unwrap();
    fs::write(folder.path().join(TOKENIZER), word_pieces::tests::file(&PIECES)).unwrap();
    fs::write(folder.path().join(CONFIG), config.to_string()).unwrap();
    folder
}

#[test]
fn texts_have_vectors_of_length_one_and_others_have_other_ones() {
    let folder = folder();
    let encoder = SentenceEncoder::load(folder.path()).unwrap();
    assert_eq!(encoder.dimension(), WIDTH);
    let vector = |text| encoder.vector(text).unwrap();
    let length: f32 = vector("read files").iter().map(|member| member * member).sum();
    assert!((length - 1.0).abs() < 1e-5);
    assert_eq!(vector("Read FILES"), vector("read files"));
    // The order of the words counts, and so does each of them.
    assert_ne!(vector("file read"), vector("read file"));
    assert_ne!(vector("read file"), vector("write file"));
}

#[test]
fn a_text_without_a_piece_has_no_vector() {
    let folder = folder();
    let encoder = SentenceEncoder::load(folder.path()).unwrap();
    for text in ["", " \t\n", "\u{0}\u{200b}\u{301}"] {
        assert_eq!(encoder.vector(text), None, "{text:?}");
    }
}

#[test]
fn a_text_longer_than_the_model_reads_has_the_vector_of_its_start() {
    let folder = folder();
    let encoder = SentenceEncoder::load(folder.path()).unwrap();
    let start = encoder.vector("read write read write read write").unwrap();
    assert_eq!(encoder.vector(&"read write ".repeat(10_000)).unwrap(), start);
}

#[tokio::test]
async fn texts_are_answered_in_their_order_and_have_the_same_vectors_alone() {
    let folder = folder();
    let encoder = SentenceEncoder::load(folder.path()).unwrap();
    // There are more of them than are read together.
    let texts = ["read", "", "write the files of others", "file"].map(str::to_owned);
    let texts: Vec<_> = texts.into_iter().cycle().take(50).collect();
    let vectors = encoder.embed(texts.clone()).await.unwrap();
    assert_eq!(vectors.len(), texts.len());
    for (text, vector) in texts.iter().zip(vectors) {
        assert_eq!(encoder.vector(text).unwrap_or_else(|| vec![0.0; WIDTH]), vector, "{text}");
    }
}

#[test]
fn it_works_outside_of_a_runtime() {
    let folder = folder();
    let question = SentenceEncoder::load(folder.path()).unwrap().embed(vec!["read a file".into()]);
    assert_eq!(futures_util::FutureExt::now_or_never(question).unwrap().unwrap()[0].len(), WIDTH);
}

#[test]
fn the_id_names_the_contents_of_the_files_and_not_their_place() {
    let [one, other] = [folder(), folder()];
    let id = |folder: &TempDir| SentenceEncoder::load(folder.path()).unwrap().id().to_owned();
    assert_eq!(id(&one), id(&other));
    let weights = other.path().join(WEIGHTS);
    let mut changed = fs::read(&weights).unwrap();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&weights, changed).unwrap();
    assert_ne!(id(&one), id(&other));
}

#[test]
fn what_is_missing_or_of_another_kind_is_named() {
    let refused = |name: &str, change: &dyn Fn(String) -> Option<String>| {
        let folder = self::folder();
        let path = folder.path().join(name);
        match change(String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()) {
            Some(contents) => fs::write(&path, contents).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        SentenceEncoder::load(folder.path()).unwrap_err().to_string()
    };
    let folder = folder();
    assert_eq!(SentenceEncoder::missing(folder.path()), None);
    fs::remove_file(folder.path().join(TOKENIZER)).unwrap();
    assert_eq!(SentenceEncoder::missing(folder.path()), Some(TOKENIZER));
    for name in [WEIGHTS, TOKENIZER, CONFIG] {
        assert!(refused(name, &|_| None).contains(name));
        assert!(refused(name, &|_| Some("nonsense".into())).contains(name));
    }
    let config = |from: &'static str, to: &'static str| {
        refused(CONFIG, &|config| {
            assert!(config.contains(from), "{config}");
            Some(config.replace(from, to))
        })
    };
    assert!(config("\"bert\"", "\"mpnet\"").contains("only models"));
    assert!(config("\"gelu\"", "\"relu\"").contains("only models"));
    for (from, to) in [
        ("\"hidden_size\":32", "\"hidden_size\":0"),
        ("\"hidden_size\":32", "\"hidden_size\":40"),
        ("\"num_attention_heads\":2", "\"num_attention_heads\":0"),
        ("\"num_attention_heads\":2", "\"num_attention_heads\":4"),
        ("\"num_hidden_layers\":1", "\"num_hidden_layers\":1000"),
        ("\"max_position_embeddings\":8", "\"max_position_embeddings\":2"),
        ("\"vocab_size\":7", "\"vocab_size\":0"),
    ] {
        assert!(config(from, to).contains("a size"), "{to}");
    }
    // Sizes that the weights do not have.
    assert!(config("\"num_hidden_layers\":1", "\"num_hidden_layers\":2").contains("encoder.layer.1"));
    assert!(config("\"intermediate_size\":64", "\"intermediate_size\":32").contains("shape"));
    assert!(config("\"vocab_size\":7", "\"vocab_size\":6").contains("no weights"));
}
