//! `mgp serve`: runs a kernel, or connects the client on standard input and output to one in the background.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::Args;
use mgp_discovery::Config;
use mgp_kernel_core::admin::status::reread;
use mgp_kernel_core::kernel::ServerStarts;
use mgp_kernel_core::lifecycle::{KernelEnd, installed};
use mgp_kernel_core::listen::inherited::{HandedSockets, InheritedSockets};
use mgp_kernel_core::listen::serve::{OnTransportEnd, ServeOptions, serve};
use mgp_kernel_core::listen::service_manager::{READY, ServiceManager};
use mgp_kernel_core::listen::socket::{SharingKey, SocketAudience, agents_path};
use mgp_kernel_core::peer::{adopt_orphans, reap_adopted};
use mgp_kernel_core::sections::Sections;
use mgp_kernel_core::settings::running::{AcceptedConfig, ConfigEdit, ConfigSource};
use mgp_kernel_core::terminal::{Exit, Failure, Result};
use mgp_kernel_core::{Kernel, StartError, settings};
use mgp_security::auth::KeyInfo;
use mgp_types::mgp::{AccessPermission, DefaultPolicy};
use mgp_types::{LOCAL_AGENT, Principal, PrincipalKind};

use super::context::{CommandContext, ConfigScope, EffectiveConfig};
use super::kernel_connector::KernelConnector;
use super::process::raise_file_limit;
use super::signals::Signals;
use super::{background, pipe};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(super) struct ServeArgs {
    /// Serve over HTTP at this address instead of standard input and output; clients need API keys unless it is a
    /// loopback address
    #[arg(long, value_name = "ADDR")]
    http: Option<String>,
    /// Serve on standard input and output in addition to HTTP
    #[arg(long, overrides_with = "no_stdio")]
    stdio: bool,
    /// Do not serve on standard input and output
    #[arg(long)]
    no_stdio: bool,
    /// Let members of the kernel's group operate the kernel with the operator passphrase
    #[arg(long)]
    group_operates: bool,
    /// Reload the configuration when its file changes
    #[arg(long)]
    watch: bool,
    /// Run the kernel in this process, if none runs, and end with the client; by default, the kernel runs in the
    /// background and outlives the client
    #[arg(long)]
    foreground: bool,
    /// Run a kernel in the background; `mgp serve` uses this option itself
    #[arg(long, hide = true, conflicts_with = "http")]
    background: bool,
    /// Start a kernel in the background and end; `mgp serve` uses this option itself
    #[arg(long, hide = true)]
    detach: bool,
    /// Start each server when somebody needs it; commands that start a kernel in the background use this option
    #[arg(long, hide = true)]
    when_needed: bool,
    /// The sockets that this process was started with.
    #[arg(skip)]
    pub(super) inherited: InheritedSockets,
}

/// Serves clients as the options say. Standard output belongs to the protocol, so all messages go to standard error.
pub(super) async fn run(cx: &CommandContext, args: ServeArgs) -> Result {
    if args.detach {
        background::detach(&cx.options(), &args.in_background())?;
        return Ok(Exit::Done);
    }
    let is_awaited = args.background;
    let served = Box::pin(serve_as_asked(cx, args)).await;
    if is_awaited && let Err(failure) = &served {
        background::tell(Err(failure));
    }
    served
}

