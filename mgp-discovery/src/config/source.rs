//! Parsed TOML files, with the positions of their values.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Key};

use super::problem::{ConfigError, MAX_PROBLEMS, Problem, Severity};
use crate::document::{DocumentNode, DocumentValue, toml};

/// The texts of the parser for common mistakes, and how to mend each.
const HELP: &str = include_str!("syntax_help.txt");

/// A TOML file, with the positions of its values.
pub(super) struct ConfigSource {
    pub(super) file: PathBuf,
    pub(super) document: Document<String>,
    pub(super) root: DocumentNode,
}

/// The problems of a file, of each severity as many as a person would read: finding the line of each in a file with a
/// mistake in every line would take the square of its length.
pub(super) struct FileProblems<'a> {
    pub(super) source: &'a ConfigSource,
    pub(super) found: Vec<Problem>,
}

impl<'a> FileProblems<'a> {
    pub(super) fn of(source: &'a ConfigSource) -> Self {
        Self { source, found: Vec::new() }
    }

    /// Adds a problem of a value.
    pub(super) fn value(&mut self, severity: Severity, place: &ValuePath, what: String, instead: String) {
        self.add(severity, |source| source.value(severity, place, what).instead(instead));
    }

    /// Adds an error of a value.
    pub(super) fn error(&mut self, place: &ValuePath, what: impl Into<String>, instead: impl Into<String>) {
        self.value(Severity::Error, place, what.into(), instead.into());
    }

    /// Adds a problem of a key.
    pub(super) fn key(
        &mut self,
        severity: Severity,
        place: &ValuePath,
        what: String,
        instead: Option<String>,
    ) {
        self.add(severity, |source| {
            instead.into_iter().fold(source.key(severity, place, what), Problem::instead)
        });
    }

    fn add(&mut self, severity: Severity, problem: impl FnOnce(&ConfigSource) -> Problem) {
        if self.found.iter().filter(|other| other.severity == severity).count() < MAX_PROBLEMS {
            self.found.push(problem(self.source));
        }
    }
}

/// The path to a value, from the outside in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ValuePath(Vec<PathStep>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(usize),
}

impl ConfigSource {
    pub(super) fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        let document = Document::parse(text.to_owned()).map_err(|error| {
            let span = error.span().unwrap_or(text.len()..text.len());
            let what = error.message().trim_end().replace('\n', "; ");
            let help = if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
                Some("this is JSON, and TOML is wanted: `mgp import FILE` reads the JSON of other clients")
            } else {
                let mut help = HELP.lines().filter_map(|line| line.split_once(": "));
                help.find(|(sign, _)| what.contains(sign)).map(|(_, help)| help)
            };
            // The begin and the kind of the unreadable value are unknown, so that the line is veiled.
            let problem = Problem::at(Severity::Error, file, text, span, what).veiled();
            help.into_iter().fold(problem, Problem::instead)
        })?;
        Ok(Self { file: file.into(), root: toml::tree(&document), document })
    }

    /// Returns the file and line of each key that sets a value and `is_used`, by its name. Entries of lists are named by
    /// their ids: `servers.git.command`.
    pub(super) fn key_places(&self, is_used: impl Fn(&ValuePath) -> bool) -> BTreeMap<String, String> {
        let line_ends: Vec<usize> = self.document.raw().match_indices('\n').map(|(end, _)| end).collect();
        let file = self.file.display();
        let mut places = BTreeMap::new();
        let mut open = vec![(ValuePath::default(), ValuePath::default(), &self.root)];
        while let Some((path, named, node)) = open.pop() {
            for member in node.members() {
                let (path, named) = (path.key(&member.key), named.key(&member.key));
                let items = member.node.items();
                if !member.node.members().is_empty() {
                    open.push((path, named, &member.node));
                } else if items.iter().any(|item| matches!(item.value, DocumentValue::Map(_))) {
                    open.extend(items.iter().enumerate().map(|(index, item)| {
                        let id = ["id", "name"].iter().find_map(|key| item.get(key)?.text());
                        let named = id.map_or_else(|| named.index(index), |id| named.key(id));
                        (path.index(index), named, item)
                    }));
                } else if is_used(&path) {
                    let line = line_ends.partition_point(|end| *end < member.key_span.start) + 1;
                    places.insert(named.to_string(), format!("{file}:{line}"));
                }
            }
        }
        places
    }

    /// Returns a problem of a value, or of its parent where there is no such value.
    pub(super) fn value(&self, severity: Severity, place: &ValuePath, what: impl Into<String>) -> Problem {
        let (_, value) = self.spans(place);
        self.problem(severity, place, value, what)
    }

    /// Returns a problem of a key.
    pub(super) fn key(&self, severity: Severity, place: &ValuePath, what: impl Into<String>) -> Problem {
        let (key, value) = self.spans(place);
        self.problem(severity, place, key.unwrap_or(value), what)
    }

    fn problem(
        &self,
        severity: Severity,
        place: &ValuePath,
        span: Range<usize>,
        what: impl Into<String>,
    ) -> Problem {
        let problem =
            Problem::at(severity, &self.file, self.document.raw(), span, what).key(place.to_string());
        if place.is_confidential() { problem.veiled() } else { problem }
    }

    fn spans(&self, place: &ValuePath) -> (Option<Range<usize>>, Range<usize>) {
        let mut node = &self.root;
        let (mut key, mut value) = (None, 0..0);
        for step in &place.0 {
            let next = match step {
                PathStep::Key(name) => node.member(name).map(|member| {
                    key = Some(member.key_span.clone());
                    &member.node
                }),
                PathStep::Index(index) => node.items().get(*index),
            };
            let Some(next) = next else { break };
            node = next;
            value = node.span.clone();
        }
        (key, value)
    }
}

