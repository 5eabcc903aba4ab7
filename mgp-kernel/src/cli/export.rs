//! `mgp export`: adds mgp to the configuration file of an MCP client.

use std::env;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf, absolute};

use clap::Args;
use mgp_discovery::clients::{
    CandidateFile, ClientEntry, ClientFileChange, ClientKind, Concealer, FileScope, plan, read, roll_back,
};
use mgp_discovery::config::ProcessEnvironment;
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable, with_causes};
use serde_json::json;

use super::clients::{ClientLocations, is_mgp, text_of};
use super::context::{CommandContext, EffectiveConfig};
use super::input::{agrees, is_person_there};
use super::output::Output;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct ExportArgs {
    /// The client, such as claude-desktop or cursor
    #[arg(long, value_name = "CLIENT")]
    to: ClientKind,
    /// Write to the client's file in this folder instead of the user's file
    #[arg(long)]
    project: bool,
    /// Remove the servers that mgp has from the client's file
    #[arg(long)]
    replace: bool,
    /// Let the client connect to mgp at this address instead of starting it
    #[arg(long, value_parser = address)]
    url: Option<String>,
    /// The name of mgp in the client's file
    #[arg(long, default_value = "mgp")]
    name: String,
    /// Show the change of the file without writing it
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
    /// Undo the last change of the file
    #[arg(long, conflicts_with_all = ["replace", "url", "dry_run"])]
    rollback: bool,
}

/// Reads an address of http or https. One with variables can only be checked by the client that resolves them.
fn address(text: &str) -> Result<String, &'static str> {
    let is_web = url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    (is_web || text.contains("${")).then(|| text.to_owned()).ok_or("not an address of http or https")
}

/// The names of the servers that mgp has too, and those that stay in a client's file, each with the reason.
type PartedServers = (Vec<String>, Vec<(String, String)>);

pub(super) async fn run(cx: &CommandContext, export: &ExportArgs) -> Result {
    let path = export.file(&ClientLocations::this()?)?;
    if export.rollback {
        return take_back(&cx.output, export.to, &path);
    }
    let text = if path.exists() { Some(text_of(&path)?) } else { None };
    let (mut removed, mut kept, mut doubled) = (Vec::new(), Vec::new(), Vec::new());
    if export.replace {
        (removed, kept) = export.parted(&cx.read()?, &path, text.as_deref().unwrap_or_default())?;
    } else if let (Ok(configured), Some(text)) = (cx.read(), &text) {
        // A file that cannot be read is refused when the change is planned.
        doubled = export.parted(&configured, &path, text).map(|(removed, _)| removed).unwrap_or_default();
    }
    let change =
        ClientFileChange { name: export.name.clone(), entry: export.entry(cx)?, without: removed.clone() };
    let plan =
        plan(export.to, &path, text.as_deref(), &change).map_err(|error| Failure::file(&path, error))?;
    let (client, diff) = (export.to.name(), plan.diff().to_owned());
    let shown = path.display().to_string();
    let text = |written: bool| {
        if diff.is_empty() && !written {
            return format!("{shown} already has this entry\n");
        }
        let removed =
            removed.iter().map(|name| format!("removes {}: mgp has this server\n", printable(name)));
        let kept = kept.iter().map(|(name, why)| format!("keeps {}: {}\n", printable(name), printable(why)));
        removed.chain(kept).fold(printable(&diff), |text, line| text + &line)
    };
    let decided = !plan.changes() || export.dry_run || export.yes;
    if !decided {
        ask(&cx.output, &shown, &text(false)).await?;
    }
    let applied = (plan.changes() && !export.dry_run).then(|| plan.apply()).transpose();
    let backup = applied.map_err(|error| Failure::usage(with_causes(&error.to_string(), &error)))?;
    let stays: Vec<_> = kept.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
    let mut report = json!({
        "client": client,
        "path": shown,
        "written": backup.is_some(),
        "diff": diff,
        "removed": removed,
        "kept": stays,
    });
    if let Some(backup) = &backup {
        report["backup"] = backup.display().to_string().into();
    }
    // A person who was asked has already seen the difference.
    cx.output.show(&report, |_, out| {
        if decided {
            write!(out, "{}", text(backup.is_some()))?;
        }
        if backup.is_some() { writeln!(out, "wrote {shown}") } else { Ok(()) }
    })?;
    let (title, project) = (export.to.title(), if export.project { " --project" } else { "" });
    if backup.is_some() {
        cx.output.note(&format!("`mgp export --to {client}{project} --rollback` undoes the change"));
        cx.output.note(&format!("restart {title} to use the change"));
    }
    if !doubled.is_empty() {
        cx.output.note(&format!(
            "{title} also starts {} itself, without mgp: `mgp export --to {client}{project} --replace` removes from its file \
             what mgp has",
            doubled.join(", ")
        ));
    }
    if !cx.is_found_anywhere() && export.url.is_none() && !export.project {
        cx.output.note(
            "mgp.toml applies only when the client starts mgp in this folder; with `--config FILE`, the entry names \
             the file",
        );
    }
    Ok(Exit::Done)
}

