//! The commands that change the servers of the configuration: `mgp add` and `mgp remove`, and `mgp install`, `mgp outdated`
//! and `mgp upgrade` for servers of a registry by their names.

use std::io::Write as _;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use mgp_discovery::Config;
use mgp_discovery::config::model::{ServerConfig, TransportKind};
use mgp_discovery::launch::command_line;
use mgp_kernel_core::admin::config::ReloadConfig;
use mgp_kernel_core::admin::operation::KernelNeed;
use mgp_kernel_core::admin::pins::PinnedName;
use mgp_kernel_core::install::{InstallLookup, InstallPlan, InstallRequest, Installer, is_newer};
use mgp_kernel_core::terminal::{Exit, Failure, Result, TextForm as _, TextWriter, printable};
use mgp_types::mgp::ServerId;
use serde_json::json;

use super::changed;
use super::context::{CommandContext, ConfigScope};
use super::input::{agrees, is_person_there, word};
use super::link::KernelLink;
use super::pins::pins;

#[derive(Debug, Args)]
pub(super) struct AddServerArgs {
    /// The id of the server: letters, digits, `.`, `_` and `-`
    name: String,
    /// The command that starts the server, with its arguments
    #[arg(last = true, value_name = "CMD", conflicts_with = "url", required_unless_present = "url")]
    command: Vec<String>,
    /// The URL of a server on the network
    #[arg(long)]
    url: Option<String>,
    /// A variable of the server's environment; ${NAME} refers to the kernel's environment, ${secret:NAME} to `mgp
    /// secrets`
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "command")]
    env: Vec<(String, String)>,
    /// A header of requests to the server; ${NAME} and ${secret:NAME} work as in --env
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair, requires = "url")]
    header: Vec<(String, String)>,
    /// The transport, if not the default: stdio with a command, http with a URL; sse is the older HTTP+SSE
    #[arg(long, value_name = "HOW", value_parser = PossibleValuesParser::new(TRANSPORTS).try_map(word::<TransportKind>))]
    transport: Option<TransportKind>,
    /// The purpose of the server, in one line
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    scope: ConfigScope,
}

#[derive(Debug, Args)]
pub(super) struct RemoveServerArgs {
    /// The id of the server
    name: String,
    #[command(flatten)]
    scope: ConfigScope,
}

pub(super) fn add(cx: &CommandContext, add: AddServerArgs) -> Result {
    let path = cx.to_change_in(add.scope)?;
    let (mut server, mut command) = (ServerConfig::default(), add.command.into_iter());
    server.id = add.name;
    server.url = add.url;
    server.command = command.next();
    server.args = command.collect();
    server.env = add.env.into_iter().collect();
    server.headers = add.header.into_iter().collect();
    server.description = add.description;
    server.transport = add.transport;
    cx.change(&path, |file| Ok(file.add(&server)?))?;
    let (id, file) = (&server.id, path.display().to_string());
    cx.output.line(&json!({ "server_id": id, "file": file }), &format!("added {id} to {file}"))
}

pub(super) fn remove(cx: &CommandContext, remove: &RemoveServerArgs) -> Result {
    let path = cx.to_change_in(remove.scope)?;
    let (id, file) = (&remove.name, path.display().to_string());
    let places = format!("`mgp servers --no-start` shows the servers, {file} is the file");
    cx.change(&path, |config| config.remove(id).map_err(|error| Failure::from(error).hint(places)))?;
    cx.output.line(&json!({ "server_id": id, "file": file }), &format!("removed {id} from {file}"))
}

/// The transports of servers that commands add.
const TRANSPORTS: [&str; 3] = ["stdio", "http", "sse"];

/// Reads a name and a value on the two sides of `=`.
fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| format!("`{text}` is not NAME=VALUE"))
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
    /// Write it without asking
    #[arg(long, short)]
    yes: bool,
    /// Accept a server or a package registry at an address that is not public, or not https
    #[arg(long)]
    private: bool,
    /// The registry: a URL, or a file or folder with server.json documents; that of the configuration if left out
    #[arg(long, value_name = "PLACE")]
    registry: Option<String>,
    #[command(flatten)]
    scope: ConfigScope,
}

pub(super) async fn install(cx: &CommandContext, args: InstallArgs) -> Result {
    let InstallArgs { name, id: server_id, unconfined, common } = args;
    let (name, version) = match name.split_once('@') {
        Some((name, version)) => (name.to_owned(), Some(version.to_owned())),
        None => (name, None),
    };
    let is_whole_name = name.contains('/');
    let (private, answers) = (common.private, common.answer.clone());
    let request = InstallRequest { name, version, server_id, unconfined, private, answers };
    let plan = planned(&common, &cx.read()?.config, &request).await?;
    let path = cx.to_change_in(common.scope)?;
    let file = path.display().to_string();
    // A name that looks like another one is no slip only if somebody wrote all of it.
    let yes = common.yes && (plan.warnings.is_empty() || is_whole_name);
    agreed(&TextWriter::text_of(&plan), &format!("add it to {file}?"), yes).await?;
    cx.change(&path, |file| plan.write_to(file))?;
    cx.output.show(&json!({ "plan": plan, "file": file }), |_, out| {
        plan.write(out)?;
        writeln!(out, "added {} to {file}", plan.server_id)
    })
}

