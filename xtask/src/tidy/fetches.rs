//! What texts have people fetch: files, names to fill in, and packages of others that are known to be there. Nothing of this
//! workspace is in a registry, and it has no address.

mod commands;

use std::{collections::HashSet, ffi::OsStr, fs, path::Path};

use anyhow::Result;

use self::commands::{fetched, image};
use crate::{
    registries::third_party,
    workspace::{PackageNames, Workspace},
};

/// Names what texts have people fetch, and what is not there.
pub(super) fn faults(workspace: &Workspace) -> Result<Vec<String>> {
    let PackageNames { npm, pypi, system, image } = workspace.names()?;
    let members = workspace.members().into_iter().map(|member| &*member.name);
    let known = KnownNames {
        own: members.chain([&**npm, pypi, system, image]).collect(),
        others: third_party().map(|package| package.name).collect(),
    };
    let mut faults = Vec::new();
    for file in workspace.files()? {
        // Cargo.lock is cargo's own, and this check has what it refuses.
        if file == Path::new("Cargo.lock") || file.starts_with(file!().trim_end_matches(".rs")) {
            continue;
        }
        let Ok(text) = fs::read_to_string(workspace.root.join(&file)) else { continue };
        let name = file.to_string_lossy();
        let found = known.faults(&name, &text).into_iter();
        faults.extend(found.map(|(line, fault)| format!("{name}:{line}: {fault}")));
    }
    Ok(faults)
}

/// The names that a text may have.
struct KnownNames<'n> {
    /// The names of our packages, which are in no registry.
    own: HashSet<&'n str>,
    /// The packages of others that are there.
    others: HashSet<&'n str>,
}

impl KnownNames<'_> {
    /// Says what is wrong with the lines of a text.
    fn faults(&self, file: &str, text: &str) -> Vec<(usize, String)> {
        let mut faults = Vec::new();
        let extension = Path::new(file).extension().and_then(OsStr::to_str).unwrap_or_default();
        let end = text.find(TESTS).filter(|_| extension == "rs").unwrap_or(text.len());
        let last_for_people = if is_for_people(file) { text[..end].lines().count() } else { 0 };
        let mut packages = fetched(text, extension == "md");
        if extension == "yaml" || extension == "md" {
            packages.extend(text.lines().zip(1..).filter_map(|(text, line)| Some((line, image(text)?))));
        }
        for (line, package) in packages.into_iter().filter(|(_, package)| !is_at_hand(package)) {
            if self.is_own(package) {
                faults.push((
                    line,
                    format!("`{package}` is in no registry; name a file or a clone by its path"),
                ));
            } else if line <= last_for_people && !self.others.contains(without_version(package)) {
                let place = "xtask/src/registries/third_party.txt";
                faults.push((
                    line,
                    format!("`{package}` is not known to be there; if it is, add it to {place}"),
                ));
            }
        }
        for (text, line) in text.lines().zip(1..) {
            for name in self.own.iter().filter(|name| is_versioned(text, name)) {
                faults.push((line, format!("`{name}` is in no registry; depend on it by its path")));
            }
            for (address, _) in addresses(text).filter(|(_, named)| self.is_own(named)) {
                faults.push((line, format!("`{address}`: nothing of ours has an address")));
            }
        }
        faults.sort();
        faults
    }

    /// Returns whether a name, or a part of an address, is one of ours.
    fn is_own(&self, name: &str) -> bool {
        let mut words = name.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_lowercase);
        self.own.contains(name)
            || PLACEHOLDERS.iter().any(|own| name.contains(own))
            || words.any(|word| word.starts_with("mgp"))
    }
}

/// Returns whether a file is written for people who use `mgp`: no test, no chore, and no knowledge of what is dangerous.
fn is_for_people(file: &str) -> bool {
    let is_test = |part: &str| {
        part.starts_with("test") || part == "benches" || part.ends_with("tests.rs") || part == "cases.txt"
    };
    !file.split('/').any(is_test) && !FOR_OTHERS.iter().any(|start| file.starts_with(start))
}

