//! `mgp install`, `mgp outdated` and `mgp upgrade`: servers of a registry by their names.

use std::io::Write as _;

use clap::Args;
use mgp_discovery::Config;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::secrets::{SecretName, Secrets, user_store};
use mgp_types::mgp::ServerId;
use serde_json::json;

use super::context::{CommandContext, ConfigScope};
use super::input::{agrees, is_person_there};
use super::link::KernelLink;
use super::pins::pins;
use super::servers_edit::pair;
use super::{changed, secrets};
use crate::admin::config::ReloadConfig;
use crate::admin::operation::KernelNeed;
use crate::admin::pins::PinnedName;
use crate::install::{InstallLookup, InstallPlan, InstallRequest, Installer, NeededAnswer};
use crate::terminal::{Exit, Failure, Result, TextForm as _, TextWriter, printable};
use crate::version_order::is_newer;

#[derive(Debug, Args)]
pub(super) struct RegistryArgs {
    /// The registry: a URL, or a file or folder with server.json documents; that of the configuration if left out
    #[arg(long, value_name = "PLACE")]
    registry: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    /// The name of the server in the registry or its last part, with the version if not the newest: weather,
    /// io.github.someone/weather@1.2.3
    name: String,
    /// The id of the server; the last part of its name if left out
    #[arg(long)]
    id: Option<String>,
    /// Do not confine the program
    #[arg(long)]
    unconfined: bool,
    #[command(flatten)]
    common: PlanArgs,
}

#[derive(Debug, Args)]
pub(super) struct UpgradeArgs {
    /// The id of the server
    server: String,
    #[command(flatten)]
    common: PlanArgs,
}

#[derive(Debug, Args)]
struct PlanArgs {
    /// A value that the server asks for; repeat for more
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    answer: Vec<(String, String)>,
    /// The number, from 1, of one of its packages and remotes; the first that works if left out
    #[arg(long, value_name = "N")]
    way: Option<usize>,
    /// Show what would be written, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Write it without asking
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    registry: RegistryArgs,
    #[command(flatten)]
    scope: ConfigScope,
}

pub(super) async fn install(cx: &CommandContext, args: InstallArgs) -> Result {
    let InstallArgs { name, id, unconfined, common } = args;
    // A name may begin with an `@` of its own.
    let (name, version) = match name.rsplit_once('@') {
        Some((name, version)) if !name.is_empty() => (name.to_owned(), Some(version.to_owned())),
        _ => (name, None),
    };
    let is_whole_name = name.contains('/');
    let answers = common.answer.clone();
    let (server_id, way) = (id, common.way);
    let request =
        InstallRequest { name, version, server_id, way, unconfined, answers, ..InstallRequest::default() };
    let config = cx.read()?.config;
    let plan = planned(&common, &config, &request, &config.servers).await?;
    let path = cx.to_change_in(common.scope)?;
    let file = path.display().to_string();
    if !common.dry_run {
        // A name that looks like another one is no slip only if somebody wrote all of it.
        let yes = common.yes && (plan.warnings.is_empty() || is_whole_name);
        agreed(&TextWriter::text_of(&plan), &format!("add it to {file}?"), yes).await?;
        cx.change(&path, |file| plan.add_to(file))?;
    }
    let is_trial = common.dry_run;
    let report = json!({ "plan": plan, "file": file, "dry_run": is_trial });
    cx.output.show(&report, |_, out| {
        if is_trial || common.yes {
            plan.write(out)?;
        }
        writeln!(out, "{} {} to {file}", if is_trial { "would add" } else { "added" }, plan.server_id)
    })?;
    if !is_trial {
        ask_for_secrets(cx, &plan).await?;
    }
    Ok(Exit::Done)
}

pub(super) async fn outdated(cx: &CommandContext, args: &RegistryArgs) -> Result {
    let config = cx.read()?.config;
    let installer = installer(args, &config)?;
    let mut rows = Vec::new();
    for server in &config.servers {
        let Some((name, version)) = server.package.as_deref().and_then(|package| package.rsplit_once('@')) else {
            continue;
        };
        let newest = installer.newest(name).await?;
        let is_outdated = newest.as_deref().is_some_and(|newest| is_newer(newest, version));
        rows.push((server.id.as_str(), name, version, newest.unwrap_or_else(|| "-".to_owned()), is_outdated));
    }
    let each = rows.iter().map(|(id, name, version, newest, is_outdated)| {
        json!({ "server_id": id, "name": name, "version": version, "newest": newest, "outdated": is_outdated })
    });
    cx.output.show(&json!({ "servers": each.collect::<Vec<_>>() }), |_, out| {
        let newer = rows.iter().filter(|(.., is_outdated)| *is_outdated);
        let cells = newer.map(|(id, name, version, newest, _)| [*id, *name, *version, newest.as_str()].map(str::to_owned));
        out.table(&["SERVER", "NAME", "VERSION", "NEWEST"], cells, "no server has a newer version in the registry")
    })
}

