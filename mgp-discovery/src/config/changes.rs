//! Differences between two configurations.

use std::collections::BTreeSet;

use super::held::differences;
use super::model::{Config, ServerConfig};

/// The differences between two configurations, so that a kernel changes nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// The ids of new servers.
    pub added: Vec<String>,
    /// The ids of servers whose configuration differs. A variable that has another value is not noticed here.
    pub changed: Vec<String>,
    /// The ids of removed servers.
    pub removed: Vec<String>,
    /// The names of other sections that differ.
    pub settings_changed: Vec<String>,
}

impl Changes {
    /// Returns the changes from one configuration to the next. The order of servers does not matter.
    pub fn between(old: &Config, new: &Config) -> Self {
        let ids = |servers: Vec<&ServerConfig>| servers.into_iter().map(|server| server.id.clone()).collect();
        let differs = |server: &&ServerConfig| old.server(&server.id).is_some_and(|before| before != *server);
        Self {
            added: ids(new.servers.iter().filter(|server| old.server(&server.id).is_none()).collect()),
            changed: ids(new.servers.iter().filter(differs).collect()),
            removed: ids(old.servers.iter().filter(|server| new.server(&server.id).is_none()).collect()),
            settings_changed: different_sections(old, new),
        }
    }

    /// Returns whether the configurations are equal.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.changed.is_empty()
            && self.removed.is_empty()
            && self.settings_changed.is_empty()
    }
}

fn different_sections(old: &Config, new: &Config) -> Vec<String> {
    let mut keys = differences(old, new);
    // The kind of file in which an access rule stands is in no file.
    keys.extend((old.access != new.access).then(|| "access".to_owned()));
    let sections: BTreeSet<_> = keys.iter().filter_map(|key| key.split('.').next()).collect();
    sections.into_iter().filter(|section| *section != "servers").map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse("mgp.toml".as_ref(), text).unwrap().0
    }

    #[test]
    fn only_what_is_different_is_told() {
        let old = config(
            "[[servers]]\nid='a'\ncommand='x'\n[[servers]]\nid='b'\ncommand='x'\n[[servers]]\nid='c'\ncommand='x'\n",
        );
        let new = config(
            "[[servers]]\nid='d'\ncommand='x'\n[[servers]]\nid='c'\ncommand='x'\n[[servers]]\nid='b'\ncommand='y'\n\
             [tools]\nlevel='L0'\n",
        );
        let changes = Changes::between(&old, &new);
        assert_eq!(changes.added, ["d"]);
        assert_eq!(changes.changed, ["b"]);
        assert_eq!(changes.removed, ["a"]);
        assert_eq!(changes.settings_changed, ["tools"]);
        assert!(Changes::between(&new, &new).is_empty());
    }
}