async fn serve_as_asked(cx: &CommandContext, mut args: ServeArgs) -> Result {
    // What changes from here on is read once more.
    let mut read = versions(&cx.settled().watched());
    let configured = match cx.read_written() {
        Err(_) if args.ways(false, false) == Some(OnTransportEnd::Ends) => return Box::pin(join(cx)).await,
        read => read?,
    };
    let mut own_files = configured.own_files();
    // A configuration file that does not exist yet may be created later.
    own_files.extend(cx.locations().files().map(Path::to_path_buf));
    let EffectiveConfig { mut config, files, warnings, state, socket, .. } = configured;
    let telemetry = cx.start_log(&AcceptedConfig::new(&state).in_effect(&config).telemetry)?;
    for warning in &warnings {
        cx.output.note(warning.trim_end());
    }
    let inherited = std::mem::take(&mut args.inherited);
    // A socket that was given is wanted where nothing else is configured.
    let given = inherited.http_address().filter(|_| config.listen.http.is_none());
    args.http = args.http.or_else(|| given.map(|address| address.to_string()));
    let http_asked_for = args.http.clone();
    let starts = if args.when_needed { ServerStarts::WhenNeeded } else { ServerStarts::AtOnce };
    let (is_background, follows_files) = (args.background, args.watch || args.background);
    // For a person at a terminal, the kernel runs in the foreground.
    let starting = !args.foreground && !args.background && args.http.is_none() && !io::stdin().is_terminal();
    let starting = starting.then(|| (cx.options(), args.in_background()));
    let stdio = args.ways(config.listen.http.is_some(), io::stdin().is_terminal());
    // Settings that follow from the address, such as required keys, follow from the address that is used.
    listen_as_asked(&mut config, args.http);
    config.listen.address().map_err(|error| Failure::usage(error.to_string()))?;
    if stdio.is_some() && io::stdin().is_terminal() {
        cx.output
            .note("a client is expected on standard input; `--http 127.0.0.1:7332` serves over HTTP instead");
    }
    let agent = config.agents.iter().find(|agent| agent.stdio).map_or(LOCAL_AGENT, |agent| agent.id.as_str());
    let shared_at = agents_path(&socket, SharingKey::of(&files, agent));
    own_files.push(shared_at.clone());
    let (agent, drain) = (Principal::of(PrincipalKind::LocalClient, agent), settings::drain(&config));
    let operators = if args.group_operates { SocketAudience::Group } else { SocketAudience::User };
    let linger = is_background.then(|| settings::linger(&config));
    let (manager, follows) = (Arc::new(ServiceManager::from_environment()), inherited.is_from_kernel());
    let serving = ServeOptions {
        retries: http_asked_for.is_none(),
        stdio,
        agent,
        socket,
        operators,
        shared_at,
        inherited,
        manager: Arc::clone(&manager),
        drain,
        linger,
        files,
    };
    // From here on a signal ends the kernel in order, however early it comes.
    let mut signals = Signals::new().map_err(Failure::with_error("signal handlers cannot be installed"))?;
    let may_join = serving.stdio.is_some() && http_asked_for.is_none();
    let may_start = may_join && starting.is_some();
    let way = KernelConnector {
        config: &config,
        state: &state,
        operators: &serving.socket,
        at: &serving.shared_at,
        starting: starting.filter(|_| may_start),
        output: &cx.output,
    };
    // Orphans are adopted before the first server starts: a process that was orphaned earlier could not be told from
    // others.
    let adopts = !may_start && adopt_orphans();
    let join_at = may_join.then_some(serving.shared_at.as_path());
    if !may_start {
        raise_file_limit(&config.listen);
    }
    let kernel = if may_start { None } else { way.start_own(&own_files, join_at, starts, follows).await? };
    let Some(kernel) = kernel else {
        let carried = tokio::select! {
            carried = pipe::carry(&way) => carried,
            () = async { while signals.next().await != Some(KernelEnd::Stop) {} } => Ok(()),
        };
        telemetry.end().await;
        return carried.map(|()| Exit::Done);
    };
    for lacking in lacking_beyond(&kernel) {
        cx.output.warning(&lacking);
    }
    let settled = cx.settled();
    let watched = if follows_files { settled.watched() } else { Vec::new() };
    let _ = kernel.sections().config.source.set(Box::new(ConfigPlace { cx: settled, http_asked_for }));
    let order = async || until_ordered(&mut signals, &kernel, &manager, &watched, &mut read).await;
    let at = serving.socket.display().to_string();
    let scheme = if kernel.sections().config.load().listen.tls.is_some() { "https" } else { "http" };
    let served = serve(&kernel, serving, order, |http| {
        if let Some(http) = http {
            cx.output.note(&format!("listening at {scheme}://{http}/mcp"));
        }
        cx.output.note(&format!("operators reach it at {at}"));
        if is_background {
            background::tell(Ok(()));
        }
    });
    let served = tokio::select! {
        served = served => served,
        never = reap_adopted(), if adopts => match never {},
        never = manager.reassure() => match never {},
    };
    telemetry.end().await;
    served.map_err(unserved)?.map_or(Ok(Exit::Done), |sockets| Err(become_next(kernel, sockets)))
}

