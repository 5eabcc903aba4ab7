//! `mgp doctor`: checks the configuration, the servers and the audit log, and prints how to repair them.

use std::io::Write as _;

use mgp_discovery::Config;
use mgp_kernel_core::admin::audit::{VerifiedLog, VerifyLog};
use mgp_kernel_core::admin::config::ListUnmatched;
use mgp_kernel_core::admin::keys::{KeyRow, ListKeys};
use mgp_kernel_core::admin::operation::{KernelNeed, ServersToBegin};
use mgp_kernel_core::admin::operators::{ProofStatus, ReadProofStatus};
use mgp_kernel_core::admin::questions::{ListPending, OpenQuestion, PendingDecisions, UndecidedPermission};
use mgp_kernel_core::admin::server_orders::ReadServerLog;
use mgp_kernel_core::admin::servers::ServerRow;
use mgp_kernel_core::admin::status::{KernelStatus, ReadStatus};
use mgp_kernel_core::proof::NeededProof;
use mgp_kernel_core::servers::confine::{has_views, support};
use mgp_kernel_core::servers::upstream::is_needed;
use mgp_kernel_core::settings;
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable};
use mgp_toolindex::embed::EmbedderChoice;
use mgp_types::mgp::{ApprovalPolicy, Permission, RiskLevel, ServerState};
use serde::Serialize;
use serde_json::json;

use super::context::{CommandContext, EffectiveConfig};
use super::link::KernelLink;
use super::pins::pins;
use super::proof::{LOCKED, WITHOUT_PROOF, ways_to_set};
use super::server_advice::{missed, suggestion};
use super::server_commands::{last_lines, listening_text};

