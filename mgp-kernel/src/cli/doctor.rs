//! `mgp doctor`: checks the configuration, the servers and the audit log, and prints how to repair them.

use std::io::Write as _;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::config::model::usual;
use mgp_toolindex::embed::{EmbedderChoice, SentenceEncoder};
use mgp_types::mgp::{ApprovalPolicy, Permission, RiskLevel, ServerState};
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::browsers::suggestion;
use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::KernelLink;
use super::operators::WITHOUT_PROOF;
use super::output::{Output, printable};
use super::pins::pins;
use super::server_commands::last_lines;
use super::status::told_of;
use super::variables::{ServerEnvironment, VariableHint, missed};
use crate::models::ModelStore;
use crate::operator::audit::{VerifiedLog, VerifyLog};
use crate::operator::keys::{KeyPage, ListKeys};
use crate::operator::method;
use crate::operator::operators::ProofStatus;
use crate::operator::page::PageRequest;
use crate::operator::permissions::{OpenQuestion, PendingDecisions, UndecidedPermission};
use crate::operator::pins::PinRow;
use crate::operator::proof::NeededProof;
use crate::operator::servers::{ServerLog, ServerRow, ServersToBegin};
use crate::operator::status::KernelStatus;
use crate::server_inventory::UnmatchedRules;
use crate::servers::confine::support;
use crate::servers::upstream::is_needed;
use crate::settings;

/// The results of all checks, and whether all of them are in order.
#[derive(Debug, Serialize)]
struct DoctorReport {
    healthy: bool,
    findings: Vec<DoctorFinding>,
}

