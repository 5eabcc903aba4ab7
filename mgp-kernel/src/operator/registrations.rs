//! The servers that registered themselves: listed, approved, denied and kept.

use mgp_discovery::clients::without_secrets;
use mgp_discovery::registry::{
    Approval, CodeFile, LaunchMethod, Lifetime, Registrant, Registry, ServerRegistration, visible,
};
use mgp_types::Error;
use mgp_types::mgp::{Permission, RiskLevel, ServerId, ServerStatus, Timestamp, TrustLevel};
use serde::{Deserialize, Serialize};

use super::page::PageRequest;
use super::permissions::OpenQuestion;
use super::request::OperatorRequest;

/// The params that ask for registered servers: all, or those that wait.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ListRegistrations {
    /// True if only servers that wait for approval are listed.
    pub(crate) waiting: bool,
    #[serde(flatten)]
    pub(crate) page: PageRequest,
}

/// A page of the registered servers, by id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RegistrationPage {
    pub(crate) registrations: Vec<RegistrationRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_offset: Option<u64>,
}

/// A registered server, with all facts by which an operator decides about it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RegistrationRow {
    pub(crate) server_id: ServerId,
    pub(crate) state: RegistrationStatus,
    /// The whole command line, or the address without possible secrets. Invisible characters are spelled out.
    pub(crate) launch: String,
    /// The working directory of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
    /// Code, or another program, that stands on the command line, and what is done with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) inline_code: Option<String>,
    /// The variables of the kernel's environment that the server gets.
    #[serde(default)]
    pub(crate) env: Vec<String>,
    pub(crate) trust_level: TrustLevel,
    #[serde(default)]
    pub(crate) permissions: Vec<Permission>,
    pub(crate) registered_by: String,
    /// True if an agent registered the server; else an operator did.
    pub(crate) by_agent: bool,
    /// The author of the server, in the words of the client that registered it.
    pub(crate) created_by: Option<String>,
    pub(crate) justification: Option<String>,
    pub(crate) registered_at: Timestamp,
    pub(crate) approved_by: Option<String>,
    /// One digest of the script and of all files that it loads, as they were inspected.
    pub(crate) digest: Option<String>,
    /// The inspected files, each with its digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<CodeFile>,
    /// True if the system confines the server.
    #[serde(default)]
    pub(crate) confined: bool,
    /// The reason why the system does not confine the server, though it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unconfined: Option<String>,
    /// True if the server ends with the session that it was registered for.
    pub(crate) for_session: bool,
}

/// The status of a registered server: whether it may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RegistrationStatus {
    /// The server may be started.
    Approved,
    /// The server waits for approval.
    Waiting,
}

/// The params that name a registered server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedRegistration {
    pub(crate) server_id: ServerId,
}

/// The result of an approval of a server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ApprovedRegistration {
    pub(crate) status: ServerStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

pub(super) fn list(registry: &Registry, asked: &ListRegistrations) -> RegistrationPage {
    let all = registry.registered();
    let wanted = all.iter().filter(|server| !asked.waiting || !server.is_approved());
    let (registrations, next_offset) = asked.page.of(wanted.map(|server| RegistrationRow::of(server)));
    RegistrationPage { registrations, next_offset }
}

/// Returns the registered servers that wait for approval, each as a question whose id is that of the server.
pub(super) fn questions(registry: &Registry) -> impl Iterator<Item = OpenQuestion> {
    registry.registered().into_iter().filter(|server| !server.is_approved()).map(|server| {
        let row = RegistrationRow::of(&server);
        let message = format!(
            "`{}` registered the server `{}`, which runs `{}`. Start it? Its files are shown by `mgp registrations list \
             --waiting`.",
            visible(&row.registered_by),
            visible(row.server_id.as_str()),
            row.launch
        );
        OpenQuestion {
            id: row.server_id.as_str().to_owned(),
            server_id: row.server_id,
            permission: None,
            tool_name: None,
            // Nobody knows what the server does.
            risk: RiskLevel::Dangerous,
            agent_id: row.by_agent.then_some(row.registered_by),
            message,
            asked_at: row.registered_at,
            ends_at: None,
            decision: None,
            answered_by: None,
        }
    })
}

pub(super) async fn approve(
    asked: &OperatorRequest,
    registry: &Registry,
    named: &NamedRegistration,
) -> Result<ApprovedRegistration, Error> {
    let told = registry.approve(&asked.by, asked.trace, &named.server_id).await?;
    Ok(ApprovedRegistration { status: told.status, message: told.message })
}

/// Denies a server. Answers with the server that is no longer registered.
pub(super) async fn deny(
    asked: &OperatorRequest,
    registry: &Registry,
    named: NamedRegistration,
) -> Result<NamedRegistration, Error> {
    registry.deny(&asked.by, asked.trace, &named.server_id).await?;
    Ok(named)
}

/// Keeps a server. Answers with the server that stays.
pub(super) async fn keep(
    asked: &OperatorRequest,
    registry: &Registry,
    named: NamedRegistration,
) -> Result<NamedRegistration, Error> {
    registry.keep(&asked.by, asked.trace, &named.server_id).await?;
    Ok(named)
}

impl RegistrationRow {
    fn of(server: &ServerRegistration) -> Self {
        let (registered_by, by_agent) = match &server.registrant {
            Registrant::Agent(name) => (name.clone(), true),
            Registrant::Operator(name) => (name.clone(), false),
            _ => (String::new(), true),
        };
        let here = || std::env::current_dir().ok().map(|folder| visible(&folder.display().to_string()));
        let (launch, env, folder) = match &server.launch {
            LaunchMethod::Program { env, .. } => (server.launch.line(), env.clone(), here()),
            LaunchMethod::Web { url, .. } => (visible(&without_secrets("url", url)), Vec::new(), None),
            _ => (String::new(), Vec::new(), None),
        };
        let (state, approved_by) = match &server.approval {
            Approval::Approved { by, .. } => (RegistrationStatus::Approved, Some(by.clone())),
            _ => (RegistrationStatus::Waiting, None),
        };
        Self {
            server_id: server.id.clone(),
            state,
            launch,
            folder,
            inline_code: server.inline_code(),
            env,
            trust_level: server.trust,
            permissions: server.permissions.clone(),
            registered_by,
            by_agent,
            created_by: server.label.clone(),
            justification: server.justification.clone(),
            registered_at: server.registered_at,
            approved_by,
            digest: server.digest.clone(),
            files: server.files.clone(),
            confined: server.is_confined(),
            unconfined: server.unconfined.clone(),
            for_session: server.lifetime != Lifetime::Kept,
        }
    }
}
