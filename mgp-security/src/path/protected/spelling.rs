//! The readings of a path: every way in which some program may understand its text.

use std::path::Path;

use super::super::{decode, is_separator};
use super::TABLE;
use super::pattern::{has_wildcard, name_meets};
use crate::shell::expand_braces;
use crate::text;

/// The place at which a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathAnchor {
    /// The root of the file system or of a drive.
    Root,
    /// The home of some user.
    Home,
    /// A directory that is not known.
    Relative,
    /// An unknown place above the current directory, possibly the root.
    Climbing,
}

/// One reading of a path: its beginning, and its names in lower case, without the parts that file systems ignore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathReading {
    pub(super) anchor: PathAnchor,
    pub(super) names: Vec<String>,
    /// True if the names contain wildcards.
    pub(super) is_pattern: bool,
}

impl PathReading {
    fn new(anchor: PathAnchor, names: Vec<String>) -> Self {
        Self { anchor, is_pattern: names.iter().any(|name| has_wildcard(name)), names }
    }
}

/// Returns every place that some program may take `path` for, and for each place all readings that denote it. `homes`
/// lists the homes of users in addition to those at the usual places.
pub(super) fn readings(path: &str, homes: &[Vec<String>]) -> Vec<Vec<PathReading>> {
    let mut places: Vec<Vec<PathReading>> = Vec::new();
    let mut note = |reading: PathReading| {
        if !places.iter().any(|place| place.contains(&reading)) {
            let mut place = Vec::new();
            add(&mut place, reading, homes);
            places.push(place);
        }
    };
    for form in forms(path) {
        let reading = read(&form);
        // A name is also read without the query of a URL or a comment behind it, so neither of them hides it.
        if let Some(cut) = reading.names.last().and_then(|last| last.find(['?', '#', ';', '|']))
            && cut > 0
        {
            let mut names = reading.names.clone();
            if let Some(last) = names.last_mut() {
                last.truncate(cut);
            }
            note(PathReading::new(reading.anchor, names));
        }
        note(reading);
    }
    places
}

/// Returns the names of a path of this machine, which must be free of links, as a reading has them.
pub(super) fn names_of(path: &Path) -> Vec<String> {
    read(&path.to_string_lossy()).names
}

/// Adds a reading, and those in which its place is a mounted root or the home of a user.
fn add(readings: &mut Vec<PathReading>, reading: PathReading, homes: &[Vec<String>]) {
    if readings.len() >= MAX_READINGS || readings.contains(&reading) {
        return;
    }
    if !matches!(reading.anchor, PathAnchor::Root | PathAnchor::Climbing) {
        return readings.push(reading);
    }
    let below = |prefix: &[&str]| {
        let fits = reading.names.len() >= prefix.len()
            && prefix.iter().zip(&reading.names).all(|(own, name)| name_meets(own, name, false));
        fits.then(|| reading.names[prefix.len()..].to_vec())
    };
    let parts = |text: &'static str| -> Vec<&'static str> { text[1..].split('/').collect() };
    let mounts = TABLE.mounts.iter().filter_map(|mount| below(&parts(mount)));
    let mounts = mounts.filter(|names| !names.is_empty());
    let known = TABLE.homes.iter().filter_map(|home| below(&parts(home)));
    let own = homes.iter().filter_map(|home| below(&home.iter().map(String::as_str).collect::<Vec<_>>()));
    let at_home = known.chain(own).map(|names| PathReading::new(PathAnchor::Home, names));
    let further = mounts.map(|names| PathReading::new(PathAnchor::Root, names)).chain(at_home);
    let further: Vec<_> = further.collect();
    readings.push(reading);
    for reading in further {
        add(readings, reading, homes);
    }
}

/// Returns the text with braces expanded, as it stands and with each layer of encoding decoded.
fn forms(path: &str) -> Vec<String> {
    let mut forms = Vec::new();
    let mut layer = text::fold(path).into_owned();
    for _ in 0..MAX_LAYERS {
        forms.extend(expand_braces(&layer, MAX_READINGS.saturating_sub(forms.len())));
        let Ok(Some(decoded)) = decode(&layer) else { break };
        layer = text::fold(&decoded).into_owned();
    }
    forms
}