impl ValuePath {
    pub(super) fn key(&self, name: impl Into<String>) -> Self {
        self.then(PathStep::Key(name.into()))
    }

    pub(super) fn index(&self, index: usize) -> Self {
        self.then(PathStep::Index(index))
    }

    /// Returns the place at `path` within this one, as faults name it: `args[1]`, `env.NAME`. Names with a dot lead to
    /// their parent, which is near enough to be shown.
    pub(super) fn path(&self, path: &str) -> Self {
        if path.is_empty() {
            return self.clone();
        }
        let indexed = path.strip_suffix(']').and_then(|path| path.rsplit_once('['));
        let (path, index) = indexed.map_or((path, None), |(list, index)| (list, index.parse().ok()));
        let place = path.split('.').fold(self.clone(), |place, key| place.key(key));
        index.into_iter().fold(place, |place, index| place.index(index))
    }

    /// Returns the keys that lead to the place, without the numbers of list entries.
    pub(super) fn keys(&self) -> String {
        let keys = self.0.iter().filter_map(|step| match step {
            PathStep::Key(name) => Some(name.as_str()),
            PathStep::Index(_) => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }

    /// Returns whether the place often holds secrets, or is within one that does.
    pub(super) fn is_confidential(&self) -> bool {
        let names = [
            "env", "headers", "otlp_headers", "args", "url", "otlp", "embedder", "client_secret",
            "private_key", "webhook", "secret",
        ];
        let is_named =
            |step: &PathStep| matches!(step, PathStep::Key(name) if names.contains(&name.as_str()));
        self.0.iter().any(is_named) || self.keys() == "store.key"
    }

    /// Returns whether the value is the one at `place`, or lies within it.
    pub(super) fn is_within(&self, place: &Self) -> bool {
        self.0.starts_with(&place.0)
    }

    fn then(&self, step: PathStep) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl std::fmt::Display for ValuePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Index(index) => write!(f, "[{index}]")?,
                PathStep::Key(name) => {
                    let dot = if index == 0 { "" } else { "." };
                    write!(f, "{dot}{}", Key::new(name.as_str()).display_repr())?;
                }
            }
        }
        Ok(())
    }
}
