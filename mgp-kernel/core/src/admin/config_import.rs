//! The import of servers of other MCP clients into a configuration file, with their secrets.

use std::path::Path;

use mgp_discovery::clients::{ClientKind, Concealer, Format, MovedSecret, ReferenceKind, read};
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::{ConfigFile, EditError, Environment};
use mgp_discovery::secrets::{SecretStoreError, Secrets, user_store};
use mgp_discovery::{Config, FileReaders};
use serde::Serialize;

use crate::lifecycle::KERNEL;

/// Returns the client whose format yields the most servers for a text, of several the one that stands first.
pub fn client_by_content(format: Option<Format>, text: &str) -> Option<ClientKind> {
    let kinds =
        ClientKind::ALL.into_iter().filter(|kind| format.is_none_or(|format| format == kind.format()));
    let counted = kinds.filter_map(|kind| {
        let found = read(kind, text, None).ok()?;
        let servers = found.servers.len().saturating_sub(found.skipped.len());
        (servers > 0).then_some((servers, kind))
    });
    // Of several with the most, the last one that comes is taken.
    counted.rev().max_by_key(|(servers, _)| *servers).map(|(_, kind)| kind)
}

/// The outcome of the import of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum ImportOutcome {
    /// The server was added, under another id if another server has its own.
    Added {
        /// The id that another server has.
        #[serde(skip_serializing_if = "Option::is_none")]
        instead_of: Option<String>,
    },
    /// The configuration had the same server already.
    Present,
}

/// A server that was added to the configuration, or was already there.
#[derive(Debug, PartialEq, Eq)]
pub struct AddedServer {
    /// The id of the server in the configuration.
    pub id: String,
    /// The outcome of the import.
    pub outcome: ImportOutcome,
    /// The secrets that references replace in the configuration.
    pub secrets: Vec<MovedSecret>,
}

/// The treatment of secrets that stand in a client's file itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralSecrets {
    /// Secrets are replaced by references to secrets of the user, which are to be set.
    Refer,
    /// Secrets are copied as they are.
    Keep,
}

/// A configuration to which imported servers are added.
pub struct ConfigImport<'e> {
    /// The configuration.
    pub file: ConfigFile,
    servers: Vec<ServerConfig>,
    concealer: Concealer<'e>,
    environment: &'e dyn Environment,
    secrets: LiteralSecrets,
    /// The secrets that the configuration refers to by name, with their values.
    stored: Secrets,
}

mgp_types::partial_debug!(['e] ConfigImport<'e>);

impl<'e> ConfigImport<'e> {
    /// Begins an import into the configuration at `path`.
    ///
    /// # Errors
    /// A secret that the configuration refers to cannot be read.
    pub fn into(
        path: &Path,
        file: ConfigFile,
        secrets: LiteralSecrets,
        environment: &'e dyn Environment,
    ) -> Result<Self, EditError> {
        let (config, _) = Config::parse(path, file.text_before())?;
        let mut concealer = Concealer::new(environment);
        config.servers.iter().for_each(|server| concealer.reserve(server));
        Ok(Self { file, servers: config.servers, concealer, environment, secrets, stored: Secrets::new() })
    }

    /// Adds a server, given with the values of its secrets, unless the configuration has it already. If another server
    /// has its id, the added one gets a number. Two servers are the same if they are started or reached in the same
    /// way, with the same secrets as far as these are known.
    pub fn take(&mut self, server: ServerConfig) -> Result<AddedServer, EditError> {
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
        let (id, instead_of) = (candidate.id.clone(), (number > 1).then_some(wanted));
        let secrets = self.add(candidate)?;
        Ok(AddedServer { id, outcome: ImportOutcome::Added { instead_of }, secrets })
    }

    /// Adds a server under its own id, given with the values of its secrets.
    pub(crate) fn add(&mut self, mut server: ServerConfig) -> Result<Vec<MovedSecret>, EditError> {
        let keeps = self.secrets == LiteralSecrets::Keep;
        let secrets = if keeps { Vec::new() } else { self.concealer.conceal(&mut server) };
        self.file.add(&server)?;
        self.store(&secrets);
        self.servers.push(server);
        Ok(secrets)
    }

    /// Reserves the names to which these servers refer: no secret gets a name that another server refers to.
    pub fn reserve<'s>(&mut self, servers: impl IntoIterator<Item = &'s ServerConfig>) {
        servers.into_iter().for_each(|server| self.concealer.reserve(server));
    }

    /// Keeps the secrets that the configuration refers to among those of the user.
    pub fn keep_secrets(&self) -> Result<(), SecretStoreError> {
        if !self.stored.is_empty() {
            user_store(self.environment)?.set(self.stored.clone())?;
        }
        Ok(())
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
    pub fn save(&self) -> Result<(), EditError> {
        let keeps = self.secrets == LiteralSecrets::Keep;
        self.file.save(if keeps { FileReaders::Owner } else { FileReaders::Kept })
    }
}

/// Returns an id with a number at its end, which is no longer than ids may be.
fn numbered(id: &str, number: usize) -> String {
    let ending = format!("-{number}");
    let kept = id.floor_char_boundary(MAX_ID.saturating_sub(ending.len()));
    format!("{}{ending}", &id[..kept])
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