fn read(form: &str) -> PathReading {
    let mut rest = form.trim().trim_matches(['"', '\'', '`']).trim();
    // `file:///etc/x`, `file:/etc/x`, `view-source:file:///etc/x`, `jar:file:/etc/x!/y`.
    let mut anchored = false;
    if let Some(at) = rest.to_ascii_lowercase().rfind("file:") {
        let before = &rest[..at];
        if before.is_empty() || before.ends_with(':') {
            rest = &rest[at + 5..];
            rest = rest.strip_prefix("//localhost").unwrap_or(rest);
            anchored = true;
        }
    } else if let Some((_, resource)) = rest.split_once("resource=") {
        rest = resource;
    }
    let slashed: String =
        rest.chars().map(|character| if is_separator(character) { '/' } else { character }).collect();
    let mut rest = slashed.as_str();
    for prefix in ["//?/", "//./", "/??/", "//?", "\\??"] {
        if let Some(device) = rest.strip_prefix(prefix) {
            rest = device;
            anchored = true;
        }
    }
    let mut anchor = if anchored || rest.starts_with('/') { PathAnchor::Root } else { PathAnchor::Relative };
    let trimmed = rest.trim_start_matches('/');
    if let [letter, b':', ..] = trimmed.as_bytes()
        && letter.is_ascii_alphabetic()
        && (trimmed.len() == 2 || trimmed.as_bytes()[2] == b'/' || trimmed.len() > 3)
    {
        // `c:x` begins in the current directory of that drive, which is not known.
        let is_full = trimmed.as_bytes().get(2).is_none_or(|byte| *byte == b'/');
        anchor = if is_full { PathAnchor::Root } else { PathAnchor::Climbing };
        rest = &trimmed[2..];
    }
    let mut names: Vec<String> = Vec::new();
    for (index, raw) in rest.split('/').enumerate() {
        if index == 0
            && let Some(start) = begins_at(raw)
        {
            (anchor, names) = start;
            continue;
        }
        match raw.trim() {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() && anchor != PathAnchor::Root {
                    anchor = PathAnchor::Climbing;
                }
            }
            other => names.extend(plain(other)),
        }
    }
    PathReading::new(anchor, names)
}

/// Returns the place at which a path begins whose first part is `~`, `~user` or a variable.
fn begins_at(first: &str) -> Option<(PathAnchor, Vec<String>)> {
    let at = |text: &str| {
        let pattern = text.to_lowercase();
        let (anchor, rest) = match pattern.strip_prefix('~') {
            Some(rest) => (PathAnchor::Home, rest),
            None => (PathAnchor::Root, pattern.as_str()),
        };
        (anchor, rest.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    };
    if let Some(user) = first.strip_prefix('~') {
        let is_user = user.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        return match user {
            "+" | "-" => Some((PathAnchor::Relative, Vec::new())),
            _ if is_user => Some(at("~")),
            _ => None,
        };
    }
    let name = variable(first)?;
    let known = TABLE.variables.iter().find(|(own, _)| *own == name);
    Some(known.map_or((PathAnchor::Climbing, Vec::new()), |(_, start)| at(start)))
}

/// Returns the name of the last variable in `$HOME`, `${HOME}`, `$env:HOME` or `%HOMEDRIVE%%HOMEPATH%`, in lower case.
fn variable(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    if let Some(inner) = lower.strip_prefix('%').and_then(|rest| rest.strip_suffix('%')) {
        let name = inner.rsplit("%%").next().unwrap_or(inner);
        return (!name.is_empty() && !name.contains('%')).then(|| name.to_owned());
    }
    let name = lower.strip_prefix('$')?;
    let name = name.strip_prefix(['{', '(']).map_or(name, |inner| inner.trim_end_matches(['}', ')']));
    let name = name.strip_prefix("env:").unwrap_or(name);
    // The name of the variable ends before an operator: `${HOME:-x}` and `${HOME%/}`.
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    (end > 0).then(|| name[..end].to_owned())
}

/// Returns a name in the form in which the most lenient file system compares it: in lower case, without the name of a
/// stream behind it, without dots and spaces at its end, and without invisible characters.
fn plain(name: &str) -> Option<String> {
    let cut = name.find(|c: char| c.is_ascii_control()).unwrap_or(name.len());
    let name = &name[..cut];
    let name = name.find(':').filter(|at| *at > 0).map_or(name, |at| &name[..at]);
    let name = name.trim_end_matches(['.', ' ']).trim_start_matches(' ');
    let is_seen = |c: &char| !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}');
    let name: String = name.chars().filter(is_seen).flat_map(char::to_lowercase).collect();
    (!name.is_empty()).then_some(name)
}

const MAX_LAYERS: usize = 6;
const MAX_READINGS: usize = 48;