#[derive(Debug, Serialize)]
struct DoctorFinding {
    what: &'static str,
    ok: bool,
    #[serde(rename = "told")]
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Runs all checks, and prints their results. The command ends with 5 if something is not in order.
pub(super) async fn run(cx: &CommandContext) -> Result {
    let mut findings = Vec::new();
    if let Some(config) = configured(cx, &mut findings) {
        let work = async |link: &KernelLink| kernel(cx, link, &config, &mut findings).await;
        if let Err(failure) = KernelLink::with(cx, KernelNeed::ANY_SERVERS, work).await {
            findings.push(DoctorFinding::failed("kernel", &failure));
        }
    }
    let healthy = findings.iter().all(|finding| finding.ok);
    cx.output.show(&json!({ "healthy": healthy, "findings": findings }), |_, out| {
        findings.iter().try_for_each(|finding| {
            let mark = if finding.ok { "ok  " } else { "error: " };
            writeln!(out, "{mark}{}: {}", finding.what, printable(&finding.detail))?;
            let hint = finding.hint.as_deref().map(printable).unwrap_or_default();
            hint.lines().try_for_each(|line| writeln!(out, "    {line}"))
        })
    })?;
    Ok(if healthy { Exit::Done } else { Exit::Tool })
}

/// Checks the configuration, and returns it if it can be used.
fn configured(cx: &CommandContext, findings: &mut Vec<DoctorFinding>) -> Option<Config> {
    let read = cx.read().map_err(|failure| findings.push(DoctorFinding::failed("configuration", &failure)));
    let EffectiveConfig { config, files, warnings, untrusted, state, .. } = read.ok()?;
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let detail = if files.is_empty() {
        "there is none".to_owned()
    } else {
        format!("{}, {} servers", files.join(" and "), config.servers.len())
    };
    let hint = config.servers.is_empty().then_some("`mgp add NAME -- COMMAND` adds a server");
    findings.push(DoctorFinding::right("configuration", detail).hint(hint));
    findings.extend(untrusted.map(|untrusted| DoctorFinding::right("folder", untrusted)));
    let warnings = warnings.iter().map(|warning| DoctorFinding::wrong("configuration", warning.trim_end()));
    findings.extend(warnings);
    findings.push(DoctorFinding::right("state", state.display().to_string()));
    findings.extend([confinement(&config), embedder(&config)]);
    findings.extend(unasked(&config));
    let suggested = config.servers.iter().filter(|server| server.enabled).filter_map(suggestion);
    findings.extend(suggested.map(|detail| DoctorFinding::right("network", detail)));
    Some(config)
}

/// Reports how this system can confine servers, and whether that is enough for the servers that are to be confined.
fn confinement(config: &Config) -> DoctorFinding {
    let support = support();
    let detail = format!("this system holds {support}");
    let wanted = config.servers.iter().find(|server| server.enabled && server.is_confined());
    match (support.confines(), wanted) {
        (Err(_), Some(server)) => DoctorFinding::wrong("confinement", detail).hint(Some(format!(
            "`{}` is to be confined and is not started on this system; `confine = false` starts it unconfined",
            server.id
        ))),
        (Ok(()), _) if !has_views() => DoctorFinding::right("confinement", format!("{detail}; no mount namespaces")).hint(Some(
            "settings in open folders, such as `.git/hooks`, are not kept from servers: this system lets your account make no \
             user namespaces (`sysctl kernel.apparmor_restrict_unprivileged_userns`, `user.max_user_namespaces`)"
                .to_owned(),
        )),
        _ => DoctorFinding::right("confinement", detail),
    }
}

/// Reports the embedder that finds tools by meaning.
fn embedder(config: &Config) -> DoctorFinding {
    match settings::embedder(config) {
        Ok(EmbedderChoice::Static) => DoctorFinding::right("embedder", "the built-in table of words"),
        Ok(other) => DoctorFinding::right("embedder", other.to_string()),
        Err(error) => DoctorFinding::wrong("embedder", error.to_string())
            .hint(Some("correct `embedder` of `[tools]` in mgp.toml, or leave it out")),
    }
}

/// Reports the dangerous permissions that the configuration has granted to every server without asking.
fn unasked(config: &Config) -> Option<DoctorFinding> {
    let settings = &config.permissions;
    let never = settings.never_automatic();
    let is_granted =
        |permission: &&Permission| permission.risk() == RiskLevel::Dangerous && !never.contains(permission);
    let granted: Vec<_> = Permission::KNOWN.iter().filter(is_granted).map(Permission::as_str).collect();
    let is_wide = settings.policy == Some(ApprovalPolicy::AutoApprove) && !granted.is_empty();
    is_wide.then(|| {
        let detail = format!("every server gets {} without a question", granted.join(", "));
        let hint =
            "remove `never_automatic` of `[permissions]`, so that a human is asked for what is dangerous";
        DoctorFinding::wrong("permissions", detail).hint(Some(hint))
    })
}

async fn kernel(
    cx: &CommandContext,
    link: &KernelLink,
    config: &Config,
    findings: &mut Vec<DoctorFinding>,
) -> Result<()> {
    findings.push(DoctorFinding::right("kernel", "runs"));
    let KernelStatus { http, waiting, encoder, .. } = link.ask(&ReadStatus {}).await?;
    if let Some(progress) = encoder
        && let Some(finding) = findings.iter_mut().find(|finding| finding.what == "embedder")
    {
        finding.detail = format!("{progress}; then {}", finding.detail);
    }
    if !waiting.is_empty() {
        let detail = format!("changes wait for your operator passphrase: {}", waiting.join(", "));
        let hint = "`mgp reload` applies them; undo those that you did not make";
        findings.push(DoctorFinding::wrong("configuration", detail).hint(Some(hint)));
    }
    if let Some(http) = http {
        let hint =
            "end the program that has the address, or name another one as `http` of `[listen]` in mgp.toml";
        let (ok, text) = (http.error.is_none(), listening_text(&http));
        let detail = if ok { text } else { format!("the kernel {text}") };
        findings.push(DoctorFinding::of("http", ok, detail).hint((!ok).then_some(hint)));
    }
    let servers = link.settled(&ServersToBegin::All).await?;
    findings.extend(variables(link, config, &servers).await?);
    for server in servers.iter().filter(|server| server.enabled) {
        let (ok, mut detail) = match server.state {
            ServerState::Connected => (true, format!("{}: {} tools", server.id, server.tools)),
            state => (false, format!("{} is {state}", server.id)),
        };
        detail.extend(server.why().map(|error| format!(": {error}")));
        let hint = (!ok).then(|| server.remedy());
        findings.push(DoctorFinding::of("server", ok, detail).hint(hint));
    }
    findings.push(record(link.ask(&VerifyLog::default()).await));
    findings.extend(reserved_keys(link).await?);
    let unmatched = link.ask(&ListUnmatched {}).await?;
    findings.extend(unmatched.rules.into_iter().map(|rule| {
        let hint = rule.is_configured.then_some("correct this entry of mgp.toml, or remove it");
        DoctorFinding::of("rule", !rule.is_configured, format!("{}: {}", rule.rule, rule.reason)).hint(hint)
    }));
    findings.push(undecided(&link.ask(&ListPending {}).await?));
    findings.push(passphrase(cx, &link.ask(&ReadProofStatus {}).await?).await?);
    let pins = pins(link, None, true).await?;
    let standings = pins.iter().filter_map(|row| row.standing.as_ref());
    let (held, flagged): (Vec<_>, Vec<_>) = standings.partition(|standing| standing.is_held());
    let counts = format!("{} held, {} flagged", held.len(), flagged.len());
    findings.push(DoctorFinding::right("definitions", counts));
    findings.extend(pins.iter().take(MAX_DEFINITIONS).filter_map(|row| {
        let standing = row.standing.as_ref()?;
        let detail = standing.sentence(&row.server_id, &row.name);
        Some(DoctorFinding::right("definition", detail).hint(Some(&standing.way)))
    }));
    if let Some(more) = pins.len().checked_sub(MAX_DEFINITIONS).filter(|more| *more > 0) {
        let hint = Some("`mgp pin list --waiting` shows all");
        findings.push(DoctorFinding::right("definition", format!("and {more} more")).hint(hint));
    }
    Ok(())
}

/// Returns findings on the variables that servers probably miss, by their output and by their names.
async fn variables(link: &KernelLink, config: &Config, servers: &[ServerRow]) -> Result<Vec<DoctorFinding>> {
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let is_inherited = |name: &str| is_needed(name) || config.passes_variable(name);
    let mut findings = Vec::new();
    for server in config.servers.iter().filter(|server| server.enabled) {
        let Some(row) = servers.iter().find(|row| row.id.as_str() == server.id) else { continue };
        let read = ReadServerLog { server_id: row.id.clone(), lines: LINES };
        let mut lines = last_lines(link, &read).await?.lines;
        lines.extend(row.last_error.clone());
        let runs = row.state == ServerState::Connected;
        findings.extend(missed(server, &lines, &set, is_inherited).into_iter().map(|missed| {
            let (id, name) = (&server.id, &missed.name);
            let detail = match &missed.line {
                Some(written) => format!("{id} is not given {name}, and wrote: {written}"),
                None => {
                    format!("{id} is not given {name}, which is set here and probably meant for this server")
                }
            };
            let ok = runs || missed.line.is_none();
            DoctorFinding::of("environment", ok, detail).hint(Some(missed.remedy()))
        }));
    }
    Ok(findings)
}

/// Returns whether the record is as it was written.
fn record(verified: Result<VerifiedLog>) -> DoctorFinding {
    let failed = |failure: &Failure| Some(failure.message().to_owned());
    let Some(detail) = verified.as_ref().map_or_else(failed, VerifiedLog::change) else {
        let events = verified.ok().and_then(|log| log.events).unwrap_or_default();
        return DoctorFinding::right("record", format!("intact, {events} events"));
    };
    let hint = "the file was changed, replaced or is damaged: keep it, and begin a new one";
    DoctorFinding::wrong("record", detail).hint(Some(hint))
}

/// Returns findings on the keys that are refused because the name of their owner is reserved for somebody else.
async fn reserved_keys(link: &KernelLink) -> Result<Vec<DoctorFinding>> {
    let list = |page| ListKeys { page, ..ListKeys::default() };
    let keys = link.all(list, |list| (list.keys, list.next_offset)).await?;
    let refused = keys.into_iter().filter(|key| key.reserved).map(|KeyRow { id, owner, .. }| {
        let detail = format!("the key {id} is refused: its owner `{owner}` has a reserved name");
        let hint =
            format!("`mgp keys revoke {id}` removes the key; `mgp keys new` issues one for another owner");
        DoctorFinding::wrong("keys", detail).hint(Some(hint))
    });
    Ok(refused.collect())
}

/// Reports what approvals need, and whether anybody can give it.
async fn passphrase(cx: &CommandContext, status: &ProofStatus) -> Result<DoctorFinding> {
    let what = "operators";
    Ok(match status.needed {
        _ if status.without_proof => DoctorFinding::wrong(what, WITHOUT_PROOF),
        Some(NeededProof::Unset) if status.locked => {
            let socket = Box::pin(cx.read_to_reach()).await?.socket;
            DoctorFinding::wrong(what, LOCKED).hint(Some(ways_to_set(&socket)))
        }
        _ if status.locked => DoctorFinding::wrong(what, LOCKED),
        Some(NeededProof::First) => DoctorFinding::right(what, "no operator passphrase is set yet")
            .hint(Some("set it before you connect a client: mgp operators passphrase")),
        Some(NeededProof::Account) => {
            DoctorFinding::right(what, "approvals need the password of this account")
        }
        _ => DoctorFinding::right(what, "approvals need the operator passphrase, or a token"),
    })
}

/// Reports what waits for a decision, and how to decide it.
fn undecided(pending: &PendingDecisions) -> DoctorFinding {
    let needs = &pending.undecided;
    let is_listed = |question: &&OpenQuestion| {
        let about = (&question.server_id, question.permission.as_ref());
        needs.iter().any(|need| (&need.server_id, Some(&need.permission)) == about)
    };
    let waiting = needs.len() + pending.questions.iter().filter(|question| !is_listed(question)).count();
    let mut details = vec![format!("{waiting} wait for a decision")];
    details.extend(needs.iter().map(|need| format!("{} needs {}", need.server_id, need.permission.as_str())));
    let hint = match needs.first() {
        Some(UndecidedPermission { server_id, permission, .. }) => {
            let (permission, what) = (permission.as_str(), "mgp permissions");
            Some(format!(
                "`{what} approve {server_id} {permission} --all-agents` grants it, `{what} deny …` denies it"
            ))
        }
        None if waiting > 0 => Some("`mgp permissions pending` shows the questions".to_owned()),
        None => None,
    };
    DoctorFinding::right("permissions", details.join("; ")).hint(hint)
}

impl DoctorFinding {
    fn of(what: &'static str, ok: bool, detail: impl Into<String>) -> Self {
        Self { what, ok, detail: detail.into(), hint: None }
    }

    fn right(what: &'static str, detail: impl Into<String>) -> Self {
        Self::of(what, true, detail)
    }

    fn wrong(what: &'static str, detail: impl Into<String>) -> Self {
        Self::of(what, false, detail)
    }

    fn failed(what: &'static str, failure: &Failure) -> Self {
        Self::wrong(what, failure.message()).hint(failure.advice())
    }

    fn hint(self, hint: Option<impl Into<String>>) -> Self {
        Self { hint: hint.map(Into::into), ..self }
    }
}

/// The number of lines of a server's standard error that are searched, from the last one backwards.
const LINES: u32 = 200;
/// The largest number of definitions that are shown one by one.
const MAX_DEFINITIONS: usize = 20;