/// Shows the change of the file at `path`, and asks a person to confirm it; refuses it if there is no terminal to ask at.
async fn ask(output: &Output, path: &str, change: &str) -> Result<()> {
    if output.json || !is_person_there() {
        let message = format!("{path} was not changed: there is no terminal to ask for confirmation");
        return Err(
            Failure::usage(message).hint("`--dry-run` shows the change, `--yes` makes it without asking")
        );
    }
    output.show(&(), |(), out| write!(out, "{change}"))?;
    if agrees("write this change?").await? { Ok(()) } else { Err(Failure::usage("nothing was changed")) }
}

fn take_back(output: &Output, client: ClientKind, path: &Path) -> Result {
    let kept_at = roll_back(path).map_err(|error| Failure::usage(with_causes(&error.to_string(), &error)))?;
    let path = path.display().to_string();
    let mut done = json!({ "client": client.name(), "path": path });
    let mut text = format!("restored {path}");
    if let Some(kept) = kept_at {
        text = format!("{text}\nthe content until now is in {}", kept.display());
        done["kept_at"] = kept.display().to_string().into();
    }
    output.line(&done, &text)
}

impl ExportArgs {
    /// Returns the path of the client's file: the first that exists and is for servers, or else the one that the client
    /// would create.
    fn file(&self, machine: &ClientLocations) -> Result<PathBuf> {
        let scope = if self.project { FileScope::Project } else { FileScope::User };
        let mut files: Vec<CandidateFile> = machine.places.candidates(self.to);
        files.retain(|file| file.scope == scope);
        let there = files.iter().find(|file| file.path.exists() && self.has_servers(&file.path, machine));
        // Of several places, the one at which the client is installed is used.
        let there = there.or_else(|| files.iter().find(|file| file.sign.is_dir())).or_else(|| files.first());
        let none = || Failure::usage(format!("{} has no project file in this folder", self.to.title()));
        there.map(|file| file.path.clone()).ok_or_else(none)
    }

    /// Returns whether an existing file lists servers or may list them. VS Code has a file of its own for servers, so
    /// its settings count only if somebody has put servers there.
    fn has_servers(&self, file: &Path, machine: &ClientLocations) -> bool {
        if self.to != ClientKind::VsCode || !file.ends_with("settings.json") {
            return true;
        }
        let found = text_of(file).ok().and_then(|text| read(self.to, &text, Some(&machine.project)).ok());
        found.is_some_and(|found| !found.servers.is_empty())
    }

