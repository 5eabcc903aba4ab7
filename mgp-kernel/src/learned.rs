//! The store of what searches learned from use: it is kept in the folder `learned` of the state, in a file for each embedder.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::{AtomicFile, FileReaders};
use mgp_security::sqlite::check_own;
use mgp_toolindex::learn::{LearnSettings, LearnedState, LearnedUses};
use mgp_types::mgp::NameStyle;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The store of what searches learned from use. Vectors of one embedder mean nothing to another, so each has a file of its own.
pub(crate) struct LearnedStore {
    folder: PathBuf,
    /// The uses from which searches learn; `None` where they are not to learn.
    uses: Option<Arc<LearnedUses>>,
    /// The number of the change up to which the file has everything. Held while files are read or written.
    written: Mutex<u64>,
}

/// The counts of what was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ForgottenUses {
    /// The number of tools of which something was known.
    pub(crate) tools: usize,
    /// The number of agents whose searches had learned it.
    pub(crate) agents: usize,
}

impl LearnedStore {
    /// Opens what `state` keeps for this embedder; if searches are not to learn, only to forget it.
    pub(crate) fn open(state: &Path, is_learning: bool, embedder: &str) -> Self {
        let uses = is_learning.then(|| Arc::new(LearnedUses::new(LearnSettings::default(), embedder)));
        let store = Self { folder: state.join("learned"), uses, written: Mutex::default() };
        store.load(embedder, &mut store.written.lock());
        store
    }

    /// Returns the uses from which searches learn; `None` where they are not to learn.
    pub(crate) const fn uses(&self) -> Option<&Arc<LearnedUses>> {
        self.uses.as_ref()
    }

    /// Goes on with what is kept for another embedder. What was learned with the one before stays in its file.
    pub(crate) async fn change_embedder(self: &Arc<Self>, embedder: &str) {
        let (store, embedder) = (Arc::clone(self), embedder.to_owned());
        let change = move || {
            let written = &mut *store.written.lock();
            store.write_changes(written);
            store.load(&embedder, written);
        };
        let _ = tokio::task::spawn_blocking(change).await;
    }

    /// Writes each change some seconds later, for as long as it is polled.
    pub(crate) fn keep(self: &Arc<Self>) -> impl Future<Output = ()> + use<> {
        let store = Arc::clone(self);
        let changes = self.uses().map(|uses| uses.changes());
        async move {
            let Some(mut changes) = changes else { return };
            while changes.changed().await.is_ok() {
                tokio::time::sleep(PAUSE).await;
                changes.mark_unchanged();
                let store = Arc::clone(&store);
                // The file is written completely whatever becomes of this future.
                let _ = tokio::task::spawn_blocking(move || store.write()).await;
            }
        }
    }

    /// Writes what changed since the file was written.
    pub(crate) fn write(&self) {
        self.write_changes(&mut self.written.lock());
    }

    /// Forgets what was learned with any embedder, of the tool that clients call by this name or of all tools.
    pub(crate) fn forget(&self, tool: Option<&str>) -> io::Result<ForgottenUses> {
        let written = &mut *self.written.lock();
        let is_meant = |server: &str, name: &str| tool.is_none_or(|called| is_called(called, server, name));
        let (mut tools, mut agents) = (BTreeSet::new(), BTreeSet::new());
        let mut count = |state: &LearnedState| {
            for (agent, server, name) in state.tools() {
                if is_meant(server.as_str(), name.as_str()) {
                    tools.insert((server.clone(), name.clone()));
                    agents.insert(agent.to_owned());
                }
            }
        };
        if let Some(uses) = &self.uses {
            count(&uses.state());
            uses.forget_tools(|server, name| is_meant(server.as_str(), name.as_str()));
        }
        for file in self.files()? {
            let stored = read(&file);
            let Ok(Some(mut state)) = stored else {
                // Nobody can tell what is in a file that cannot be read.
                if tool.is_none() {
                    fs::remove_file(&file)?;
                }
                continue;
            };
            count(&state);
            state.retain(|server, name| !is_meant(server.as_str(), name.as_str()));
            put(&file, &state)?;
        }
        self.write_changes(written);
        Ok(ForgottenUses { tools: tools.len(), agents: agents.len() })
    }

    fn load(&self, embedder: &str, written: &mut u64) {
        let Some(uses) = &self.uses else { return };
        match self.stored(embedder) {
            Some(state) => uses.load(state),
            None => uses.change_embedder(embedder),
        }
        *written = *uses.changes().borrow();
    }

    fn write_changes(&self, written: &mut u64) {
        let Some(uses) = &self.uses else { return };
        let now = *uses.changes().borrow();
        if *written == now {
            return;
        }
        let state = uses.state();
        match put(&self.file(state.embedder()), &state) {
            Ok(()) => *written = now,
            Err(error) => tracing::error!(%error, "what searches learned from use cannot be kept"),
        }
    }

    /// Returns what is kept for an embedder. A file that says nothing about it is put aside.
    fn stored(&self, embedder: &str) -> Option<LearnedState> {
        let file = self.file(embedder);
        let error = match read(&file) {
            Ok(None) => return None,
            Ok(Some(state)) if state.embedder() == embedder => return Some(state),
            Ok(Some(_)) => io::Error::other("it is of another embedder"),
            Err(error) => error,
        };
        let aside = file.with_extension("unusable");
        let moved = fs::rename(&file, &aside);
        tracing::warn!(
            %error, file = %file.display(), aside = %aside.display(), is_aside = moved.is_ok(),
            "what searches learned from use cannot be read: the file is put aside, and searches learn anew"
        );
        None
    }

    fn file(&self, embedder: &str) -> PathBuf {
        let digest = Sha256::digest(embedder);
        let name = digest[..8].iter().fold(String::new(), |mut name, byte| {
            let _ = write!(name, "{byte:02x}");
            name
        });
        self.folder.join(format!("{name}.json"))
    }

    fn files(&self) -> io::Result<Vec<PathBuf>> {
        match fs::read_dir(&self.folder) {
            Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether an operator means this tool by a name: `SERVER.TOOL`, or as clients are told of it.
fn is_called(called: &str, server: &str, tool: &str) -> bool {
    let behind = called.strip_prefix(server).and_then(|rest| rest.strip_prefix(['.', '/']));
    behind == Some(tool) || NameStyle::any_is(called, server, tool)
}

fn read(file: &Path) -> io::Result<Option<LearnedState>> {
    check_own(file).map_err(io::Error::other)?;
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    opened.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("it is longer than any such file"));
    }
    Ok(Some(serde_json::from_slice(&bytes)?))
}

/// Writes a state to its file; without anything in it, there is no file.
fn put(file: &Path, state: &LearnedState) -> io::Result<()> {
    if state.tools().next().is_some() {
        return AtomicFile::put(file, &serde_json::to_string(state)?, FileReaders::Owner);
    }
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The length of a file at most; that of the most tools, with the longest vectors, is less.
const MOST_BYTES: u64 = 96 << 20;

/// The time from a change until it is written.
const PAUSE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