/// Returns whether a package is a file, something that the reader fills in, or on the reader's machine.
fn is_at_hand(package: &str) -> bool {
    package.starts_with(['.', '/', '~', '<', '%', '*'])
        || package.contains(['{', '$', '…'])
        || package.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        || ["path:", "local/", "localhost/"].iter().any(|start| package.starts_with(start))
        || is_example(package)
}

/// Returns the name of a package without version, extras and tag: `@a/b` for `@a/b@1.2`, `x` for `x[cli]==2` and `x:1`.
fn without_version(package: &str) -> &str {
    let end = package.char_indices().skip(1).find(|(_, c)| "@=<>[:~^!".contains(*c));
    end.map_or(package, |(end, _)| &package[..end])
}

/// Returns whether a line depends on a crate by its version or an address, and not by a path.
fn is_versioned(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let is_whole = !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "-_/.".contains(c));
        let value = line[at + name.len()..].trim_start_matches(['"', '\'']).trim_start().strip_prefix('=');
        let value = value.unwrap_or_default().trim_start();
        let is_version =
            value.trim_start_matches(['"', '\'', '^', '~', '=']).starts_with(|c: char| c.is_ascii_digit());
        let is_table = value.starts_with('{') && (value.contains("version") || value.contains("git"));
        let is_local = value.contains("path") || value.contains("workspace") || is_example(value);
        is_whole && (is_version || is_table) && !is_local
    })
}

/// Returns the addresses in a line that others can reach, each with what may be ours of it: all of an address with a scheme, the path
/// or the account of one without (`a.b/c`, `c@a.b`), and a name with a scope, which is that of an account (`@a/b`).
fn addresses(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let words = line.split(|c: char| c.is_whitespace() || "`\"'()<>[]{},;|\\".contains(c));
    words.map(|word| word.trim_end_matches(['.', ':'])).filter_map(|word| {
        let address = word.split_once("://").map_or(word, |(_, rest)| rest);
        let (host, path) = address.split_once('/').unwrap_or((address, ""));
        let (account, host) = host.rsplit_once('@').unwrap_or(("", host));
        let host = host.split(':').next().unwrap_or_default();
        let last = host.rsplit('.').next().unwrap_or_default();
        let is_public = host.contains('.')
            && host.starts_with(|c: char| c.is_ascii_alphanumeric())
            && last.starts_with(|c: char| c.is_ascii_alphabetic())
            && !PRIVATE.contains(&last)
            && !is_example(host);
        if word.starts_with('@') && !path.is_empty() || is_public && address != word {
            Some((word, word))
        } else if is_public && !NAMESPACES.contains(&host) {
            Some((word, if account.is_empty() { path } else { account }))
        } else {
            None
        }
    })
}

/// Returns whether an address is one that nobody can have.
fn is_example(address: &str) -> bool {
    address
        .split(['.', '/', ':', '@', '"'])
        .any(|label| ["example", "invalid", "test", "localhost"].contains(&label))
}

/// What stands in the place of our names in templates.
const PLACEHOLDERS: [&str; 4] = ["@npm@", "@pypi@", "@system@", "@image@"];

/// How the names of files begin that are written for who works on `mgp`, or that know what others write.
const FOR_OTHERS: [&str; 5] = [
    "mgp-security/src/", "mgp-discovery/src/launch/", "mgp-discovery/src/registry/", "xtask/src/",
    "BENCHMARKS.md",
];

/// Names of extensions that look like hosts.
const NAMESPACES: [&str; 2] = ["dev.cloto", "dev.cloto.mgp"];

/// The last parts of names within a network of the reader's own.
const PRIVATE: [&str; 3] = ["local", "internal", "lan"];

/// The line below which a source has only tests.
const TESTS: &str = "#[cfg(test)]\nmod tests {";

#[cfg(test)]
mod tests;