pub(super) async fn upgrade(cx: &CommandContext, args: UpgradeArgs) -> Result {
    let UpgradeArgs { server: id, common } = args;
    let config = cx.read()?.config;
    let Some(old) = config.server(&id) else {
        return Err(Failure::usage(format!("there is no server `{id}`")).hint("`mgp servers` lists them"));
    };
    let Some((name, version)) = old.package.as_deref().and_then(|package| package.rsplit_once('@')) else {
        let why = format!("`{id}` is of no registry, because its entry has no `package`");
        return Err(Failure::usage(why).hint("`mgp install NAME` adds a server that can be upgraded"));
    };
    let request = InstallRequest {
        name: name.to_owned(),
        way: common.way,
        answers: common.answer.clone(),
        variables: old.env.clone(),
        ..InstallRequest::default()
    };
    // The server itself is none that the new version could be mistaken for.
    let others: Vec<_> = config.servers.iter().filter(|server| server.id != id).cloned().collect();
    let mut plan = planned(&common, &config, &request, &others).await?;
    let newest = plan.package.rsplit_once('@').map_or("", |(_, version)| version).to_owned();
    if !is_newer(&newest, version) {
        let same = json!({ "server_id": id, "version": version, "upgraded": false });
        return cx.output.line(&same, &format!("{id} is {name} {version}, and the registry has nothing newer"));
    }
    let before = mgp_discovery::launch::command_line(old);
    plan.upgrade(old);
    let mut shown = TextWriter::text_of(&plan);
    if !before.is_empty() {
        shown = format!("started until now: {}\n{shown}", printable(&before));
    }
    if common.dry_run {
        return cx.output.line(&json!({ "plan": plan, "before": before, "dry_run": true }), shown.trim_end());
    }
    agreed(&shown, &format!("upgrade {id} from {version} to {newest}?"), common.yes).await?;
    let path = cx.to_change_in(common.scope)?;
    changed(cx, async { cx.change(&path, |file| plan.replace_in(file)).map(|()| Exit::Done) }).await?;
    ask_for_secrets(cx, &plan).await?;
    cx.output.note(&format!("{id} is {newest} from now on"));
    show_definitions(cx, &id, &newest).await
}

/// Shows how the definitions of a server differ from those that were approved. They are used once a person approves them.
async fn show_definitions(cx: &CommandContext, id: &str, version: &str) -> Result {
    let server = ServerId::from(id);
    // A kernel that runs has the new version before it is asked about its tools.
    let reload = async |link: &KernelLink| link.ask(&ReloadConfig {}).await.map(drop);
    KernelLink::with(cx, KernelNeed::State, reload).await?;
    let listed = async |link: &KernelLink| {
        let mut diffs = Vec::new();
        for row in pins(link, Some(&server), true).await? {
            diffs.push(link.ask(&PinnedName { server_id: row.server_id, name: row.name }).await?);
        }
        Ok(diffs)
    };
    let diffs = KernelLink::with(cx, KernelNeed::of_server(Some(&server)), listed).await?;
    let report = json!({ "server_id": id, "version": version, "upgraded": true, "definitions": diffs });
    cx.output.show(&report, |_, out| {
        if diffs.is_empty() {
            return writeln!(out, "no definition changed that needs an approval");
        }
        diffs.iter().try_for_each(|diff| diff.write(out))
    })?;
    if !diffs.is_empty() {
        cx.output.note(&format!("`mgp pin approve {id}` approves these definitions"));
    }
    Ok(Exit::Done)
}

fn installer(args: &RegistryArgs, config: &Config) -> Result<Installer> {
    Installer::new(args.registry.as_deref().or(config.downloads.registry.as_deref()))
}

/// Returns the plan for the one server that is meant.
async fn planned(
    args: &PlanArgs,
    config: &Config,
    request: &InstallRequest,
    servers: &[ServerConfig],
) -> Result<InstallPlan> {
    let installer = installer(&args.registry, config)?;
    let InstallLookup { found, plan, needed } = installer.look_up(request, servers).await?;
    let name = printable(&request.name);
    match (plan, &found[..]) {
        (Some(plan), _) => Ok(plan),
        (None, []) => Err(Failure::usage(format!("the registry has no server called {name}"))),
        (None, [_]) => {
            let asked: Vec<_> = needed.iter().map(question).collect();
            Err(Failure::usage(format!("{name} needs values")).hint(asked.join("\n")))
        }
        (None, several) => {
            let names = several.iter().map(|found| {
                let about = found.description.as_deref().unwrap_or_default();
                printable(&format!("{}  {about}", found.name)).replace('\n', " ")
            });
            let names: Vec<_> = names.collect();
            Err(Failure::usage(format!("several servers are called {name}: name one in full")).hint(names.join("\n")))
        }
    }
}

/// Returns the option that gives an answer, with a description of the answer.
fn question(needed: &NeededAnswer) -> String {
    let mut text = format!("--answer {}=VALUE", needed.name);
    text.extend(needed.description.iter().map(|description| format!("  {description}")));
    if !needed.choices.is_empty() {
        text = format!("{text} ({})", needed.choices.join(", "));
    }
    printable(&text)
}

/// Checks that a person agrees to what is shown.
async fn agreed(shown: &str, question: &str, yes: bool) -> Result<()> {
    if yes {
        return Ok(());
    }
    if !is_person_there() {
        let hint = "`--yes` agrees to it, for a name that looks like another one only if it is written in full";
        return Err(Failure::usage(format!("nobody was there to agree to this:\n{}", shown.trim_end())).hint(hint));
    }
    if agrees(&format!("{shown}{question}")).await? {
        return Ok(());
    }
    Err(Failure::usage("nothing was changed"))
}

/// Has the person at the terminal type the secrets that the server needs and nobody has set.
async fn ask_for_secrets(cx: &CommandContext, plan: &InstallPlan) -> Result<()> {
    if plan.secrets.is_empty() {
        return Ok(());
    }
    let store = user_store(&ProcessEnvironment)?;
    for name in &plan.secrets {
        let Ok(name) = name.parse::<SecretName>() else { continue };
        if store.secret(&name)?.is_some() {
            continue;
        }
        if cx.output.json || !is_person_there() {
            cx.output.note(&format!("`mgp secrets set {name}` sets the secret that {} needs", plan.server_id));
            continue;
        }
        let value = secrets::typed(&name).await?;
        store.set(Secrets::from([(name, value.into())]))?;
    }
    Ok(())
}
