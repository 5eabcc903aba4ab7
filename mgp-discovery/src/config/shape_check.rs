//! Checks of a document against the [`Shape`] of the file. The check finds all problems at once, each with its
//! position; reading into the types would stop at the first.

use toml_edit::Value;

use super::problem::{Problem, Severity, enough};
use super::retired::RETIRED;
use super::shape::{self, KnownWord, Shape, TableShape};
use super::source::{ConfigSource, TomlNode, ValuePath};
use crate::nearest::nearest;

/// Returns the values of a wrong type and the unknown keys of a file.
pub(super) fn check(source: &ConfigSource) -> Vec<Problem> {
    let mut walk = Walk { source, problems: Vec::new() };
    walk.table(shape::root(), TomlNode::Table(source.document().as_table()), &ValuePath::default());
    walk.problems
}

struct Walk<'a> {
    source: &'a ConfigSource,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn node(&mut self, shape: &Shape, node: TomlNode<'_>, place: &ValuePath) {
        match shape {
            Shape::Table(table) => self.table(table, node, place),
            Shape::Map(values) => match node.table() {
                Some(table) => {
                    for (name, item) in table.iter() {
                        self.node(values, TomlNode::Item(item), &place.key(name));
                    }
                }
                None => self.mismatch(node, place, "a table"),
            },
            Shape::List(each) => match node.len() {
                Some(length) => {
                    for (index, element) in (0..length).filter_map(|at| Some((at, node.element(at)?))) {
                        self.node(each, element, &place.index(index));
                    }
                }
                None => self.mismatch(node, place, "a list"),
            },
            Shape::Words { words, open } => match node.scalar() {
                Some(Value::String(text)) => self.word(words, *open, text.value(), place),
                _ => self.mismatch(node, place, "a text"),
            },
            Shape::Text if !matches!(node.scalar(), Some(Value::String(_))) => {
                self.mismatch(node, place, "a text");
            }
            Shape::Flag if !matches!(node.scalar(), Some(Value::Boolean(_))) => {
                self.mismatch(node, place, "true or false");
            }
            Shape::Anything | Shape::Text | Shape::Flag => {}
            Shape::Number { least, most } => match node.scalar() {
                Some(Value::Integer(number)) => self.number(*number.value(), *least, *most, place),
                _ => self.mismatch(node, place, "a whole number"),
            },
        }
    }

    fn table(&mut self, shape: &TableShape, node: TomlNode<'_>, place: &ValuePath) {
        let Some(table) = node.table() else { return self.mismatch(node, place, "a table") };
        for (name, item) in table.iter() {
            match shape.key(name) {
                Some(key) => self.node(&key.shape, TomlNode::Item(item), &place.key(name)),
                None => self.unknown_key(shape, name, place),
            }
        }
        for key in shape.keys.iter().filter(|key| key.required && !table.contains_key(&key.name)) {
            if enough(&self.problems, Severity::Error) {
                return;
            }
            let problem = self.source.value(Severity::Error, place, format!("`{}` is missing", key.name));
            self.problems.push(problem.instead(format!("`{}` is: {}", key.name, key.doc)));
        }
    }

    fn unknown_key(&mut self, shape: &TableShape, name: &str, place: &ValuePath) {
        let severity = if shape.closed { Severity::Error } else { Severity::Warning };
        if enough(&self.problems, severity) {
            return;
        }
        let place = place.key(name);
        if let Some((_, now)) = RETIRED.iter().find(|(key, _)| *key == place.keys()) {
            let what = format!("`{name}` is no longer a setting and has no effect");
            return self.problems.push(self.source.key(severity, &place, what).instead(*now));
        }
        let fate = if shape.closed { "" } else { " and has no effect" };
        let problem = self.source.key(severity, &place, format!("`{name}` is not a known key here{fate}"));
        let known = shape.keys.iter().map(|key| key.name.as_str());
        self.problems.push(match (nearest(name, known), shape::section_of(name)) {
            (Some(meant), _) => problem.instead(format!("did you mean `{meant}`?")),
            // A key that follows `[servers.env]` belongs to that table, wherever the author wanted it.
            (None, Some(section)) => problem.instead(format!("`{name}` belongs in {section}")),
            (None, None) => problem,
        });
    }

    fn word(&mut self, words: &[KnownWord], open: bool, written: &str, place: &ValuePath) {
        if words.iter().any(|known| known.word == written) {
            return;
        }
        let meant = nearest(written, words.iter().map(|known| known.word.as_str()));
        let severity = match (open, meant) {
            (true, None) => return,
            (true, Some(_)) => Severity::Warning,
            (false, _) => Severity::Error,
        };
        if enough(&self.problems, severity) {
            return;
        }
        let problem = self.source.value(severity, place, format!("`{written}` is not a known value here"));
        self.problems.push(match meant {
            Some(meant) => problem.instead(format!("did you mean `{meant}`?")),
            None => problem.instead(format!("write {}", listed(words))),
        });
    }

    fn number(&mut self, number: i64, least: i64, most: i64, place: &ValuePath) {
        if !(least..=most).contains(&number) && !enough(&self.problems, Severity::Error) {
            let problem = self.source.value(Severity::Error, place, format!("{number} is out of range"));
            self.problems.push(problem.instead(match most {
                i64::MAX => format!("write a whole number from {least} up"),
                _ => format!("write a whole number from {least} to {most}"),
            }));
        }
    }

    fn mismatch(&mut self, node: TomlNode<'_>, place: &ValuePath, wanted: &str) {
        if enough(&self.problems, Severity::Error) {
            return;
        }
        let problem = self.source.value(Severity::Error, place, format!("this value is {}", node.kind()));
        let shown = node.scalar().filter(|_| !place.is_confidential());
        let example = match (wanted, shown) {
            ("a list", Some(Value::String(text))) => format!(", such as [{}]", text.to_string().trim()),
            ("a text", Some(value @ (Value::Integer(_) | Value::Boolean(_) | Value::Float(_)))) => {
                format!(", such as \"{}\"", value.to_string().trim())
            }
            _ => String::new(),
        };
        self.problems.push(problem.instead(format!("write {wanted}{example}")));
    }
}

fn listed(words: &[KnownWord]) -> String {
    let quoted: Vec<String> = words.iter().map(|known| format!("`{}`", known.word)).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
