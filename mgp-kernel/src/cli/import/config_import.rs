//! The configuration to which `mgp import` adds servers.

use std::path::Path;

use mgp_discovery::Config;
use mgp_discovery::FileReaders;
use mgp_discovery::clients::{Concealer, LiteralSecrets, MovedSecret, ReferenceKind};
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::{ConfigFile, EditError, Environment};
use mgp_discovery::secrets::Secrets;
use serde::Serialize;

use crate::lifecycle::KERNEL;

/// The outcome of the import of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub(super) enum ImportOutcome {
    /// The server was added, under another id if another server has its own.
    Added {
        #[serde(skip_serializing_if = "Option::is_none")]
        instead_of: Option<String>,
    },
    /// The configuration had the same server already.
    Present,
}

/// A server that was added to the configuration, or was already there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AddedServer {
    pub(super) id: String,
    pub(super) outcome: ImportOutcome,
    /// The secrets that references replace in the configuration.
    pub(super) secrets: Vec<MovedSecret>,
}

/// A configuration to which imported servers are added.
pub(super) struct ConfigImport<'e> {
    pub(super) file: ConfigFile,
    servers: Vec<ServerConfig>,
    pub(super) concealer: Concealer<'e>,
    secrets: LiteralSecrets,
    /// The secrets that the configuration refers to by name, with their values.
    pub(super) stored: Secrets,
}

impl<'e> ConfigImport<'e> {
    pub(super) fn into(
        path: &Path,
        file: ConfigFile,
        secrets: LiteralSecrets,
        environment: &'e dyn Environment,
    ) -> Result<Self, EditError> {
        let (config, _) = Config::parse(path, file.text_before())?;
        let mut concealer = Concealer::new(environment);
        for server in &config.servers {
            concealer.reserve(server);
        }
        Ok(Self { file, servers: config.servers, concealer, secrets, stored: Secrets::new() })
    }

    /// Adds a server, given with the values of its secrets, unless the configuration has it already. If another server
    /// has its id, the added one gets a number. Two servers are the same if they are started or reached in the same
    /// way, with the same secrets as far as these are known.
    pub(super) fn take(&mut self, server: ServerConfig) -> Result<AddedServer, EditError> {
        let wanted = server.id.clone();
        let mut candidate = server;
        let mut number = 1_usize;
        loop {
            if let Some(there) = self.servers.iter().find(|there| there.id == candidate.id) {
                if let Some(secrets) = self.concealer.same(there, &candidate) {
                    self.store(&secrets);
                    return Ok(AddedServer { id: candidate.id, outcome: ImportOutcome::Present, secrets });
                }
            } else if candidate.id != KERNEL {
                break;
            }
            number += 1;
            candidate.id = numbered(&wanted, number);
        }
        let secrets = match self.secrets {
            LiteralSecrets::Keep => Vec::new(),
            _ => self.concealer.conceal(&mut candidate),
        };
        self.file.add(&candidate)?;
        self.store(&secrets);
        let (id, instead_of) = (candidate.id.clone(), (number > 1).then_some(wanted));
        self.servers.push(candidate);
        Ok(AddedServer { id, outcome: ImportOutcome::Added { instead_of }, secrets })
    }

    /// Collects the secrets that are kept outside of the configuration.
    fn store(&mut self, secrets: &[MovedSecret]) {
        for secret in secrets.iter().filter(|secret| secret.held_in == ReferenceKind::Store) {
            // Names are made of words of the client's file. A secret with an invalid name stays out of the
            // configuration as well.
            if let Ok(name) = secret.name.parse() {
                self.stored.insert(name, secret.value.clone());
            }
        }
    }

    /// Writes the file. A file that contains secrets is readable only by its owner from the beginning.
    pub(super) fn save(&self) -> Result<(), EditError> {
        self.file.save(match self.secrets {
            LiteralSecrets::Keep => FileReaders::Owner,
            _ => FileReaders::Kept,
        })
    }
}

/// Returns an id with a number at its end, which is no longer than ids may be.
fn numbered(id: &str, number: usize) -> String {
    let ending = format!("-{number}");
    let room = MAX_ID.saturating_sub(ending.len());
    let kept = id.char_indices().take_while(|(at, c)| at + c.len_utf8() <= room).map(|(_, c)| c);
    kept.chain(ending.chars()).collect()
}

