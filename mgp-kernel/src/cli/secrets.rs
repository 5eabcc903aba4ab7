//! `mgp secrets`: the user's secrets, which `mgp.toml` refers to as `${secret:NAME}`. No command prints a value.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Read as _};

use clap::{Args, Subcommand};
use mgp_discovery::Config;
use mgp_discovery::config::{ProcessEnvironment, nearest};
use mgp_discovery::secrets::{SecretName, Secrets as Stored, UserSecrets, user_store};
use mgp_kernel_core::platform::read_hidden;
use mgp_kernel_core::servers::authorization::is_login;
use mgp_kernel_core::terminal::{Exit, Failure, Result, or_dash};
use serde::Serialize;
use serde_json::json;

use super::context::CommandContext;

#[derive(Debug, Subcommand)]
pub(super) enum SecretsCommand {
    /// Set a secret; type the value on the terminal, which does not show it, or give it on standard input
    Set(SecretSetArgs),
    /// List secrets by name, and the servers that use them
    List,
    /// Remove a secret
    Remove(SecretNameArgs),
}

#[derive(Debug, Args)]
pub(super) struct SecretSetArgs {
    #[command(flatten)]
    named: SecretNameArgs,
    /// Keep the secret in the file, even if the system has a keyring
    #[arg(long)]
    file: bool,
    /// Refused: the list of processes and the history of the shell show values on the command line
    #[arg(hide = true)]
    value: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct SecretNameArgs {
    /// The name of the secret, such as GITHUB_TOKEN
    name: String,
}

#[derive(Debug, Serialize)]
struct SecretUse {
    server_id: String,
    /// The key in the entry of the server, such as `env.TOKEN`.
    key: String,
    /// True if the list of processes shows the value while the server runs.
    in_command_line: bool,
}

pub(super) async fn run(cx: &CommandContext, secrets: SecretsCommand) -> Result {
    let store = user_store(&ProcessEnvironment)?;
    match secrets {
        SecretsCommand::Set(wanted) if wanted.file => set(cx, &store.in_file(), wanted).await,
        SecretsCommand::Set(wanted) => set(cx, &store, wanted).await,
        SecretsCommand::List => list(cx, &store),
        SecretsCommand::Remove(named) => remove(cx, &store, &named),
    }
}

async fn set(cx: &CommandContext, store: &UserSecrets, wanted: SecretSetArgs) -> Result {
    let name = wanted.named.parse()?;
    if wanted.value.is_some() {
        return Err(on_command_line(name.as_str()));
    }
    // The location is checked first, so that nobody types a secret that cannot be kept.
    store.location()?;
    let value = typed(&name).await?;
    let kept_in = store.set(Stored::from([(name.clone(), value.into())]))?;
    let (name, used_by) = (name.as_str(), users(cx, &name));
    let changed = json!({ "name": name, "kept_in": kept_in, "used_by": used_by });
    cx.output.line(&changed, &format!("{name} is set in {kept_in}"))?;
    cx.output.note(&match used_by.split_first() {
        None => {
            format!("write `${{secret:{name}}}` into `env` or `headers` of a server in mgp.toml to use it")
        }
        Some((server, _)) => format!(
            "used by {}; a running server gets the value when it restarts: `mgp restart {server}`",
            used_by.join(", ")
        ),
    });
    Ok(Exit::Done)
}

fn list(cx: &CommandContext, store: &UserSecrets) -> Result {
    let mut stored = store.names()?;
    stored.retain(|name, _| !is_login(name));
    let mut uses = uses(cx);
    let mut taken = |name: &SecretName| uses.remove(name.as_str()).unwrap_or_default();
    let kept = stored.iter().map(|(name, kept_in)| (name.to_string(), Some(kept_in), taken(name)));
    let mut secrets: Vec<_> = kept.collect();
    // Secrets that servers refer to and nobody has set are listed, too.
    secrets.extend(uses.into_iter().map(|(name, used_by)| (name, None, used_by)));
    let rows = secrets.iter().map(|(name, kept_in, used_by)| {
        json!({ "name": name, "is_set": kept_in.is_some(), "kept_in": kept_in, "used_by": used_by })
    });
    cx.output.show(&json!({ "secrets": rows.collect::<Vec<_>>() }), |_, out| {
        let rows = secrets.iter().map(|(name, kept_in, used_by)| {
            let state = if kept_in.is_some() { "set" } else { "not set" };
            let places: Vec<String> = used_by.iter().map(SecretUse::shown).collect();
            [name.clone(), state.to_owned(), or_dash((!places.is_empty()).then(|| places.join(", ")))]
        });
        out.table(&["SECRET", "STATE", "USED BY"], rows, "no secrets; `mgp secrets set NAME` sets one")
    })?;
    let mut by_place: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, kept_in) in &stored {
        by_place.entry(kept_in).or_default().push(name.as_str());
    }
    for (place, names) in &by_place {
        let names = if by_place.len() == 1 { String::new() } else { format!(": {}", names.join(", ")) };
        cx.output.note(&format!("kept in {place}{names}"));
    }
    for (missing, _, _) in secrets.iter().filter(|(_, kept_in, _)| kept_in.is_none()) {
        cx.output.note(&format!("`mgp secrets set {missing}` sets the secret that is missing"));
    }
    Ok(Exit::Done)
}

