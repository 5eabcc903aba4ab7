//! The readings of a URI that a client sends: the paths, URLs and hosts that some server may understand by it.

use crate::network::{is_network_scheme, is_of_scheme};
use crate::path::{self, ROOT_FOLDERS};
use crate::{Finding, text};

/// The readings of a URI. All of them have to pass the gates, because only the server knows which reading it uses.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UriReadings {
    pub(crate) paths: Vec<String>,
    pub(super) urls: Vec<String>,
    pub(super) hosts: Vec<String>,
    /// The parts that name neither a file nor an address.
    pub(super) texts: Vec<String>,
}

impl UriReadings {
    /// Reads `uri` as it is written and as it decodes, layer by layer.
    ///
    /// # Errors
    /// Fails if the URI hides something, or programs read it differently.
    pub(crate) fn of(uri: &str) -> Result<Self, Finding> {
        if uri.len() > MAX_BYTES {
            return Err(ambiguous("it is longer than any server takes"));
        }
        text::check(uri)?;
        if uri.trim() != uri || uri.contains(char::is_control) {
            return Err(ambiguous("it has blanks around it or control characters in it: leave them out"));
        }
        let mut readings = Self::default();
        // Each part of a network address has its own encoding, which the validator of addresses handles.
        if matches!(scheme(uri), Some((name, _)) if is_network_scheme(name)) {
            readings.urls.push(uri.to_owned());
            return Ok(readings);
        }
        let mut form = uri.to_owned();
        for _ in 0..MAX_LAYERS {
            readings.read(&form, 0);
            let folded = text::fold(&form);
            if *folded != *form {
                readings.read(&folded, 0);
            }
            let lists = [&readings.paths, &readings.urls, &readings.hosts, &readings.texts];
            if lists.iter().any(|list| list.len() > MAX_READINGS) {
                return Err(ambiguous("it names too many paths or addresses: name fewer"));
            }
            let Some(decoded) = path::decode(&form)? else { return Ok(readings) };
            form = decoded;
        }
        Err(ambiguous("it is encoded many times over: encode it once"))
    }

    fn read(&mut self, form: &str, depth: usize) {
        match scheme(form) {
            Some((name, rest)) if name.eq_ignore_ascii_case("file") => self.read_file(rest),
            Some((name, _)) if is_network_scheme(name) => note(&mut self.urls, form),
            Some((_, rest)) => self.read_opaque(rest, depth),
            None if form.contains(['/', '\\']) || form.starts_with(['.', '~']) || has_drive(form) => {
                note(&mut self.paths, form);
            }
            None => self.read_opaque(form, depth),
        }
    }

    /// Reads the part behind `file:`. Servers differ in whether they drop the host and the query, so each reading
    /// counts.
    fn read_file(&mut self, rest: &str) {
        let bare = rest.split(['?', '#']).next().unwrap_or_default();
        for rest in [rest, bare] {
            let Some(behind) = rest.strip_prefix("//") else {
                note(&mut self.paths, if rest.is_empty() { "/" } else { rest });
                continue;
            };
            let end = behind.find(['/', '\\']).unwrap_or(behind.len());
            let (host, path) = behind.split_at(end);
            let path = if path.is_empty() { "/" } else { path };
            let is_here = host.is_empty() || LOCAL_HOSTS.iter().any(|own| own.eq_ignore_ascii_case(host));
            let readings = [
                // The text may be a path on another host, a path without its slash, or a drive: `file://C:/x`.
                (!is_here).then_some(behind),
                (!has_drive(host)).then_some(path),
                // On Windows, the drive stands behind the slash.
                path.strip_prefix('/').filter(|path| has_drive(path)),
            ];
            for reading in readings.into_iter().flatten() {
                note(&mut self.paths, reading);
            }
        }
    }

    /// Reads the part behind an unknown scheme: it is text, except for the pieces that look like a path or an address.
    fn read_opaque(&mut self, rest: &str, depth: usize) {
        if depth < MAX_DEPTH {
            for (at, _) in rest.match_indices(':') {
                let name = &rest[..at];
                let start = name.rfind(|c: char| !is_of_scheme(c)).map_or(0, |before| before + 1);
                // Only the first byte after the boundary can begin a name; boundaries are ASCII or whole characters.
                let Some(inner) = rest.get(start..) else { continue };
                let is_known =
                    |(name, _): (&str, &str)| name.eq_ignore_ascii_case("file") || is_network_scheme(name);
                if scheme(inner).is_some_and(is_known) {
                    self.read(inner, depth + 1);
                }
            }
        }
        if let Some(behind) = rest.strip_prefix("//") {
            let authority = behind.split(['/', '?', '#', '\\']).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            if is_address(host) {
                note(&mut self.hosts, without_port(host));
            }
        }
        let mut is_path = false;
        for piece in rest.split(['?', '&', '=', '#', '!', '|', ',']) {
            let slashes = piece.len() - piece.trim_start_matches('/').len();
            let (whole, tail) = match slashes {
                2 => (&piece[2..], piece[2..].find('/').map_or("", |at| &piece[at + 2..])),
                0 => (piece, ""),
                more => (&piece[more - 1..], ""),
            };
            for (candidate, folders) in [(whole, ROOT_FOLDERS), (tail, SECRET_FOLDERS)] {
                if looks_like_path(candidate, folders) {
                    note(&mut self.paths, candidate);
                    is_path = true;
                }
            }
        }
        if !is_path {
            note(&mut self.texts, rest);
        }
    }
}

