//! Tests of the table.

use bytes::Bytes;
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
    let file = Bytes::from_static(BUILT_IN);
    assert!(StaticEmbedder::read(&file).is_ok());
    assert!(file.len() <= 4_000_000, "{} bytes", file.len());
}

#[test]
fn a_text_has_one_vector_of_length_one() {
    let embedder = StaticEmbedder::new();
    let vector = embedder.vector("Send an e-mail to everybody").unwrap();
    assert_eq!(vector.len(), embedder.dimension());
    assert!((vector.iter().map(|member| member * member).sum::<f32>() - 1.0).abs() < 1e-5);
    assert_eq!(embedder.vector("Send an e-mail to everybody").unwrap(), vector);
    let again = StaticEmbedder::read(&Bytes::from_static(BUILT_IN)).unwrap();
    assert_eq!(again.vector("Send an e-mail to everybody").unwrap(), vector);
    assert_eq!(again.id(), embedder.id());
}

#[test]
fn a_text_that_says_nothing_has_no_direction() {
    let embedder = StaticEmbedder::new();
    for nothing in ["", "  \n\t", "!?…—", "\u{0}\u{1}\u{fffd}", "🙂🙂", "\u{301}"] {
        assert_eq!(embedder.vector(nothing), None, "{nothing:?}");
        let zeros = embedder.embed_now(nothing, Purpose::Query).unwrap();
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
    let vectors = embedder.embed(texts.to_vec(), Purpose::Passage).await.unwrap();
    for (text, vector) in texts.iter().zip(vectors) {
        assert_eq!(Some(vector), embedder.embed_now(text, Purpose::Query));
    }
}

#[test]
fn a_file_that_is_no_table_is_refused() {
    let read = |bytes: &[u8]| StaticEmbedder::read(&Bytes::copy_from_slice(bytes)).map(|_| ());
    assert_eq!(read(b"PK\x03\x04 and so on"), Err(TableError::NotATable));
    assert!(matches!(read(b""), Err(TableError::Length { found: 0, .. })));
    assert!(matches!(read(&BUILT_IN[..1000]), Err(TableError::Length { found: 1000, .. })));
    assert!(matches!(read(&[BUILT_IN, b"x"].concat()), Err(TableError::Length { .. })));
    let mut changed = BUILT_IN.to_vec();
    changed[100_000] ^= 1;
    assert_eq!(read(&changed), Err(TableError::Changed));
}

#[test]
fn sizes_that_cannot_be_are_refused_before_anything_is_made_of_them() {
    // The numbers are pieces, starting, dimension and width.
    for head in
        [[u32::MAX, 0, 4, 2], [1, 2, 4, 2], [1, 1, 0, 2], [1, 1, 4, 0], [1, 1, 4, 3], [1, 1, 65535, 1]]
    {
        assert!(StaticEmbedder::read(&table(head, 1.0, b"\0\x01a")).is_err(), "{head:?}");
    }
    assert!(StaticEmbedder::read(&table([1, 1, 4, 2], 1.0, b"\0\x01a")).is_ok());
}

#[test]
fn words_and_numbers_that_cannot_be_are_refused() {
    let read = |scale, words| StaticEmbedder::read(&table([2, 2, 4, 2], scale, words)).map(|_| ());
    assert_eq!(read(1.0, b"\0\x01a\0\x01b"), Ok(()));
    for words in [
        &b"\0\x01b\0\x01a"[..],
        b"\0\x01a\0\x01a",
        b"\0\x01a\0\x01B",
        b"\0\x01a\x02\x01b",
        b"\0\x01a\0\0",
        b"\0\x01a\0\xffb",
        b"\0\x01a\0\x01bc",
        b"\0\x01a",
    ] {
        assert!(read(1.0, words).is_err(), "{words:?}");
    }
    for scale in [f32::NAN, f32::INFINITY, f32::MAX] {
        assert_eq!(read(scale, b"\0\x01a\0\x01b"), Err(TableError::Impossible("a number")));
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

    #[test]
    fn a_table_that_is_cut_or_changed_is_refused(cut in 0..BUILT_IN.len(), at in 0..2000_usize, bit in 0..8_u8) {
        prop_assert!(StaticEmbedder::read(&Bytes::from_static(&BUILT_IN[..cut])).is_err());
        let mut small = table([2, 2, 4, 2], 1.0, b"\0\x01a\0\x01b").to_vec();
        let at = at % small.len();
        small[at] ^= 1_u8 << bit;
        prop_assert!(StaticEmbedder::read(&small.into()).is_err());
    }

    #[test]
    fn any_table_with_a_right_hash_is_read_or_refused(
        head in prop::array::uniform4(0..6_u32),
        body in prop::collection::vec(any::<u8>(), 0..3000),
        text in "[a-z0-9 ]{0,20}",
    ) {
        let file = sealed(head, 1.0, &body, 4);
        if let Ok(embedder) = StaticEmbedder::read(&file) {
            prop_assert!(embedder.vector(&text).is_none_or(|vector| vector.iter().all(|member| member.is_finite())));
        }
    }
}

/// Returns a table of `head` pieces, all with the same codes.
fn table(head: [u32; 4], scale: f32, words: &[u8]) -> Bytes {
    let [pieces, _, dimension, width] = head.map(|number| number.min(1000) as usize);
    let mut body = vec![0; 1024 * width];
    for _ in 0..pieces {
        body.extend(&scale.to_le_bytes()[2..]);
    }
    body.resize(body.len() + pieces * dimension.checked_div(width).unwrap_or(0), 7);
    body.extend(words);
    sealed(head, 1.0, &body, words.len())
}

/// Returns a file with a right hash.
fn sealed([pieces, starting, dimension, width]: [u32; 4], stranger: f32, body: &[u8], words: usize) -> Bytes {
    let mut hashed = [pieces.to_le_bytes(), starting.to_le_bytes()].concat();
    hashed.extend(&dimension.to_le_bytes()[..2]);
    hashed.extend(&width.to_le_bytes()[..2]);
    hashed.extend(stranger.to_le_bytes());
    hashed.extend(u32::try_from(words).unwrap().to_le_bytes());
    hashed.extend(body);
    [b"MGPTABL1", &Sha256::digest(&hashed)[..], &hashed].concat().into()
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
