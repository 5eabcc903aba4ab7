//! Checks of a document against the [`Shape`] of the file. The check finds all problems at once, each with its
//! position; reading into the types would stop at the first.

use super::problem::{Problem, Severity};
use super::shape::{self, KnownWord, Shape, TableShape};
use super::source::{ConfigSource, FileProblems, ValuePath};
use crate::document::{DocumentNode, DocumentValue};
use crate::nearest::nearest;

/// Returns the values of a wrong type and the unknown keys of a file.
pub(super) fn check(source: &ConfigSource) -> Vec<Problem> {
    let mut problems = FileProblems::of(source);
    problems.table(shape::root(), &source.root, &ValuePath::default());
    problems.found
}

/// Returns the settings of earlier versions, each with what holds in its place.
pub(super) fn retired() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("retired.txt").lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": "))
}

impl FileProblems<'_> {
    fn node(&mut self, shape: &Shape, node: &DocumentNode, place: &ValuePath) {
        match (shape, &node.value) {
            (Shape::Table(table), _) => self.table(table, node, place),
            (Shape::Map(values), DocumentValue::Map(members)) => {
                for member in members {
                    self.node(values, &member.node, &place.key(&member.key));
                }
            }
            (Shape::Map(_), _) => self.mismatch(node, place, "a table"),
            (Shape::List(each), DocumentValue::List(elements)) => {
                for (index, element) in elements.iter().enumerate() {
                    self.node(each, element, &place.index(index));
                }
            }
            (Shape::List(_), _) => self.mismatch(node, place, LIST),
            (Shape::Words { words, open }, DocumentValue::Text(text)) => self.word(words, *open, text, place),
            (Shape::Anything, _)
            | (Shape::Text, DocumentValue::Text(_))
            | (Shape::Flag, DocumentValue::Bool(_)) => {}
            (Shape::Text | Shape::Words { .. }, _) => self.mismatch(node, place, TEXT),
            (Shape::Flag, _) => self.mismatch(node, place, "true or false"),
            (Shape::Number { least, most }, _) => match node.number() {
                Some(number) => self.number(number, *least, *most, place),
                None => self.mismatch(node, place, "a whole number"),
            },
        }
    }

    fn table(&mut self, shape: &TableShape, node: &DocumentNode, place: &ValuePath) {
        let DocumentValue::Map(members) = &node.value else { return self.mismatch(node, place, "a table") };
        for member in members {
            match shape.key(&member.key) {
                Some(key) => self.node(&key.shape, &member.node, &place.key(&member.key)),
                None => self.unknown_key(shape, &member.key, place),
            }
        }
        for key in shape.keys.iter().filter(|key| key.required && node.get(&key.name).is_none()) {
            let instead = format!("`{}` is: {}", key.name, key.doc);
            self.error(place, format!("`{}` is missing", key.name), instead);
        }
    }

    fn unknown_key(&mut self, shape: &TableShape, name: &str, place: &ValuePath) {
        let severity = if shape.closed { Severity::Error } else { Severity::Warning };
        let place = place.key(name);
        if let Some((_, now)) = retired().find(|(key, _)| *key == place.keys()) {
            let what = format!("`{name}` is no longer a setting and has no effect");
            return self.key(severity, &place, what, Some(now.to_owned()));
        }
        let fate = if shape.closed { "" } else { " and has no effect" };
        let what = format!("`{name}` is not a known key here{fate}");
        let known = shape.keys.iter().map(|key| key.name.as_str());
        let instead = match nearest(name, known) {
            Some(meant) => Some(format!("did you mean `{meant}`?")),
            // A key that follows `[servers.env]` belongs to that table, wherever the author wanted it.
            None => shape::section_of(name).map(|section| format!("`{name}` belongs in {section}")),
        };
        self.key(severity, &place, what, instead);
    }

    fn word(&mut self, words: &[KnownWord], open: bool, written: &str, place: &ValuePath) {
        if words.iter().any(|known| known.word == written) {
            return;
        }
        let (severity, instead) = match nearest(written, words.iter().map(|known| known.word.as_str())) {
            Some(meant) if open => (Severity::Warning, format!("did you mean `{meant}`?")),
            Some(meant) => (Severity::Error, format!("did you mean `{meant}`?")),
            None if open => return,
            None => (Severity::Error, format!("write {}", listed(words))),
        };
        self.value(severity, place, format!("`{written}` is not a known value here"), instead);
    }

    fn number(&mut self, number: i64, least: i64, most: i64, place: &ValuePath) {
        if !(least..=most).contains(&number) {
            let instead = match most {
                i64::MAX => format!("write a whole number from {least} up"),
                _ => format!("write a whole number from {least} to {most}"),
            };
            self.error(place, format!("{number} is out of range"), instead);
        }
    }

    fn mismatch(&mut self, node: &DocumentNode, place: &ValuePath, wanted: &str) {
        let written =
            Some(&self.source.document.raw()[node.span.clone()]).filter(|_| !place.is_confidential());
        let example = match (wanted, &node.value, written) {
            (LIST, DocumentValue::Text(_), Some(text)) => format!(", such as [{text}]"),
            (TEXT, DocumentValue::Number(_) | DocumentValue::Bool(_), Some(text)) => {
                format!(", such as \"{text}\"")
            }
            _ => String::new(),
        };
        let keys = place.keys();
        let key = keys.rsplit('.').next().unwrap_or_default();
        let what = format!("`{key}` must be {wanted}, but is {}", node.kind());
        let instead = match (wanted, &node.value) {
            (TEXT, DocumentValue::Number(_) | DocumentValue::Bool(_)) if example.is_empty() => {
                "write the value in quotation marks".to_owned()
            }
            (LIST, DocumentValue::Text(_)) if example.is_empty() => {
                format!("write a list: {key} = [\"...\", \"...\"]")
            }
            _ => format!("write {wanted}{example}"),
        };
        self.error(place, what, instead);
    }
}

const TEXT: &str = "text";
const LIST: &str = "a list";

fn listed(words: &[KnownWord]) -> String {
    let quoted: Vec<String> = words.iter().map(|known| format!("`{}`", known.word)).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
