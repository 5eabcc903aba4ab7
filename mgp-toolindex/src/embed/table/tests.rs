//! Tests of the table.

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::*;

fn likeness(one: &str, other: &str) -> f32 {
    let embedder = StaticEmbedder::new();
    let vector = |text: &str| embedder.vector(text).expect("the text says something");
    vector(one).iter().zip(vector(other)).map(|(one, other)| one * other).sum()
}

#[test]
fn the_table_of_the_crate_is_readable_and_small() {
    let table = WordTable::read(BUILT_IN);
    // What follows the name and the hash of the table is hashed.
    assert_eq!(table.digest, <[u8; 32]>::from(Sha256::digest(&BUILT_IN[40..])));
    assert!(table.codebook.as_flattened().iter().chain(&table.scales).all(|number| number.abs() < 1e6));
    assert!(BUILT_IN.len() <= 4_000_000, "{} bytes", BUILT_IN.len());
}

#[test]
fn a_text_has_one_vector_of_length_one() {
    let embedder = StaticEmbedder::new();
    let vector = embedder.vector("Send an e-mail to everybody").unwrap();
    assert_eq!(vector.len(), embedder.dimension());
    assert!((vector.iter().map(|member| member * member).sum::<f32>() - 1.0).abs() < 1e-5);
    assert_eq!(embedder.vector("Send an e-mail to everybody").unwrap(), vector);
}

#[test]
fn a_text_that_says_nothing_has_no_direction() {
    let embedder = StaticEmbedder::new();
    for nothing in ["", "  \n\t", "!?…—", "\u{0}\u{1}\u{fffd}", "🙂🙂", "\u{301}"] {
        assert_eq!(embedder.vector(nothing), None, "{nothing:?}");
        let zeros = embedder.embed_now(nothing).unwrap();
        assert_eq!(zeros, vec![0.0; embedder.dimension()]);
    }
}

#[test]
fn names_are_read_however_they_are_written() {
    let plain = "read file";
    for name in ["readFile", "read_file", "read-file", "READ FILE", "files.read/file", "Réad  Fíle!"] {
        assert!(likeness(plain, name) > 0.8, "{name}: {}", likeness(plain, name));
    }
}

#[test]
fn what_means_the_same_in_other_words_is_nearer_than_what_does_not() {
    for (question, meant, not_meant) in [
        (
            "will it rain tomorrow in Paris",
            "weather forecast for a city",
            "list the branches of a repository",
        ),
        ("email my colleague", "send a message to a recipient", "convert an image to another format"),
        ("what are Apple shares worth", "stock price quote", "search for hotels"),
        ("remove a document", "delete a file", "translate text"),
    ] {
        let (near, far) = (likeness(question, meant), likeness(question, not_meant));
        assert!(near > far + 0.1, "{question}: {near} and {far}");
    }
}

#[test]
fn texts_in_other_scripts_are_found_by_the_words_they_share() {
    for (question, meant, not_meant) in [
        ("東京の天気を調べたい", "指定した都市の天気を取得します", "メールを送信します"),
        ("查询明天的天气", "获取某个城市的天气预报", "删除数据库中的记录"),
        ("отправить письмо", "отправка писем по почте", "поиск ресторана рядом"),
        ("이메일 보내기", "이메일을 보냅니다", "파일을 삭제합니다"),
    ] {
        let (near, far) = (likeness(question, meant), likeness(question, not_meant));
        assert!(near > far + 0.1, "{question}: {near} and {far}");
        assert!((likeness(question, question) - 1.0).abs() < 1e-5);
    }
}

#[test]
fn a_long_text_costs_no_more_than_its_first_part() {
    let embedder = StaticEmbedder::new();
    let long = "weather ".repeat(1_000_000);
    let vector = embedder.vector(&long).unwrap();
    let likeness: f32 =
        vector.iter().zip(embedder.vector("weather").unwrap()).map(|(one, other)| one * other).sum();
    assert!(likeness > 0.999);
    assert!(embedder.vector(&"課".repeat(1_000_000)).is_some());
    assert!(embedder.vector(&"z".repeat(1_000_000)).is_some());
}

#[tokio::test]
async fn texts_are_embedded_in_their_order() {
    let embedder = StaticEmbedder::new();
    let texts = ["weather", "", "files"].map(String::from);
    let vectors = embedder.embed(texts.to_vec()).await.unwrap();
    for (text, vector) in texts.iter().zip(vectors) {
        assert_eq!(Some(vector), embedder.embed_now(text));
    }
}

proptest! {
    #[test]
    fn any_text_has_a_vector_of_numbers_or_none(text in any::<String>()) {
        if let Some(vector) = StaticEmbedder::new().vector(&text) {
            let norm = vector.iter().map(|member| member * member).sum::<f32>();
            prop_assert!((norm - 1.0).abs() < 1e-4);
        }
    }
}

/// The expected vectors, which change with the table, and with nothing else.
const GOLDEN: [(&str, &str, f32); 4] = [
    ("weather in Paris", "get_forecast: Get the weather forecast for a city", 0.767_814),
    ("open an issue on GitHub", "createIssue", 0.551_209),
    ("convert 10 euros to dollars", "currency exchange rates", 0.488_808),
    ("东京的天气", "查询天气", 0.218_228),
];

#[test]
fn the_table_says_what_it_said_when_it_was_built() {
    let found = GOLDEN.map(|(one, other, _)| likeness(one, other));
    let same = GOLDEN.iter().zip(found).all(|((_, _, expected), found)| (found - expected).abs() < 1e-4);
    assert!(same, "{found:?}");
}