    fn entry(&self, cx: &CommandContext) -> Result<ClientEntry> {
        if let Some(url) = &self.url {
            return Ok(ClientEntry::Url(url.clone()));
        }
        let unknown =
            |what: &str| Failure::usage(format!("{what} is not UTF-8 and cannot be written as JSON"));
        let program = called_as().map_err(Failure::with_error("the path of this program cannot be found"))?;
        let text = |path: PathBuf| path.into_os_string().into_string();
        let command = text(program).map_err(|_| unknown("the path of this program"))?;
        let mut args = Vec::new();
        // The client starts mgp in another folder and with another environment, so the paths have to be absolute.
        for (option, path) in cx.named() {
            let whole = absolute(&path).map_err(|error| Failure::file(&path, error))?;
            args.push(option.to_owned());
            args.push(text(whole).map_err(|_| unknown("the path of the configuration"))?);
        }
        args.push("serve".to_owned());
        Ok(ClientEntry::Command { command, args })
    }

    /// Returns the client's servers that mgp has too, and those that stay in the client's file, each with the reason.
    fn parted(&self, configured: &EffectiveConfig, path: &Path, text: &str) -> Result<PartedServers> {
        let machine = ClientLocations::this()?;
        let read = read(self.to, text, Some(&machine.project)).map_err(|error| Failure::file(path, error))?;
        // Secrets are compared as well: of two servers that differ only in secrets, mgp has at most one.
        let mut known = Concealer::new(&ProcessEnvironment);
        let (mut removed, mut kept, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        for server in read.servers {
            if server.name == self.name || is_mgp(&server) {
                continue;
            }
            let name = server.name.clone();
            if let Some(place) = &server.elsewhere {
                elsewhere.push((name, place.to_string()));
                continue;
            }
            let mut owns = configured.config.servers.iter().filter(|own| own.enabled);
            match owns.find(|own| known.same(own, &server.config).is_some()) {
                None => kept.push((name, "mgp does not have this server".to_owned())),
                Some(own) => match configured.faulty.get(&own.id) {
                    // Without the entry of the client, nobody could use a server that mgp cannot start.
                    Some(fault) => kept.push((name, format!("mgp cannot start this server: {fault}"))),
                    None => removed.push(name),
                },
            }
        }
        let skipped = read.skipped.into_iter().filter(|skipped| skipped.name != self.name);
        kept.extend(skipped.map(|skipped| (skipped.name, skipped.why)));
        // A name that also belongs to an entry that stays is not removed.
        removed.retain(|name| kept.iter().all(|(kept, _)| kept != name));
        kept.extend(elsewhere);
        Ok((removed, kept))
    }
}

/// Returns the path by which this program was called, or found in `PATH`: a link that leads to the installed version stays
/// a link, so that whoever keeps the path finds the next version, too.
///
/// # Errors
/// The system does not tell where the program lies.
fn called_as() -> io::Result<PathBuf> {
    let own = env::current_exe()?;
    let name = env::args_os().next().unwrap_or_default();
    Ok(found_as(&name, env::var_os("PATH").as_deref(), &own).unwrap_or(own))
}

/// Returns the path that `name` stands for, if it leads to the program `own`.
fn found_as(name: &OsStr, path: Option<&OsStr>, own: &Path) -> Option<PathBuf> {
    let is_own = |path: &PathBuf| std::fs::canonicalize(path).is_ok_and(|found| found == own);
    if Path::new(name).components().count() > 1 {
        return absolute(name).ok().filter(is_own);
    }
    env::split_paths(path?).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_program_stays_a_link_and_another_program_of_the_name_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        for dir in ["1.0", "bin", "other"] {
            std::fs::create_dir(root.join(dir)).unwrap();
        }
        let own = root.join("1.0/mgp");
        std::fs::write(&own, "").unwrap();
        std::fs::write(root.join("other/mgp"), "").unwrap();
        std::os::unix::fs::symlink(&own, root.join("bin/mgp")).unwrap();
        let path = env::join_paths([root.join("other"), root.join("bin")]).unwrap();
        let found = |name: &Path| found_as(name.as_os_str(), Some(&path), &own);
        assert_eq!(found(Path::new("mgp")), Some(root.join("bin/mgp")));
        assert_eq!(found(&root.join("bin/mgp")), Some(root.join("bin/mgp")));
        assert_eq!(found(&root.join("other/mgp")), None);
        assert_eq!(found(Path::new("other")), None);
    }
}