/// Connects the client to the kernel that runs although the configuration has errors.
async fn join(cx: &CommandContext) -> Result {
    let EffectiveConfig { config, state, socket: operators, .. } = &Box::pin(cx.read_to_reach()).await?;
    let locations = cx.settled().locations();
    let files: Vec<_> = locations.files().filter(|file| file.exists()).map(Path::to_path_buf).collect();
    let at = &agents_path(operators, SharingKey::of(&files, LOCAL_AGENT));
    let way = KernelConnector { config, state, operators, at, starting: None, output: &cx.output };
    pipe::carry(&way).await.map(|()| Exit::Done)
}

/// Becomes the kernel that follows this one. Returns only if that fails, with the reason.
fn become_next(kernel: Kernel, sockets: HandedSockets) -> Failure {
    // The next kernel opens the state.
    drop(kernel);
    let program = installed();
    let error = sockets.exec(&program);
    let message = format!("the kernel has ended, and {} does not follow it: {error}", program.display());
    Failure::unreachable(message).hint("`mgp serve` starts a kernel again")
}

/// Returns the failure of a kernel that does not serve.
fn unserved(failure: StartError) -> Failure {
    let StartError::Listen { error, .. } = &failure else { return failure.into() };
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there, perhaps a kernel: `mgp status`; `--http ADDR` or `[listen] http` in \
             mgp.toml names another address"
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not listen there: choose a port above 1023, or a socket in a folder of your own"
        }
        _ => "`--http ADDR` or `[listen]` in mgp.toml says where and how the kernel listens",
    };
    Failure::unreachable(failure.to_string()).hint(hint)
}

/// The place from which a kernel reads its configuration when it reloads. The address of the command line stays.
struct ConfigPlace {
    cx: CommandContext,
    http_asked_for: Option<String>,
}

impl ConfigSource for ConfigPlace {
    fn read(&self) -> Result<Config> {
        let EffectiveConfig { mut config, untrusted, .. } = self.cx.read_written()?;
        if let Some(untrusted) = untrusted {
            tracing::warn!("{}", untrusted);
        }
        listen_as_asked(&mut config, self.http_asked_for.clone());
        Ok(config)
    }

    fn change(&self, edit: &mut ConfigEdit) -> Result<()> {
        self.cx.change(&self.cx.to_change_in(ConfigScope::default())?, edit)
    }
}

/// Puts the address of the command line in the place of that of the file.
fn listen_as_asked(config: &mut Config, http: Option<String>) {
    config.listen.is_on_command_line = http.is_some();
    config.listen.http = http.or_else(|| config.listen.http.take());
}

/// Returns the reasons that keep every client off this machine out, each with the command or the key that changes it.
fn lacking_beyond(kernel: &Kernel) -> Vec<String> {
    let Sections { config, policies, audit, .. } = kernel.sections();
    let (config, now) = (config.load(), audit.clock.now());
    let mut lacking = Vec::new();
    let beyond = |address: &SocketAddr| !address.ip().to_canonical().is_loopback();
    let Some(address) = config.listen.address().ok().flatten().filter(beyond) else { return lacking };
    let is_valid = |key: &KeyInfo| key.terms.expires_at.is_none_or(|end| end > now);
    if config.listen.oauth.is_none() && !policies.keys.keys().iter().any(is_valid) {
        lacking.push(format!(
            "no client can connect at {address}, because keys are required there and none has been issued: run \
             `mgp keys new AGENT --allow list --allow 'call:*'`, and give the client the key that it prints"
        ));
    }
    let grants =
        policies.access.entries().iter().any(|stored| stored.entry.permission == AccessPermission::Allow);
    if config.default_policy() == DefaultPolicy::OptIn && !grants {
        lacking.push(String::from(
            "no agent may use any server until it is granted: run `mgp access grant AGENT SERVER`, or set \
             `[access] default = \"opt-out\"`",
        ));
    }
    if address.ip().is_unspecified() && config.listen.hosts().is_empty() {
        lacking.push(String::from(
            "clients are refused with 403 until `[listen] allowed_hosts` lists the names by which they reach this \
             machine, such as [\"mgp.example.com\", \"192.168.1.7\"]",
        ));
    }
    lacking
}

