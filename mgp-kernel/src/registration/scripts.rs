//! The scripts of tools that are made on demand, which exist for as long as their servers are registered.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use mgp_discovery::registry::Registry;
use mgp_types::mgp::{ServerId, TraceId};

/// Returns a new id for a server that is made.
pub(super) fn fresh_id() -> ServerId {
    let number = TraceId::random();
    ServerId::from(format!("{MADE}{number}").as_str())
}

/// Writes the script of a server that is made.
pub(super) async fn write(state: &Path, server: &ServerId, script: String) -> io::Result<PathBuf> {
    let folder = folder(state);
    tokio::fs::create_dir_all(&folder).await?;
    let path = folder.join(format!("{server}.{SUFFIX}"));
    tokio::fs::write(&path, script).await?;
    Ok(path)
}

/// Removes the script of a server that is no longer registered; other servers have none here.
pub(super) async fn remove(state: &Path, server: &ServerId) {
    let is_name = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if server.as_str().strip_prefix(MADE).is_some_and(is_name) {
        unlink(&folder(state).join(format!("{server}.{SUFFIX}"))).await;
    }
}

/// Removes the scripts that belong to no server: those of sessions that ended with the last kernel.
pub(crate) async fn remove_left_over(state: &Path, registry: &Registry) {
    let Ok(mut scripts) = tokio::fs::read_dir(folder(state)).await else { return };
    let registered = registry.registered();
    let wanted: HashSet<&str> = registered.iter().map(|server| server.id.as_str()).collect();
    while let Ok(Some(script)) = scripts.next_entry().await {
        let path = script.path();
        let is_script = path.extension().is_some_and(|suffix| suffix == SUFFIX);
        let server = path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_script);
        if server.is_some_and(|server| server.starts_with(MADE) && !wanted.contains(server)) {
            unlink(&path).await;
        }
    }
}

async fn unlink(path: &Path) {
    match tokio::fs::remove_file(path).await {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(path = %path.display(), %error, "the script of a tool that is no more stays");
        }
        _ => {}
    }
}

fn folder(state: &Path) -> PathBuf {
    state.join("created")
}

const MADE: &str = "created-";
const SUFFIX: &str = "py";
