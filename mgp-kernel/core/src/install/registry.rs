//! The registry of servers: asked over HTTP, or read from copies of its documents.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use mgp_discovery::launch::{LaunchError, ServerJson};
use mgp_security::network::Fetcher;
use serde::Deserialize;
use serde_json::value::RawValue;
use url::Url;

use super::brought;
use crate::terminal::{Failure, Result, printable};

/// A registry of servers.
pub(super) enum ServerRegistry {
    Web(Url),
    /// A file, or a folder of files, with documents of the registry or its answers.
    Files(PathBuf),
}

impl ServerRegistry {
    pub(super) fn of(named: Option<&str>) -> Result<Self> {
        let named = named.unwrap_or(OFFICIAL);
        if !named.contains("://") {
            return Ok(Self::Files(named.into()));
        }
        let url = Url::parse(named);
        url.map(Self::Web).map_err(|error| Failure::usage(format!("the registry {named} is no URL: {error}")))
    }

    /// Returns the servers whose whole name is `name`, or else those whose last part it is, or else those that have it in
    /// their names; of each the newest version, unless one is named.
    pub(super) async fn search(
        &self,
        fetcher: &Fetcher,
        name: &str,
        version: Option<&str>,
    ) -> Result<Vec<ServerJson>> {
        let texts = match self {
            Self::Web(base) => vec![ask(base, fetcher, name, version).await?],
            Self::Files(path) => texts(path).map_err(|error| Failure::file(path, error))?,
        };
        let (mut servers, mut faulty) = (Vec::new(), None);
        for read in texts.iter().flat_map(|text| documents(text)) {
            match read {
                Ok(server) => servers.push(server),
                // A document that nobody can read must not hide the others.
                Err(error) => faulty = Some(error),
            }
        }
        let found = matching(servers, name, version);
        match faulty {
            Some(error) if found.is_empty() => {
                let why =
                    format!("nothing is called {name}, and a document of the registry is wrong: {error}");
                Err(Failure::usage(printable(&why)))
            }
            _ => Ok(found),
        }
    }

    /// Returns the copy of a file beside the documents, if there is one.
    #[cfg(feature = "bundles")]
    pub(super) fn copy_of(&self, url: &str) -> Option<PathBuf> {
        let Self::Files(path) = self else { return None };
        let folder = if path.is_dir() { path } else { path.parent()? };
        Some(folder.join(url.rsplit('/').next()?)).filter(|file| file.is_file())
    }
}

#[derive(Deserialize)]
struct Listing {
    servers: Vec<Box<RawValue>>,
}

/// Reads the documents of an answer of a registry with several, or a single one.
fn documents(text: &str) -> Vec<Result<ServerJson, LaunchError>> {
    match serde_json::from_str::<Listing>(text) {
        Ok(listing) => listing.servers.iter().map(|one| ServerJson::parse(one.get())).collect(),
        Err(_) => vec![ServerJson::parse(text)],
    }
}

/// Returns whether a name has the form of names in the registry, such as `io.github.someone/weather`, and no letter that
/// could be mistaken for another one.
pub(super) fn is_name(name: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_fit);
    name.split_once('/').is_some_and(|(space, last)| is_part(space) && is_part(last))
}

/// Returns the version of a server, which old documents may lack.
pub(super) fn version_of(server: &ServerJson) -> &str {
    server.version.as_deref().unwrap_or_default()
}

fn matching(mut servers: Vec<ServerJson>, name: &str, version: Option<&str>) -> Vec<ServerJson> {
    let kinds: [fn(&str, &str) -> bool; 3] = [
        |known, name| known == name,
        |known, name| known.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(name)),
        |known, name| known.to_ascii_lowercase().contains(&name.to_ascii_lowercase()),
    ];
    servers.retain(|server| version.is_none_or(|version| version_of(server) == version));
    let best = kinds.into_iter().find(|kind| servers.iter().any(|server| kind(&server.name, name)));
    servers.retain(|server| best.is_some_and(|kind| kind(&server.name, name)));
    let mut found: Vec<ServerJson> = Vec::new();
    for server in servers {
        match found.iter_mut().find(|known| known.name == server.name) {
            Some(known) if is_newer(version_of(&server), version_of(known)) => *known = server,
            Some(_) => {}
            None => found.push(server),
        }
    }
    found
}

