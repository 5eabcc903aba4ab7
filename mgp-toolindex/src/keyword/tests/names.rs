//! Tests of search by names.

use std::sync::Arc;

use super::{index, tool};
use crate::keyword::KeywordReader;
use crate::slot::Slot;

fn named(reader: &KeywordReader, text: &str) -> Vec<(u32, f32)> {
    reader.named(text, 10, &mut |_| true).into_iter().map(|(slot, exact)| (slot.0, exact)).collect()
}

fn files() -> Arc<KeywordReader> {
    let mut github = tool("read_file", "");
    github.server = "github".into();
    index(&[tool("read_file", ""), tool("readFiles", ""), tool("write_file", ""), github, tool("search", "")])
        .1
}

// covers: MGP-16.4-10
#[test]
fn exact_names_come_before_similar_ones() {
    let reader = files();
    for text in ["read_file", "readFile", "Read file", "READ-FILE"] {
        assert_eq!(named(&reader, text), [(0, 1.0), (3, 1.0)], "{text}");
    }
    let found = named(&reader, "raed_file");
    assert_eq!(found[0].0, 0);
    assert!(found[0].1 < 0.95 && found[0].1 > 0.5);
    assert!(named(&reader, "zzzzzz").is_empty());
}

// covers: MGP-16.4-02
#[test]
fn an_id_is_more_exact_than_a_name() {
    assert_eq!(named(&files(), "github.read_file"), [(3, 1.0)]);
    assert_eq!(
        named(&files(), "please call server.write_file with the text that was written before"),
        [(2, 1.0)]
    );
}

#[test]
fn a_beginning_of_a_name_finds_it() {
    let found = named(&files(), "read_fi");
    assert_eq!(found.iter().map(|(slot, _)| *slot).collect::<Vec<_>>(), [0, 3, 1]);
    assert!(found.iter().all(|(_, exact)| *exact < 1.0));
}

#[test]
fn a_common_word_in_a_sentence_is_hardly_a_name() {
    let reader = files();
    assert_eq!(named(&reader, "search"), [(4, 1.0)]);
    assert!(named(&reader, "search flights to Paris next Monday").is_empty());
    assert!(named(&reader, "search flights")[0].1 < 0.6);
}

#[test]
fn names_that_do_not_fit_make_room() {
    let tools: Vec<_> = (0..300).map(|_| tool("search", "")).collect();
    let (_writer, reader) = index(&tools);
    let found = reader.named("search", 2, &mut |slot| slot.0 >= 290);
    assert_eq!(found, [(Slot(290), 1.0), (Slot(291), 1.0)]);
}
