//! The note that a kernel keeps in its state directory while it serves: the number of its process, and those properties
//! that do not follow from its configuration.
//!
//! A kernel that is stopped removes the note before it lets go of its clients, and one that is killed cannot. So
//! clients know whether another kernel is to start at once or with their next request.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};

use mgp_discovery::Config;
use mgp_types::canonical::Digest;
use mgp_types::random_name;
use serde::{Deserialize, Serialize};

use crate::state::folder::{read_json, write_json};

/// The properties of a kernel that clients compare before they share it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelNote {
    /// The process of the kernel.
    pub pid: u32,
    version: String,
    /// The folder in which the kernel was started.
    pub folder: PathBuf,
    salt: String,
    /// A digest of the configuration that the kernel read last.
    #[serde(default)]
    config: String,
    /// Digests of the variables to which the configuration refers, by name.
    variables: BTreeMap<String, String>,
    /// The keys of the configuration that wait until an operator accepts them.
    #[serde(default)]
    pub waiting: Vec<String>,
    /// The sections of the configuration that take effect only when a kernel starts, and have changed since this one did.
    #[serde(default)]
    outdated: Vec<String>,
}

impl KernelNote {
    /// Describes this process, as a kernel of `config`.
    pub(crate) fn of_this_process(config: &Config) -> Self {
        Self::salted(random_name(), config)
    }

    /// Describes the same kernel with another configuration. Digests of the former note stay comparable.
    pub(crate) fn with_config(&self, config: &Config) -> Self {
        Self::salted(self.salt.clone(), config)
    }

    fn salted(salt: String, config: &Config) -> Self {
        let variables =
            referred(config).into_iter().map(|name| (name.clone(), digest(&salt, &name))).collect();
        let folder = env::current_dir().unwrap_or_default();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let config = digest_of_config(&salt, config);
        let (waiting, outdated) = (Vec::new(), Vec::new());
        Self { pid: std::process::id(), version, folder, salt, config, variables, waiting, outdated }
    }

    /// Sets the keys that wait until an operator accepts them.
    pub(crate) fn with_waiting(self, waiting: Vec<String>) -> Self {
        Self { waiting, ..self }
    }

    /// Sets the sections that take effect only when another kernel starts.
    pub(crate) fn with_outdated(self, outdated: Vec<String>) -> Self {
        Self { outdated, ..self }
    }

    /// Reads the note of the kernel that keeps its state in `state`. A kernel that was killed, or could not listen, has left
    /// its note behind.
    pub fn read(state: &Path) -> Option<Self> {
        read_json(&state.join(FILE)).ok()?
    }

    /// Writes the note, or logs why it cannot be written.
    pub(crate) fn keep(&self, state: &Path) {
        if let Err(error) = write_json(&state.join(FILE), self) {
            tracing::warn!(%error, "clients that join cannot see which kernel this is");
        }
    }

    /// Removes the note: the kernel ends in order.
    pub(crate) fn remove(state: &Path) {
        if let Err(error) = std::fs::remove_file(state.join(FILE)) {
            tracing::debug!(%error, "the note of the kernel is not removed");
        }
    }

    /// Returns whether this process, as the kernel of `config`, would be the same as the one that wrote the note.
    pub fn fits(&self, config: &Config) -> bool {
        self.has_read(&self.digest_of(config)) && self.differences(config).is_empty()
    }

    /// Returns the digest of `config`, if a kernel of this process would differ in nothing else.
    pub fn wanted(&self, config: &Config) -> Option<String> {
        self.differences(config).is_empty().then(|| self.digest_of(config))
    }

    /// Returns whether the kernel has read the configuration with this [digest](Self::digest_of), and all of it is in effect
    /// or waits for an operator.
    pub(crate) fn has_read(&self, digest: &str) -> bool {
        self.config == digest && self.outdated.is_empty()
    }

    /// Returns the digest by which the kernel that wrote the note knows `config`.
    pub(crate) fn digest_of(&self, config: &Config) -> String {
        digest_of_config(&self.salt, config)
    }