impl ServeArgs {
    /// Returns the options of a kernel in the background that this process starts.
    fn in_background(&self) -> Vec<OsString> {
        let options = [
            ("--group-operates", self.group_operates),
            ("--watch", self.watch),
            ("--when-needed", self.when_needed),
        ];
        options.into_iter().filter(|(_, is_set)| *is_set).map(|(option, _)| option.into()).collect()
    }

    /// Returns what happens to the kernel when the client on standard input and output leaves, or `None` if they are
    /// not served.
    fn ways(&self, has_address: bool, is_terminal: bool) -> Option<OnTransportEnd> {
        // A terminal is not a client: a person who starts the kernel there, with an address, wants only the address.
        let is_meant =
            !(self.no_stdio || self.background || self.http.is_some() || has_address && is_terminal);
        let then = if self.http.is_some() { OnTransportEnd::GoesOn } else { OnTransportEnd::Ends };
        (self.stdio || is_meant).then_some(then)
    }
}

/// Waits for the order to end. Meanwhile, the order to reload and changes of the watched files reload the configuration. `taken` are
/// the versions of the files when they were read.
async fn until_ordered(
    signals: &mut Signals,
    kernel: &Kernel,
    manager: &ServiceManager,
    watched: &[PathBuf],
    taken: &mut Vec<FileVersion>,
) -> KernelEnd {
    let mut seen = taken.clone();
    loop {
        tokio::select! {
            order = signals.next() => match order {
                Some(KernelEnd::Restart) => {
                    let Some(served) = kernel.sections().lifecycle.served.get() else { continue };
                    match served.check_restart().await {
                        Ok(()) => return KernelEnd::Restart,
                        Err(why) => tracing::error!(%why, "the kernel is not restarted"),
                    }
                }
                Some(KernelEnd::Stop) => return KernelEnd::Stop,
                None => {
                    manager.reloading();
                    // The failure is logged.
                    let _ = reread(kernel.sections()).await;
                    manager.tell(READY);
                }
            },
            () = tokio::time::sleep(LOOK_EVERY), if !watched.is_empty() => {
                let now = versions(watched);
                // A file that is just being written or replaced is looked at again.
                let is_settled = now == std::mem::replace(&mut seen, now.clone());
                if is_settled && now != *taken {
                    *taken = now;
                    let _ = reread(kernel.sections()).await;
                }
            }
        }
    }
}

/// The version of a file, as far as its time and length tell.
type FileVersion = Option<(SystemTime, u64)>;

/// Returns the modification time and the length of each file, or `None` for a file that does not exist.
fn versions(files: &[PathBuf]) -> Vec<FileVersion> {
    let version = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok()?;
        Some((file.modified().ok()?, file.len()))
    };
    files.iter().map(version).collect()
}

/// The time between two looks at the watched files.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_and_output_are_served_unless_something_else_was_asked_for() {
        let serve = |stdio, no_stdio, http: Option<&str>| ServeArgs {
            http: http.map(str::to_owned),
            stdio,
            no_stdio,
            group_operates: false,
            watch: false,
            foreground: false,
            background: false,
            detach: false,
            when_needed: false,
            inherited: InheritedSockets::default(),
        };
        let (ends, goes_on) = (Some(OnTransportEnd::Ends), Some(OnTransportEnd::GoesOn));
        let http = Some("127.0.0.1:0");
        for (asked, has_address, is_terminal, then) in [
            (serve(false, false, None), false, false, ends),
            (serve(false, false, None), false, true, ends),
            (serve(false, false, None), true, false, ends),
            (serve(false, false, None), true, true, None),
            (serve(true, false, None), true, true, ends),
            (serve(false, true, None), true, false, None),
            (serve(false, false, http), true, false, None),
            (serve(true, false, http), false, false, goes_on),
        ] {
            assert_eq!(asked.ways(has_address, is_terminal), then, "{asked:?} {has_address} {is_terminal}");
        }
    }
}
