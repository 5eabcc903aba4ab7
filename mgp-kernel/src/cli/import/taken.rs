use std::path::Path;

use mgp_discovery::Config;
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::{ConfigFile, EditError};
use serde::Serialize;

use crate::parts::KERNEL;

/// What became of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub(super) enum Outcome {
    /// It is new; under another id than its own if another server has that.
    Added {
        #[serde(skip_serializing_if = "Option::is_none")]
        instead_of: Option<String>,
    },
    /// The same server was there already.
    Present,
}

impl Outcome {
    pub(super) const fn is_added(&self) -> bool {
        matches!(self, Self::Added { .. })
    }
}

/// A configuration that servers are taken into.
pub(super) struct Taking {
    file: ConfigFile,
    servers: Vec<ServerConfig>,
}

impl Taking {
    pub(super) fn into(path: &Path, file: ConfigFile) -> Result<Self, EditError> {
        let (config, _) = Config::parse(path, file.text_before())?;
        Ok(Self { file, servers: config.servers })
    }

    /// Takes a server in, unless it is there. What has its id and is another server keeps it: this one gets a number.
    pub(super) fn take(&mut self, server: ServerConfig) -> Result<(String, Outcome), EditError> {
        let wanted = server.id.clone();
        let mut candidate = server;
        let mut number = 1_usize;
        loop {
            if let Some(there) = self.servers.iter().find(|there| there.id == candidate.id) {
                if *there == candidate {
                    return Ok((candidate.id, Outcome::Present));
                }
            } else if candidate.id != KERNEL {
                self.file.add(&candidate)?;
                let instead_of = (number > 1).then_some(wanted);
                let id = candidate.id.clone();
                self.servers.push(candidate);
                return Ok((id, Outcome::Added { instead_of }));
            }
            number += 1;
            candidate.id = numbered(&wanted, number);
        }
    }

    pub(super) fn save(&self) -> Result<(), EditError> {
        self.file.save()
    }
}

/// An id with a number behind it, still of no more characters than ids have.
fn numbered(id: &str, number: usize) -> String {
    let ending = format!("-{number}");
    let room = MAX_ID.saturating_sub(ending.len());
    let kept = id.char_indices().take_while(|(at, c)| at + c.len_utf8() <= room).map(|(_, c)| c);
    kept.chain(ending.chars()).collect()
}

const MAX_ID: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn taking(text: &str) -> Taking {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.toml");
        std::fs::write(&path, text).unwrap();
        Taking::into(&path, ConfigFile::open(&path).unwrap()).unwrap()
    }

    fn server(id: &str, command: &str) -> ServerConfig {
        let mut server = ServerConfig::default();
        (server.id, server.command) = (id.into(), Some(command.into()));
        server
    }

    #[test]
    fn the_same_server_is_taken_once_and_another_gets_a_number() {
        let mut taking = taking("[[servers]]\nid = 'files'\ncommand = 'a'\n");
        let mut take = |id, command| taking.take(server(id, command)).unwrap();
        assert_eq!(take("files", "a"), ("files".into(), Outcome::Present));
        let instead = Outcome::Added { instead_of: Some("files".into()) };
        assert_eq!(take("files", "b"), ("files-2".into(), instead));
        assert_eq!(take("files", "b"), ("files-2".into(), Outcome::Present));
        assert_eq!(take("files", "c").0, "files-3");
        assert_eq!(take("mgp", "d").0, "mgp-2");
        let long = "x".repeat(64);
        assert_eq!(take(&long, "a").0, long);
        assert_eq!(take(&long, "b").0, format!("{}-2", "x".repeat(62)));
    }
}