/// Returns the scheme of a URI and the part behind it. A single letter is not a scheme but a drive of Windows.
fn scheme(uri: &str) -> Option<(&str, &str)> {
    let (name, rest) = uri.split_once(':')?;
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic());
    (name.len() > 1 && starts && name.chars().all(is_of_scheme)).then_some((name, rest))
}

fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':' | b'|', ..] if letter.is_ascii_alphabetic())
}

/// Returns whether a host is an IP address, or `localhost`. A number alone is no address: many servers identify objects
/// with numbers.
fn is_address(host: &str) -> bool {
    let host = without_port(host);
    host.starts_with('[')
        || host.eq_ignore_ascii_case("localhost")
        || (host.split('.').count() == 4 && host.split('.').all(|part| part.parse::<u8>().is_ok()))
}

fn without_port(host: &str) -> &str {
    host.rfind(':').filter(|at| !host[*at..].contains(']')).map_or(host, |at| &host[..at])
}

/// Returns whether a text that may not be a path would be a dangerous path, or leads into one of `folders` at the root.
fn looks_like_path(text: &str, folders: &[&str]) -> bool {
    let inner = text.trim_start_matches('/');
    let first = inner.split('/').next().unwrap_or_default();
    (text.starts_with('/') && folders.contains(&first))
        || text.contains('\\')
        || text.starts_with('~')
        || has_drive(inner)
        || text.split('/').any(|segment| segment == "..")
        || path::check_text(inner).is_err_and(|found| PATH_RULES.contains(&found.rule))
}

/// Notes a reading. Of too many, only the first that is too many is kept.
fn note(list: &mut Vec<String>, text: &str) {
    if list.len() <= MAX_READINGS && !list.iter().any(|known| known == text) {
        list.push(text.to_owned());
    }
}

fn ambiguous(why: &str) -> Finding {
    Finding::new("ambiguous-uri", format!("the URI can be read in more than one way: {why}"))
}

/// The hosts of `file:` that mean the server's own machine.
const LOCAL_HOSTS: &[&str] = &["localhost", "127.0.0.1", "[::1]", "."];

/// The root folders that hold secrets. Behind the host of an unknown scheme only these count: the names of other root
/// folders are common there.
const SECRET_FOLDERS: &[&str] = &["etc", "proc", "root"];

/// The rules of the path validator that make a text count as a path.
const PATH_RULES: &[&str] = &["traversal", "system-file"];

/// The largest length of a URI, in bytes.
const MAX_BYTES: usize = 16 * 1024;
/// The largest number of layers of encoding of a URI that are decoded.
const MAX_LAYERS: usize = 6;
/// The largest depth of URIs within others.
const MAX_DEPTH: usize = 4;
/// The largest number of readings of each kind.
const MAX_READINGS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_read_as_what_it_leads_to_however_it_is_spelled() {
        for row in include_str!("uris.txt").lines().skip(2) {
            let [kind, uri, wanted] = row.split('\t').collect::<Vec<_>>().try_into().unwrap();
            let readings = UriReadings::of(uri).unwrap();
            let UriReadings { paths, urls, hosts, .. } = &readings;
            let is_read = match kind {
                "path" => paths.iter().any(|path| path == wanted),
                "url" => urls.iter().any(|url| url == wanted),
                "host" => *hosts == [wanted],
                _ => paths.is_empty() && urls.is_empty() && hosts.is_empty(),
            };
            assert!(is_read, "{row}: {readings:?}");
        }
    }

    #[test]
    fn no_reading_is_left_out_and_too_many_are_refused() {
        let crowded = |count: usize| {
            format!("notes:{}", (0..count).map(|n| format!("/etc/{n}")).collect::<Vec<_>>().join(","))
        };
        assert_eq!(UriReadings::of(&crowded(MAX_READINGS)).unwrap().paths.len(), MAX_READINGS);
        assert!(UriReadings::of(&crowded(MAX_READINGS + 1)).is_err());
    }

    #[test]
    fn what_programs_read_differently_is_refused() {
        let deep = (0..8).fold("file:///%2e".to_owned(), |uri, _| uri.replace('%', "%25"));
        for uri in [" file:///x", "file:///x\n", "file:///a\u{0}b", "file:///%c0%ae", "x:\u{202e}y", &deep] {
            assert!(UriReadings::of(uri).is_err(), "{uri}");
        }
    }
}