async fn ask(base: &Url, fetcher: &Fetcher, name: &str, version: Option<&str>) -> Result<String> {
    let mut url = base.clone();
    url.set_path(&format!("{}/v0.1/servers", base.path().trim_end_matches('/')));
    let version = version.unwrap_or("latest");
    url.query_pairs_mut().extend_pairs([("search", name), ("version", version), ("limit", "100")]);
    let failed = |why: String| {
        Failure::unreachable(format!("the registry {base} gives no answer: {why}")).hint(
            "`[downloads] registry` names another one, or a file or folder with copies of its documents",
        )
    };
    let body = brought(fetcher, url.as_str()).await.map_err(failed)?;
    String::from_utf8(body.to_vec()).map_err(|error| failed(error.to_string()))
}

fn texts(path: &Path) -> io::Result<Vec<String>> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files = fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
        files.sort();
    }
    let read = |file: &PathBuf| {
        let mut text = String::new();
        File::open(file)?.take(MAX_BYTES).read_to_string(&mut text).map(|_| text)
    };
    files.iter().map(read).collect()
}

/// The registry of the makers of MCP.
const OFFICIAL: &str = "https://registry.modelcontextprotocol.io";

/// The largest length of a file with documents; a longer one is cut, and then no JSON.
const MAX_BYTES: u64 = 64 << 20;

/// Returns whether a version is newer than another one, in the order of Semantic Versioning. Versions of other forms are
/// compared as far as they have numbers.
pub fn is_newer(version: &str, than: &str) -> bool {
    order(version) > order(than)
}

/// Returns the numbers of a version, and its place among the versions with the same ones: those before the release come
/// first.
fn order(version: &str) -> (Vec<u64>, bool, Vec<(u64, &str)>) {
    let version = version.trim_start_matches('v').split('+').next().unwrap_or_default();
    let (release, before) = version.split_once('-').unwrap_or((version, ""));
    // `1.2` and `1.2.0` are the same.
    let numbers = release.trim_end_matches(".0").split('.').map(|part| part.parse().unwrap_or(0)).collect();
    // Words come after numbers.
    let parts = before.split('.').map(|part| part.parse().map_or((u64::MAX, part), |number| (number, "")));
    (numbers, before.is_empty(), parts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str], name: &str, version: Option<&str>) -> Vec<String> {
        let servers = texts.iter().flat_map(|text| documents(text)).map(Result::unwrap).collect();
        let shown = |server: &ServerJson| format!("{}@{}", server.name, version_of(server));
        matching(servers, name, version).iter().map(shown).collect()
    }

    #[test]
    fn the_best_match_is_found_in_its_newest_version() {
        let listing = r#"{"servers": [
            {"server": {"name": "a.x/weather", "version": "1.9.0"}},
            {"server": {"name": "a.x/weather", "version": "1.10.0"}},
            {"server": {"name": "b.y/weather-maps", "version": "1.0.0"}}]}"#;
        let old = r#"{"name": "c.z/mail", "version_detail": {"version": "3"}}"#;
        let texts = [listing, old];
        assert_eq!(found(&texts, "weather", None), ["a.x/weather@1.10.0"]);
        assert_eq!(found(&texts, "a.x/weather", Some("1.9.0")), ["a.x/weather@1.9.0"]);
        assert_eq!(found(&texts, "eath", None), ["a.x/weather@1.10.0", "b.y/weather-maps@1.0.0"]);
        assert_eq!(found(&texts, "MAIL", None), ["c.z/mail@3"]);
        assert!(found(&texts, "other", None).is_empty() && found(&texts, "mail", Some("4")).is_empty());
    }

    #[test]
    fn names_are_of_plain_letters() {
        assert!(is_name("io.github.someone/weather_2"));
        for name in ["weather", "a/", "/a", "a/b/c", "io.github.x/we\u{430}ther", "a/b c", "a/\u{202e}b", ""]
        {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let ordered = [
            "0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0", "v1.2",
            "1.10.0", "2026.1.1",
        ];
        for (at, version) in ordered.iter().enumerate() {
            for (other_at, other) in ordered.iter().enumerate() {
                assert_eq!(is_newer(version, other), at > other_at, "{version} {other}");
            }
        }
        assert!(!is_newer("1.2.0", "1.2") && !is_newer("1.2.0+b", "1.2.0+a") && !is_newer("", ""));
    }
}
