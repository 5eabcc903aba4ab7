//! Comparisons with the published model, run by onnxruntime with its weights as they were published, and with the
//! tokenizer that it was trained with. `cargo xtask fastembed` brings the files and runs them.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "these are tests, and say what they measured")]

use std::path::PathBuf;

use fastembed::TextEmbedding;

use super::{MAX_PIECES, SentenceEncoder};
use crate::embed::fastembed::text_embedding;
use crate::rows::{QueryRow, ToolRow, read_rows};

/// Returns the folder of the model, or prints why there is none.
fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let model = variable("FASTEMBED_TEST_MODEL").zip(variable("ORT_DYLIB_PATH"));
    if model.is_none() {
        println!(
            "skipped: FASTEMBED_TEST_MODEL and ORT_DYLIB_PATH are not set; `cargo xtask fastembed` sets them"
        );
    }
    Some(model?.0.into())
}

/// Returns the encoder and the published model, which reads as many pieces.
fn both() -> Option<(SentenceEncoder, TextEmbedding)> {
    let folder = folder()?;
    let published = text_embedding(&folder.join("model.onnx"), MAX_PIECES).unwrap();
    Some((SentenceEncoder::load(&folder).unwrap(), published))
}

/// Texts of all kinds: those of tools and of questions about them, and those that nobody should write.
fn texts() -> Vec<String> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/data");
    let open = |name: &str| std::io::BufReader::new(std::fs::File::open(format!("{data}/{name}")).unwrap());
    let tools: Vec<ToolRow> = read_rows(open("tools.jsonl")).unwrap();
    let questions: Vec<QueryRow> = read_rows(open("questions.jsonl")).unwrap();
    let mut texts: Vec<String> = Vec::new();
    texts.extend(tools.iter().step_by(tools.len().div_ceil(150)).map(|tool| tool.description.clone()));
    texts.extend(questions.iter().step_by(questions.len().div_ceil(150)).map(|query| query.text.clone()));
    texts.retain(|text| !text.trim().is_empty());
    texts.extend(STRANGE.map(str::to_owned));
    texts.extend([
        "many words of a text that does not end ".repeat(100),
        "x".repeat(99),
        "x".repeat(100),
        "x".repeat(101),
        "ab".repeat(50_000),
        "読".repeat(1000),
        "!?".repeat(1000),
        "\u{301}".repeat(1000) + "a",
        (0..=0xffff).step_by(7).filter_map(char::from_u32).collect(),
        (0..0x0011_0000).step_by(997).filter_map(char::from_u32).collect(),
        " a".repeat(253),
        " a".repeat(254),
        " a".repeat(255),
    ]);
    texts
}

const STRANGE: [&str; 28] = [
    "a",
    ".",
    "Hello, World!",
    "fastembed-rs is licensed under Apache-2.0",
    "Crème brûlée à la carte, s'il vous plaît",
    "STRASSE Straße ΣΊΣΥΦΟΣ İstanbul ıssız",
    "Ångström ångström Å A\u{30a}",
    "北京的天气怎么样？",
    "東京タワーへの行き方を教えてください。",
    "ガギグゲゴ ｶﾞｷﾞ パピプ",
    "서울의 날씨를 알려줘",
    "Какая погода в Москве?",
    "ما هو الطقس في القاهرة؟ مُحَمَّد",
    "मौसम कैसा है हिन्दी में",
    "สภาพอากาศวันนี้เป็นอย่างไร",
    "שָׁלוֹם עוֹלָם",
    "🎉🚀 emoji 👩‍👩‍👧‍👦 family 🇩🇪",
    "zero\u{200b}width\u{200d}joiner\u{feff}",
    "tabs\tand\nnew\r\nlines\u{a0}and\u{2003}spaces\u{3000}wide",
    "control\u{0}\u{1}\u{7f}\u{85}characters\u{fffd}",
    "\u{202e}right to left\u{202c}",
    "ﬁne ﬂight ½ ² ™ № Ⅳ",
    "e\u{301}\u{302}\u{303}\u{304}\u{305} stacked",
    "snake_case_name camelCaseName kebab-case-name path/to/file.rs",
    "https://example.com/?q=a%20b&c=[1,2]#x user@example.com",
    "1234567890 3.14159 -42 0xDEADBEEF 1e-5",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
    "'; DROP TABLE tools; -- <script>alert(1)</script> ${secret} {{template}}",
];

#[test]
fn texts_are_split_as_the_published_tokenizer_splits_them() {
    let Some((encoder, published)) = both() else { return };
    let texts = texts();
    for text in &texts {
        let expected = published.tokenizer.encode(text.as_str(), true).unwrap();
        let expected: Vec<u32> = expected
            .get_ids()
            .iter()
            .zip(expected.get_attention_mask())
            .filter(|(_, of_text)| **of_text == 1)
            .map(|(id, _)| *id)
            .collect();
        assert_eq!(
            encoder.model.pieces.split(text, MAX_PIECES),
            expected,
            "{:?}",
            text.chars().take(200).collect::<String>()
        );
    }
    println!("{} texts are split alike", texts.len());
}

/// The largest difference of a member of a vector.
const MAX_APART: f32 = 1e-3;

#[test]
fn vectors_are_those_of_the_published_weights() {
    let Some((encoder, mut published)) = both() else { return };
    let (mut apart, mut alike) = (0.0_f32, 1.0_f32);
    let texts = texts();
    let mut compared = 0;
    for text in &texts {
        // A text without a piece has no vector here.
        let Some(vector) = encoder.vector(text) else { continue };
        let expected = published.embed([text.as_str()], None).unwrap().swap_remove(0);
        let members = vector.iter().zip(&expected);
        let difference = members.clone().map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
        let cosine = members.map(|(one, other)| one * other).sum::<f32>();
        println!("{difference:.6} {cosine:.7} {:?}", text.chars().take(60).collect::<String>());
        (apart, alike) = (apart.max(difference), alike.min(cosine));
        compared += 1;
    }
    println!(
        "{compared} vectors differ by {apart:.6} at most in a member; the smallest cosine is {alike:.7}"
    );
    assert!(compared > 250);
    assert!(apart <= MAX_APART, "{apart}");
}