/// The largest length of an id in bytes.
const MAX_ID: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn taking(text: &str) -> ConfigImport<'static> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.toml");
        std::fs::write(&path, text).unwrap();
        ConfigImport::into(&path, ConfigFile::open(&path).unwrap(), LiteralSecrets::Refer, &unset).unwrap()
    }

    fn unset(_: &str) -> Option<String> {
        None
    }

    fn server(id: &str, command: &str) -> ServerConfig {
        let mut server = ServerConfig::default();
        (server.id, server.command) = (id.into(), Some(command.into()));
        server
    }

    fn keyed(id: &str, key: &str) -> ServerConfig {
        let mut server = server(id, "x");
        server.env.insert("KEY".into(), key.into());
        server
    }

    fn instead_of(id: &str) -> ImportOutcome {
        ImportOutcome::Added { instead_of: Some(id.into()) }
    }

    #[test]
    fn the_same_server_is_taken_once_and_another_gets_a_number() {
        let mut taking = taking("[[servers]]\nid = 'files'\ncommand = 'a'\n");
        let mut take = |id, command| {
            let taken = taking.take(server(id, command)).unwrap();
            (taken.id, taken.outcome)
        };
        assert_eq!(take("files", "a"), ("files".into(), ImportOutcome::Present));
        assert_eq!(take("files", "b"), ("files-2".into(), instead_of("files")));
        assert_eq!(take("files", "b"), ("files-2".into(), ImportOutcome::Present));
        assert_eq!(take("files", "c").0, "files-3");
        assert_eq!(take("mgp", "d").0, "mgp-2");
        let long = "x".repeat(64);
        assert_eq!(take(&long, "a").0, long);
        assert_eq!(take(&long, "b").0, format!("{}-2", "x".repeat(62)));
    }

    #[test]
    fn what_was_said_of_a_server_since_does_not_make_it_another() {
        let mut taking = taking(
            "[[servers]]\nid = 'files'\ncommand = 'a'\nenabled = false\ndescription = 'mine'\n\
             [[servers]]\nid = 'api'\ncommand = 'x'\nenv = { KEY = '${MINE}' }\n",
        );
        assert_eq!(taking.take(server("files", "a")).unwrap().outcome, ImportOutcome::Present);
        let api = taking.take(keyed("api", "s3cret")).unwrap();
        assert_eq!((api.outcome, api.secrets[0].name.as_str()), (ImportOutcome::Present, "MINE"));
    }

    #[test]
    fn the_same_command_with_another_secret_is_another_server() {
        let mut taking = taking("");
        let mut take = |key| {
            let taken = taking.take(keyed("api", key)).unwrap();
            (taken.id, taken.outcome != ImportOutcome::Present, taken.secrets[0].name.clone())
        };
        assert_eq!(take("one"), ("api".into(), true, "API_KEY".into()));
        assert_eq!(take("two"), ("api-2".into(), true, "API_2_KEY".into()));
        assert_eq!(take("one"), ("api".into(), false, "API_KEY".into()));
        assert_eq!(take("two"), ("api-2".into(), false, "API_2_KEY".into()));
    }

    #[test]
    fn a_server_that_no_file_may_have_is_refused_and_the_others_are_taken() {
        let mut taking = taking("");
        let mut odd = server("odd", "x");
        odd.args = vec!["${keyring:x}".into()];
        for refused in [odd, server("mgp_files", "x"), server("empty", "")] {
            let error = taking.take(refused).unwrap_err();
            assert!(matches!(error, EditError::Unfit { .. }), "{error}");
        }
        assert_ne!(taking.take(server("files", "x")).unwrap().outcome, ImportOutcome::Present);
    }

    #[test]
    fn a_name_that_another_server_refers_to_is_given_to_no_secret() {
        let mut taking =
            taking("[[servers]]\nid = 'other'\ncommand = 'a'\nenv = { K = '${secret:API_KEY}' }\n");
        assert_eq!(taking.take(keyed("api", "one")).unwrap().secrets[0].name, "API_KEY_2");
    }
}