    /// Returns the differences if this process were the kernel of `config`, a sentence each.
    pub fn differences(&self, config: &Config) -> Vec<String> {
        let mut all = Vec::new();
        if self.version != env!("CARGO_PKG_VERSION") {
            all.push(format!(
                "the running kernel is mgp {}, and this is mgp {}: `mgp stop` ends it, and the next client starts this one",
                self.version,
                env!("CARGO_PKG_VERSION"),
            ));
        }
        let is_other =
            |name: &String| self.variables.get(name).is_some_and(|it| *it != digest(&self.salt, name));
        let others: Vec<_> = referred(config).into_iter().filter(is_other).collect();
        if !others.is_empty() {
            all.push(format!(
                "servers keep the {} with which the kernel was started, which is another one here: `mgp stop` ends it",
                others.join(", "),
            ));
        }
        all
    }
}

/// Returns a notice of the keys whose changes wait until an operator accepts them, if there are any.
pub fn waiting_notice(keys: &[String]) -> Option<String> {
    let keys = (!keys.is_empty()).then(|| keys.join(", "))?;
    Some(format!("Changes that wait for your operator passphrase: {keys}. Apply them: mgp reload"))
}

/// Returns the names of the variables to which values of `config` refer, as `${NAME}`, `${env:NAME}` or
/// `${NAME:-otherwise}`.
fn referred(config: &Config) -> BTreeSet<String> {
    let text = serde_json::to_string(config).unwrap_or_default();
    let name = |rest: &str| {
        let rest = rest.strip_prefix("env:").unwrap_or(rest);
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')?;
        let is_reference = rest[end..].starts_with('}') || rest[end..].starts_with(":-");
        (end > 0 && is_reference).then(|| rest[..end].to_owned())
    };
    text.split("${").skip(1).filter_map(name).collect()
}

/// Returns a digest of a variable, by which another process can tell whether its value is the same, but not the value.
fn digest(salt: &str, name: &str) -> String {
    let value = env::var_os(name);
    let is_set = [u8::from(value.is_some())];
    let parts = [salt.as_bytes(), &is_set, value.as_deref().unwrap_or_default().as_encoded_bytes()];
    Digest::of_canonical(&parts.concat()).to_string()
}

fn digest_of_config(salt: &str, config: &Config) -> String {
    let config = serde_json::to_vec(config).unwrap_or_default();
    Digest::of_canonical(&[salt.as_bytes(), &config].concat()).to_string()
}

const FILE: &str = "kernel.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn config(env: &str) -> Config {
        serde_json::from_value(serde_json::json!({
            "servers": [{"id": "a", "command": "x", "args": ["$HOME", "${A-B}"], "env": {"TOKEN": env}}],
        }))
        .unwrap()
    }

    #[test]
    fn variables_are_known_by_how_they_are_referred_to() {
        let names: Vec<_> = referred(&config("${ONE}-${env:TWO}-${THREE:-3}-${")).into_iter().collect();
        assert_eq!(names, ["ONE", "THREE", "TWO"]);
    }

    #[test]
    fn a_kernel_of_the_same_process_differs_in_nothing_and_one_of_another_environment_says_in_what() {
        let config = config("${PATH}");
        let mut note = KernelNote::of_this_process(&config);
        assert_eq!(note.differences(&config), Vec::<String>::new());
        let other = self::config("${HOME}");
        assert!(note.fits(&config) && !note.fits(&other));
        let wanted = note.wanted(&other).unwrap();
        assert!(note.with_config(&other).has_read(&wanted) && !note.with_config(&config).has_read(&wanted));
        assert!(!note.with_config(&other).with_outdated(vec!["tools".to_owned()]).fits(&other));
        let state = tempfile::tempdir().unwrap();
        note.keep(state.path());
        assert_eq!(KernelNote::read(state.path()).as_ref(), Some(&note));
        assert!(
            !std::fs::read_to_string(state.path().join(FILE)).unwrap().contains(&env::var("PATH").unwrap())
        );
        note.variables.insert("PATH".to_owned(), "another".to_owned());
        note.version = "0.0.1".to_owned();
        let differences = note.differences(&config);
        assert!(differences[0].contains("mgp 0.0.1") && differences[1].contains("PATH"), "{differences:?}");
        assert_eq!(differences.len(), 2, "{differences:?}");
        KernelNote::remove(state.path());
        assert_eq!(KernelNote::read(state.path()), None);
    }
}