#[derive(Debug, Serialize)]
struct DoctorFinding {
    what: &'static str,
    ok: bool,
    told: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Runs all checks, and prints their results. The command ends with 5 if something is not in order.
pub(super) async fn run(place: &KernelLocation, output: &Output) -> Result<Exit, Failure> {
    let mut findings = Vec::new();
    if let Some(config) = configured(place, &mut findings) {
        match KernelLink::with_servers(place).await {
            Ok(link) => {
                let asked = kernel(&link, output, &config, &mut findings).await;
                link.close().await;
                if let Err(failure) = asked {
                    findings.push(DoctorFinding::wrong("kernel", &failure));
                }
            }
            Err(failure) => findings.push(DoctorFinding::wrong("kernel", &failure)),
        }
    }
    let examination = DoctorReport { healthy: findings.iter().all(|finding| finding.ok), findings };
    output.show(&examination, |examination, out| {
        for finding in &examination.findings {
            let mark = if finding.ok { "ok " } else { "no " };
            writeln!(out, "{mark} {}: {}", finding.what, printable(&finding.told))?;
            if let Some(hint) = &finding.hint {
                writeln!(out, "    {}", printable(hint))?;
            }
        }
        Ok(())
    })?;
    Ok(if examination.healthy { Exit::Done } else { Exit::Tool })
}

/// Checks the configuration, and returns it if it can be used.
fn configured(place: &KernelLocation, findings: &mut Vec<DoctorFinding>) -> Option<Config> {
    match place.read() {
        Ok(configured) => {
            let files: Vec<_> = configured.files.iter().map(|file| file.display().to_string()).collect();
            let told = if files.is_empty() {
                "there is none".to_owned()
            } else {
                format!("{}, {} servers", files.join(" and "), configured.config.servers.len())
            };
            let mut finding = DoctorFinding::right("configuration", told);
            if configured.config.servers.is_empty() {
                finding.hint = Some("`mgp add NAME -- COMMAND` adds a server".to_owned());
            }
            findings.push(finding);
            if let Some(untrusted) = configured.untrusted {
                findings.push(DoctorFinding::right("folder", untrusted));
            }
            for warning in configured.warnings {
                let told = warning.trim_end().to_owned();
                findings.push(DoctorFinding { what: "configuration", ok: false, told, hint: None });
            }
            findings.push(DoctorFinding::right("state", configured.state.display().to_string()));
            findings.push(confinement(&configured.config));
            findings.push(embedder(&configured.config));
            findings.extend(unasked(&configured.config));
            let suggested = configured.config.servers.iter().filter(|server| server.enabled);
            findings
                .extend(suggested.filter_map(suggestion).map(|told| DoctorFinding::right("network", told)));
            Some(configured.config)
        }
        Err(failure) => {
            findings.push(DoctorFinding::wrong("configuration", &failure));
            None
        }
    }
}

/// Reports how this system can confine servers, and whether that is enough for the servers that are to be confined.
fn confinement(config: &Config) -> DoctorFinding {
    let support = support();
    let mut finding = DoctorFinding::right("confinement", format!("this system holds {support}"));
    let wanted = config.servers.iter().find(|server| server.enabled && server.is_confined());
    if let (Err(_), Some(server)) = (support.confines(), wanted) {
        finding.ok = false;
        finding.hint = Some(format!(
            "`{}` is to be confined and is not started on this system; \
                 `confine = false` starts it unconfined",
            server.id
        ));
    }
    finding
}

/// Reports the embedder that finds tools by meaning, and whether its files are there.
fn embedder(config: &Config) -> DoctorFinding {
    let lacks = |told: String, hint: &str| DoctorFinding {
        what: "embedder",
        ok: false,
        told,
        hint: Some(hint.to_owned()),
    };
    match settings::embedder(config, ModelStore::of_user().as_ref()) {
        Ok(EmbedderChoice::Static) => {
            let mut finding = DoctorFinding::right("embedder", "the built-in table of words".to_owned());
            if config.tools.embedder.as_deref().is_none_or(|words| words == usual::EMBEDDER) {
                finding.hint = Some("`mgp model install` installs a sentence encoder".to_owned());
            }
            finding
        }
        Ok(EmbedderChoice::Encoder(folder)) => match SentenceEncoder::missing(&folder) {
            None => DoctorFinding::right("embedder", format!("the encoder in {}", folder.display())),
            Some(missing) => lacks(
                format!("{} has no {missing}; the built-in table serves instead", folder.display()),
                "name a folder with the files of the encoder, or install one with `mgp model install` and leave \
                 `embedder` of `[tools]` out",
            ),
        },
        Ok(other) => DoctorFinding::right("embedder", other.to_string()),
        Err(error) => {
            lacks(error.to_string(), "correct `embedder` of `[tools]` in mgp.toml, or leave it out")
        }
    }
}

/// Reports the dangerous permissions that the configuration has granted to every server without asking.
fn unasked(config: &Config) -> Option<DoctorFinding> {
    let settings = &config.permissions;
    let never = settings.never_automatic();
    let is_granted =
        |permission: &&Permission| permission.risk() == RiskLevel::Dangerous && !never.contains(permission);
    let granted: Vec<_> = Permission::STANDARD.iter().filter(is_granted).map(Permission::as_str).collect();
    let is_wide = settings.policy == Some(ApprovalPolicy::AutoApprove) && !granted.is_empty();
    is_wide.then(|| DoctorFinding {
        what: "permissions",
        ok: false,
        told: format!("every server gets {} without a question", granted.join(", ")),
        hint: Some(
            "remove `never_automatic` of `[permissions]`, so that a human is asked for what is dangerous"
                .to_owned(),
        ),
    })
}

async fn kernel(
    link: &KernelLink,
    output: &Output,
    config: &Config,
    findings: &mut Vec<DoctorFinding>,
) -> Result<(), Failure> {
    findings.push(DoctorFinding::right("kernel", "runs".to_owned()));
    let KernelStatus { http, waiting, .. } = link.ask(method::KERNEL_STATUS, &()).await?;
    if !waiting.is_empty() {
        let told = format!("changes wait for an operator: {}", waiting.join(", "));
        let hint = Some("`mgp reload` takes them; undo those that you did not make".to_owned());
        findings.push(DoctorFinding { what: "configuration", ok: false, told, hint });
    }
    if let Some(http) = http {
        let hint =
            "end the program that has the address, or name another one as `http` of `[listen]` in mgp.toml";
        let hint = http.error.is_some().then(|| hint.to_owned());
        findings.push(DoctorFinding { what: "http", ok: http.error.is_none(), told: told_of(&http), hint });
    }
    let servers = link.settled(output, &ServersToBegin::All).await?;
    findings.extend(variables(link, config, &servers).await?);
    for server in servers.iter().filter(|server| server.enabled) {
        let (ok, mut told) = match server.state {
            ServerState::Connected => (true, format!("{}: {} tools", server.id, server.tools)),
            state => (false, format!("{} is {state}", server.id)),
        };
        if let Some(error) = server.why() {
            told = format!("{told}: {error}");
        }
        let hint = (!ok).then(|| server.remedy());
        findings.push(DoctorFinding { what: "server", ok, told, hint });
    }
    findings.push(record(link.ask(method::AUDIT_VERIFY, &VerifyLog::default()).await));
    findings.extend(reserved_keys(link).await?);
    let UnmatchedRules { rules } = link.ask(method::CONFIG_UNMATCHED, &()).await?;
    findings.extend(rules.into_iter().map(|rule| DoctorFinding {
        what: "rule",
        ok: !rule.is_configured,
        told: format!("{}: {}", rule.rule, rule.told),
        hint: rule.is_configured.then(|| "correct this entry of mgp.toml, or remove it".to_owned()),
    }));
    let pending: PendingDecisions = link.ask(method::PERMISSIONS_PENDING, &()).await?;
    findings.push(undecided(&pending));
    findings.push(proof(&link.ask(method::OPERATORS_STANDING, &()).await?));
    let pins = pins(link, None, true).await?;
    findings.push(DoctorFinding::right("definitions", counted(&pins)));
    findings.extend(pins.iter().take(MOST_DEFINITIONS).filter_map(|row| {
        let standing = row.standing.as_ref()?;
        let mut finding = DoctorFinding::right("definition", standing.sentence(&row.server_id, &row.name));
        finding.hint = Some(standing.way.clone());
        Some(finding)
    }));
    if let Some(more) = pins.len().checked_sub(MOST_DEFINITIONS).filter(|more| *more > 0) {
        let mut finding = DoctorFinding::right("definition", format!("and {more} more"));
        finding.hint = Some("`mgp pin list --waiting` shows all".to_owned());
        findings.push(finding);
    }
    Ok(())
}

/// Returns the lines that a server wrote last to its standard error. A server that has just ended may have written
/// lines that are not read yet, so they are waited for.
async fn written(link: &KernelLink, row: &ServerRow) -> Result<Vec<String>, Failure> {
    let end = Instant::now() + PATIENCE_FOR_LINES;
    loop {
        let ServerLog { lines, .. } = last_lines(link, row.id.clone(), LINES).await?;
        let has_ended = matches!(row.state, ServerState::Restarting | ServerState::Error);
        if !lines.is_empty() || !has_ended || row.fault.is_some() || Instant::now() >= end {
            return Ok(lines);
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Returns findings on the variables that servers probably miss, by their output and by their names.
async fn variables(
    link: &KernelLink,
    config: &Config,
    servers: &[ServerRow],
) -> Result<Vec<DoctorFinding>, Failure> {
    let set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let is_inherited = |name: &str| is_needed(name) || config.passes_variable(name);
    let surroundings = ServerEnvironment { is_inherited: &is_inherited, set: &set };
    let mut findings = Vec::new();
    for server in config.servers.iter().filter(|server| server.enabled) {
        let Some(row) = servers.iter().find(|row| row.id.as_str() == server.id) else { continue };
        let mut lines = written(link, row).await?;
        lines.extend(row.last_error.clone());
        let runs = row.state == ServerState::Connected;
        findings.extend(missed(server, &lines, &surroundings).into_iter().map(|missed| DoctorFinding {
            what: "environment",
            ok: runs || missed.sign == VariableHint::Name,
            told: match &missed.sign {
                VariableHint::Line(written) => {
                    format!("{} is not given {}, and wrote: {written}", server.id, missed.name)
                }
                VariableHint::Name => format!(
                    "{} is not given {}, which is set here and probably meant for this server",
                    server.id, missed.name
                ),
            },
            hint: Some(missed.remedy()),
        }));
    }
    Ok(findings)
}

/// Returns whether the record is as it was written.
fn record(verified: Result<VerifiedLog, Failure>) -> DoctorFinding {
    let told = match verified {
        Ok(VerifiedLog { changed_at: None, events, .. }) => {
            return DoctorFinding::right("record", format!("intact, {} events", events.unwrap_or_default()));
        }
        Ok(VerifiedLog { changed_at: Some(at), flaw, .. }) => {
            format!("changed at event {at}: {}", flaw.unwrap_or_default())
        }
        Err(failure) => failure.message().to_owned(),
    };
    let hint = "the file was changed, replaced or is damaged: keep it, and begin a new one".to_owned();
    DoctorFinding { what: "record", ok: false, told, hint: Some(hint) }
}

/// Returns findings on the keys that are refused because the name of their owner is reserved for somebody else.
async fn reserved_keys(link: &KernelLink) -> Result<Vec<DoctorFinding>, Failure> {
    let mut findings = Vec::new();
    let mut next = Some(0);
    while let Some(offset) = next {
        let page = PageRequest { offset, limit: None };
        let list: KeyPage = link.ask(method::KEYS_LIST, &ListKeys { owner: None, page }).await?;
        findings.extend(list.keys.into_iter().filter(|key| key.reserved).map(|key| DoctorFinding {
            what: "keys",
            ok: false,
            told: format!("the key {} is refused: its owner `{}` has a reserved name", key.id, key.owner),
            hint: Some(format!(
                "`mgp keys revoke {}` removes the key; `mgp keys new` issues one for another owner",
                key.id
            )),
        }));
        next = list.next_offset;
    }
    Ok(findings)
}

/// Reports which proof decisions take.
fn proof(standing: &ProofStatus) -> DoctorFinding {
    let (ok, told) = match standing.needed {
        _ if standing.without_proof => (false, WITHOUT_PROOF),
        Some(NeededProof::First) => (true, "none is set up; `mgp operators passphrase` sets a passphrase"),
        Some(NeededProof::Unset) => {
            (true, "none was set up before the first client was connected, so nobody decides")
        }
        Some(NeededProof::Account) => (true, "decisions take the password of this account"),
        _ => (true, "decisions take the operators' passphrase, or a token"),
    };
    DoctorFinding { what: "proof", ok, told: told.to_owned(), hint: None }
}

/// Reports what waits for a decision, and how to decide it.
fn undecided(pending: &PendingDecisions) -> DoctorFinding {
    let needs = &pending.undecided;
    let is_listed = |question: &&OpenQuestion| {
        let about = (&question.server_id, question.permission.as_ref());
        needs.iter().any(|need| (&need.server_id, Some(&need.permission)) == about)
    };
    let waiting = needs.len() + pending.questions.iter().filter(|question| !is_listed(question)).count();
    let mut told = vec![format!("{waiting} wait for a decision")];
    told.extend(needs.iter().map(|need| format!("{} needs {}", need.server_id, need.permission.as_str())));
    let mut finding = DoctorFinding::right("permissions", told.join("; "));
    finding.hint = match needs.first() {
        Some(UndecidedPermission { server_id, permission, .. }) => {
            let (permission, what) = (permission.as_str(), "mgp permissions");
            Some(format!(
                "`{what} approve {server_id} {permission} --all-agents` grants it, `{what} deny …` denies it"
            ))
        }
        None if waiting > 0 => Some("`mgp permissions pending` shows the questions".to_owned()),
        None => None,
    };
    finding
}

/// Returns how many definitions are held and flagged, as a text.
fn counted(pins: &[PinRow]) -> String {
    let standings = || pins.iter().filter_map(|row| row.standing.as_ref());
    let held = standings().filter(|standing| standing.is_held()).count();
    format!("{held} held, {} flagged", standings().count() - held)
}

impl DoctorFinding {
    const fn right(what: &'static str, told: String) -> Self {
        Self { what, ok: true, told, hint: None }
    }

    fn wrong(what: &'static str, failure: &Failure) -> Self {
        let hint = failure.advice().map(str::to_owned);
        Self { what, ok: false, told: failure.message().to_owned(), hint }
    }
}

/// The number of lines of a server's standard error that are searched, from the last one backwards.
const LINES: u32 = 200;
/// The longest time to wait for the output of a server that has just ended.
const PATIENCE_FOR_LINES: Duration = Duration::from_secs(2);
/// The largest number of definitions that are shown one by one.
const MOST_DEFINITIONS: usize = 20;