fn remove(cx: &CommandContext, store: &UserSecrets, named: &SecretNameArgs) -> Result {
    let name = named.parse()?;
    if !store.remove(&name)? {
        let stored = store.names()?;
        let meant = nearest(name.as_str(), stored.keys().map(SecretName::as_str));
        let hint = meant.map(|meant| format!("did you mean {meant}? `mgp secrets list` shows all"));
        let hint = hint.unwrap_or_else(|| "`mgp secrets list` shows the secrets".to_owned());
        return Err(Failure::usage(format!("there is no secret {name}")).hint(hint));
    }
    let used_by = users(cx, &name);
    cx.output.line(&json!({ "name": name.as_str(), "used_by": used_by }), &format!("{name} is removed"))?;
    if !used_by.is_empty() {
        cx.output.note(&format!(
            "{} cannot be started without this secret: `mgp secrets set {name}` sets it again",
            used_by.join(", ")
        ));
    }
    Ok(Exit::Done)
}

impl SecretNameArgs {
    fn parse(&self) -> Result<SecretName> {
        if self.name.parse().is_ok_and(|name| is_login(&name)) {
            let message = "this is the login at a server, which `mgp login` and `mgp logout` change";
            return Err(Failure::usage(message));
        }
        self.name.parse().map_err(|error| match self.name.split_once('=') {
            // The text behind the sign is the secret, so only the name is shown.
            Some((name, _)) if name.parse::<SecretName>().is_ok() => on_command_line(name),
            _ => Failure::usage(format!("{error}")),
        })
    }
}

fn on_command_line(name: &str) -> Failure {
    Failure::usage(
        "the value of a secret is not taken from the command line, where the list of processes and the history of the \
         shell show it",
    )
    .hint(format!(
        "run `mgp secrets set {name}` and type the value, or give it on standard input; then replace the value that was \
         shown"
    ))
}

/// Reads the value: a line that is typed and not shown, or all of standard input without the end of its last line.
async fn typed(name: &SecretName) -> Result<String> {
    let asked = format!("value of {name} (not shown): ");
    let read = tokio::task::spawn_blocking(move || {
        if io::stdin().is_terminal() {
            return read_hidden(&asked);
        }
        let mut text = String::new();
        io::stdin().take(MAX_BYTES + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than 1 MiB"));
        }
        let line = text.strip_suffix('\n').unwrap_or(&text);
        Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
    });
    let value = read.await.map_err(io::Error::other).and_then(|value| value).map_err(|error| {
        let message = format!("the value of {name} cannot be read: {error}");
        Failure::usage(message).hint("run the command in a terminal, or give the value on standard input")
    })?;
    if value.is_empty() || value.contains('\0') {
        return Err(Failure::usage(format!(
            "the value of {name} is empty or has a NUL byte, so nothing was set"
        )));
    }
    Ok(value)
}

/// Returns the places that refer to secrets, by the name of the secret. A broken configuration refers to none.
fn uses(cx: &CommandContext) -> BTreeMap<String, Vec<SecretUse>> {
    let config: Config = cx.read().map(|configured| configured.config).unwrap_or_default();
    let mut uses: BTreeMap<String, Vec<SecretUse>> = BTreeMap::new();
    for server in &config.servers {
        for found in server.secret_references() {
            let in_command_line = found.is_in_command_line();
            let place = SecretUse { server_id: server.id.clone(), key: found.key, in_command_line };
            uses.entry(found.secret).or_default().push(place);
        }
    }
    uses
}

impl SecretUse {
    fn shown(&self) -> String {
        let warning = if self.in_command_line { ", which the list of processes shows" } else { "" };
        format!("{} ({}{warning})", self.server_id, self.key)
    }
}

/// Returns the ids of the servers that use a secret.
fn users(cx: &CommandContext, name: &SecretName) -> Vec<String> {
    let mut users: Vec<_> =
        uses(cx).remove(name.as_str()).unwrap_or_default().into_iter().map(|place| place.server_id).collect();
    users.dedup();
    users
}

/// The largest number of bytes of a value that are read; a file of keys is shorter.
const MAX_BYTES: u64 = 1 << 20;
