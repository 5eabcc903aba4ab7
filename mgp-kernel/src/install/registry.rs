//! The registry of servers: asked over HTTP, or read from copies of its documents.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use http::{HeaderMap, StatusCode};
use mgp_discovery::launch::{LaunchError, ServerJson};
use mgp_security::network::Fetcher;
use serde::Deserialize;
use serde_json::value::RawValue;
use url::Url;

use crate::terminal::{Failure, Result, printable, with_causes};
use crate::version_order::is_newer;

/// A registry of servers.
pub(super) enum ServerRegistry {
    Web(Url),
    /// A file, or a folder of files, with documents of the registry or its answers.
    Files(PathBuf),
}

/// A version of a server in a registry.
pub(super) struct RegistryEntry {
    pub(super) server: ServerJson,
    /// The word of the registry for how it stands: `active`, `deprecated` or `deleted`.
    pub(super) status: String,
}

impl ServerRegistry {
    pub(super) fn of(named: Option<&str>) -> Result<Self> {
        let named = named.unwrap_or(OFFICIAL);
        if !named.contains("://") {
            let below_home = named.strip_prefix("~/").and_then(|rest| Some(std::env::home_dir()?.join(rest)));
            return Ok(Self::Files(below_home.unwrap_or_else(|| named.into())));
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
    ) -> Result<Vec<RegistryEntry>> {
        let texts = match self {
            Self::Web(base) => vec![ask(base, fetcher, name, version).await?],
            Self::Files(path) => texts(path)?,
        };
        let (mut entries, mut faulty) = (Vec::new(), None);
        for read in texts.iter().flat_map(|text| RegistryEntry::all(text)) {
            match read {
                Ok(entry) => entries.push(entry),
                // A document that nobody can read must not hide the others.
                Err(error) => faulty = faulty.or(Some(error)),
            }
        }
        let found = matching(entries, name, version);
        match faulty {
            Some(error) if found.is_empty() => {
                let message = format!("nothing readable is called {name}, and a document of the registry is wrong: {error}");
                Err(Failure::usage(printable(&message)))
            }
            _ => Ok(found),
        }
    }

    /// Returns the copy of a file beside the documents, if there is one.
    pub(super) fn copy_of(&self, url: &str) -> Option<PathBuf> {
        let Self::Files(path) = self else { return None };
        let name = url.rsplit('/').next().filter(|name| !name.is_empty() && *name != "..")?;
        let folder = if path.is_dir() { path } else { path.parent()? };
        Some(folder.join(name)).filter(|file| file.is_file())
    }
}

impl RegistryEntry {
    /// Reads the entries of an answer of a registry with several, or the one of a document.
    fn all(text: &str) -> Vec<Result<Self, LaunchError>> {
        match serde_json::from_str::<Listing>(text) {
            Ok(listing) => listing.servers.iter().map(|one| Self::read(one.get())).collect(),
            Err(_) => vec![Self::read(text)],
        }
    }

    fn read(text: &str) -> Result<Self, LaunchError> {
        let server = ServerJson::parse(text)?;
        let marked = serde_json::from_str::<Marked>(text).unwrap_or_default();
        Ok(Self { server, status: marked.meta.official.status })
    }

