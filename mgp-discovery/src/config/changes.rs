//! Differences between two configurations.

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
    pub settings_changed: Vec<&'static str>,
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
            settings_changed: old.different_sections(new),
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

/// Calls a macro with each section but `servers`. A missing section does not compile.
macro_rules! sections {
    ($($section:ident),+ $(,)?) => {
        impl Config {
            fn different_sections(&self, other: &Self) -> Vec<&'static str> {
                // The pattern lists all fields, so that no section is forgotten here.
                let Self { servers: _, $($section: _),+ } = self;
                let mut different = Vec::new();
                $(if self.$section != other.$section { different.push(stringify!($section)); })+
                different
            }
        }
    };
}

sections! {
    pass_env, listen, agents, access, permissions, confirmation, validators, folders, audit, limits, effects, tools, names, registration, telemetry, kernel,
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