pub(super) async fn outdated(cx: &CommandContext) -> Result {
    let config = cx.read()?.config;
    let installer = Installer::new(config.downloads.registry.as_deref())?;
    let mut rows = Vec::new();
    for server in &config.servers {
        if let Some((name, version)) = server.package.as_deref().and_then(|package| package.rsplit_once('@'))
            && let Some(newest) = installer.newest(name).await?
            && is_newer(&newest, version)
        {
            rows.push([server.id.clone(), name.to_owned(), version.to_owned(), newest]);
        }
    }
    let each = rows.iter().map(|[id, name, version, newest]| {
        json!({ "server_id": id, "name": name, "version": version, "newest": newest })
    });
    cx.output.show(&json!({ "servers": each.collect::<Vec<_>>() }), |_, out| {
        let none = "no server has a newer version in the registry";
        out.table(&["SERVER", "NAME", "VERSION", "NEWEST"], rows.clone(), none)
    })
}

pub(super) async fn upgrade(cx: &CommandContext, args: UpgradeArgs) -> Result {
    let UpgradeArgs { server: id, common } = args;
    let mut config = cx.read()?.config;
    let place = config.servers.iter().position(|server| server.id == id && server.package.is_some());
    let Some(place) = place else {
        return Err(Failure::usage(format!("there is no server `{id}` with a `package` of a registry"))
            .hint("`mgp servers` lists the servers, `mgp install` adds one of a registry"));
    };
    // The server itself is none that the new version could be mistaken for.
    let old = config.servers.remove(place);
    let (name, version) = old.package.as_deref().and_then(|it| it.rsplit_once('@')).unwrap_or_default();
    let (private, answers) = (common.private, common.answer.clone());
    let request = InstallRequest { name: name.to_owned(), private, answers, ..InstallRequest::default() };
    let mut plan = planned(&common, &config, &request).await?;
    let newest = plan.package.rsplit('@').next().unwrap_or_default().to_owned();
    if !is_newer(&newest, version) {
        let same = json!({ "server_id": id, "version": version, "upgraded": false });
        let text = format!("{id} is {name} {version}, and the registry has nothing newer");
        return cx.output.line(&same, &text);
    }
    plan.upgrade(&old);
    let shown = format!("before: {}\n{}", printable(&command_line(&old)), TextWriter::text_of(&plan));
    agreed(&shown, &format!("upgrade {id} from {version} to {newest}?"), common.yes).await?;
    let path = cx.to_change_in(common.scope)?;
    let change = async { cx.change(&path, |file| plan.write_to(file)).map(|()| Exit::Done) };
    changed(cx, change).await?;
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
        diffs.iter().try_for_each(|diff| diff.write(out))?;
        let count = diffs.len();
        writeln!(out, "{id} is {version} from now on; {count} definitions wait for `mgp pin approve {id}`")
    })
}

/// Returns the plan for the one server that is meant.
async fn planned(args: &PlanArgs, config: &Config, request: &InstallRequest) -> Result<InstallPlan> {
    let installer = Installer::new(args.registry.as_deref().or(config.downloads.registry.as_deref()))?;
    let InstallLookup { found, plan, needed } = installer.look_up(request, &config.servers).await?;
    let wrong = match (plan, found.len()) {
        (Some(plan), _) => return Ok(plan),
        (None, 0) => "the registry has no server called",
        (None, 1) => "values are needed for",
        (None, _) => "name one in full of the servers called",
    };
    let names = found.iter().filter(|_| found.len() > 1).map(|(name, _, about)| format!("{name}  {about}"));
    let asked = needed.iter().map(|needed| {
        let (name, about) = (&needed.name, needed.description.as_deref().unwrap_or_default());
        format!("--answer {name}=VALUE  {about} {}", needed.choices.join(" | "))
    });
    let lines: Vec<_> = names.chain(asked).map(|line| printable(&line).replace('\n', " ")).collect();
    Err(Failure::usage(format!("{wrong} {}", printable(&request.name))).hint(lines.join("\n")))
}

/// Checks that a person agrees to what is shown.
async fn agreed(shown: &str, question: &str, yes: bool) -> Result<()> {
    if yes || (is_person_there() && agrees(&format!("{shown}{question}")).await?) {
        return Ok(());
    }
    let hint = "`--yes` agrees to it, for a name that looks like another one only if it is written in full";
    Err(Failure::usage(format!("nothing was changed, because nobody agreed to this:\n{}", shown.trim_end()))
        .hint(hint))
}