    pub(super) fn version(&self) -> &str {
        self.server.version.as_deref().unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Listing {
    servers: Vec<Box<RawValue>>,
}

/// The part of an entry that the registry itself has written.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Marked {
    #[serde(rename = "_meta")]
    meta: RegistryMeta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RegistryMeta {
    #[serde(rename = "io.modelcontextprotocol.registry/official")]
    official: OfficialMeta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OfficialMeta {
    status: String,
}

/// Returns whether a name has the form of names in the registry, such as `io.github.someone/weather`, and no letter that
/// could be mistaken for another one.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        !part.is_empty() && part.len() <= 128 && part.bytes().all(is_fit)
    };
    name.split_once('/').is_some_and(|(space, last)| is_part(space) && is_part(last))
}

fn matching(entries: Vec<RegistryEntry>, name: &str, version: Option<&str>) -> Vec<RegistryEntry> {
    let kinds: [fn(&str, &str) -> bool; 3] = [
        |known, name| known == name,
        |known, name| known.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(name)),
        |known, name| known.to_ascii_lowercase().contains(&name.to_ascii_lowercase()),
    ];
    let is_wanted = |entry: &RegistryEntry| {
        entry.status != "deleted" && version.is_none_or(|version| entry.version() == version)
    };
    let mut found: Vec<RegistryEntry> = Vec::new();
    let is_of =
        |entry: &RegistryEntry, kind: fn(&str, &str) -> bool| is_wanted(entry) && kind(&entry.server.name, name);
    let Some(kind) = kinds.into_iter().find(|kind| entries.iter().any(|entry| is_of(entry, *kind))) else {
        return found;
    };
    for entry in entries.into_iter().filter(|entry| is_of(entry, kind)) {
        match found.iter_mut().find(|known| known.server.name == entry.server.name) {
            Some(known) if is_newer(entry.version(), known.version()) => *known = entry,
            Some(_) => {}
            None => found.push(entry),
        }
    }
    found
}

async fn ask(base: &Url, fetcher: &Fetcher, name: &str, version: Option<&str>) -> Result<String> {
    let mut url = base.clone();
    url.set_path(&format!("{}/v0.1/servers", base.path().trim_end_matches('/')));
    let version = version.unwrap_or("latest");
    url.query_pairs_mut().extend_pairs([("search", name), ("version", version), ("limit", MAX_LISTED)]);
    let failed = |why: String| {
        Failure::unreachable(format!("the registry {base} {why}"))
            .hint("`[downloads] registry` names another one, or a file or folder with copies of its documents")
    };
    let fetched = fetcher.get(url.as_str(), &HeaderMap::new()).await;
    let fetched = fetched.map_err(|error| {
        failed(format!("gives no answer: {}", with_causes(&error.to_string(), &error)))
    })?;
    if fetched.status != StatusCode::OK {
        return Err(failed(format!("answers with {}", fetched.status)));
    }
    String::from_utf8(fetched.body.to_vec()).map_err(|_| failed("answers with something else than text".to_owned()))
}

fn texts(path: &Path) -> Result<Vec<String>> {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(|error| Failure::file(path, error))?;
        files = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
        files.sort();
    }
    files.iter().map(|file| read(file).map_err(|error| Failure::file(file, error))).collect()
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    if File::open(file)?.take(MAX_BYTES + 1).read_to_string(&mut text)? as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("the file is longer than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// The registry of the makers of MCP.
const OFFICIAL: &str = "https://registry.modelcontextprotocol.io";

/// The number of servers that a registry lists at most.
const MAX_LISTED: &str = "100";

/// The largest length of a file with documents.
const MAX_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str], name: &str, version: Option<&str>) -> Vec<String> {
        let entries = texts.iter().flat_map(|text| RegistryEntry::all(text)).map(Result::unwrap).collect();
        let shown = |entry: &RegistryEntry| format!("{}@{}", entry.server.name, entry.version());
        matching(entries, name, version).iter().map(shown).collect()
    }

    #[test]
    fn the_best_match_is_found_in_its_newest_version() {
        let listing = r#"{"servers": [
            {"server": {"name": "a.x/weather", "version": "1.9.0"}},
            {"server": {"name": "a.x/weather", "version": "1.10.0"}},
            {"server": {"name": "a.x/weather", "version": "2.0.0"},
             "_meta": {"io.modelcontextprotocol.registry/official": {"status": "deleted"}}},
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
        for name in ["weather", "a/", "/a", "a/b/c", "io.github.x/we\u{430}ther", "a/b c", "a/\u{202e}b", ""] {
            assert!(!is_name(name), "{name}");
        }
    }
}
