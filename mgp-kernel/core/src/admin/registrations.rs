//! The servers that registered themselves: listed, approved, denied and kept.

use std::io::{self, Write as _};

use clap::Args;
use mgp_discovery::clients::without_secrets;
use mgp_discovery::registry::{
    Approval, CodeFile, LaunchMethod, Lifetime, Registrant, RegistrationId, Registry, ServerRegistration,
    visible,
};
use mgp_types::Error;
use mgp_types::mgp::{
    Permission, RegisteredServer, RiskLevel, ServerId, ServerStatus, Timestamp, TrustLevel,
};
use serde::{Deserialize, Serialize};

use super::operation::{KernelNeed, Operation, OperatorCall, PageRequest};
use super::questions::OpenQuestion;
use crate::terminal::{TextForm, TextWriter, line_form, printable};

/// Lists the registered servers by id: all, or those that wait.
#[derive(Debug, Default, Args, Serialize, Deserialize)]
#[serde(default)]
pub struct ListRegistrations {
    /// List the servers that wait for approval only
    #[arg(long)]
    waiting: bool,
    #[command(flatten)]
    #[serde(flatten)]
    page: PageRequest,
}

/// A page of the registered servers.
#[derive(Debug, Serialize, Deserialize)]
pub struct RegistrationPage {
    registrations: Vec<RegistrationRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

/// A registered server, with all facts by which an operator decides about it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RegistrationRow {
    server_id: ServerId,
    /// The id by which the server is approved or denied while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    state: RegistrationStatus,
    /// The whole command line, or the address without possible secrets. Invisible characters are spelled out.
    launch: String,
    /// The working directory of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Code, or another program, that stands on the command line, and what is done with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_code: Option<String>,
    /// The variables of the kernel's environment that the server gets.
    env: Vec<String>,
    trust_level: TrustLevel,
    permissions: Vec<Permission>,
    registered_by: String,
    /// True if an agent registered the server; else an operator did.
    by_agent: bool,
    /// The author of the server, in the words of the client that registered it.
    created_by: Option<String>,
    justification: Option<String>,
    registered_at: Timestamp,
    approved_by: Option<String>,
    /// The digest of the inspected script together with all files that it loads.
    digest: Option<String>,
    /// The inspected files, each with its digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<CodeFile>,
    /// True if the system confines the server.
    confined: bool,
    /// The reason why the system does not confine the server, though it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    unconfined: Option<String>,
    /// True if the server ends with the session that it was registered for.
    for_session: bool,
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

/// Approves a server that waits, and starts it.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct ApproveRegistration {
    /// The id of the registration, as the list shows it
    pub(super) id: String,
}

/// The result of an approval of a server.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApprovedRegistration {
    server_id: ServerId,
    status: ServerStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Denies a server that waits: it is no longer registered.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct DenyRegistration {
    /// The id of the registration, as the list shows it
    pub(super) id: String,
}

/// The server that was denied.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeniedRegistration {
    server_id: ServerId,
}

/// Keeps a server after the session that registered it ends.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct KeepRegistration {
    /// The id under which the server was registered
    #[arg(value_name = "SERVER")]
    server_id: ServerId,
}

impl Operation for ListRegistrations {
    type Reply = RegistrationPage;

    async fn run(self, call: &OperatorCall) -> Result<RegistrationPage, Error> {
        let all = call.kernel.registry.registered();
        let wanted = all.iter().filter(|server| !self.waiting || !server.is_approved());
        let (registrations, next_offset) = self.page.of(wanted.map(|server| RegistrationRow::of(server)));
        Ok(RegistrationPage { registrations, next_offset })
    }
}

impl TextForm for RegistrationPage {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        if self.registrations.is_empty() {
            writeln!(out, "no server was registered")?;
        }
        self.registrations.iter().try_for_each(|row| row.write(out))
    }
}

impl Operation for ApproveRegistration {
    const HINT: Option<&'static str> = UNKNOWN;
    // An approved server is started, so a kernel has to run.
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = ApprovedRegistration;

    async fn run(self, call: &OperatorCall) -> Result<ApprovedRegistration, Error> {
        let id = RegistrationId::from(&*self.id);
        let approved = call.kernel.registry.approve(&call.by, call.trace, &id).await?;
        let RegisteredServer { id: server_id, status, message, .. } = approved;
        Ok(ApprovedRegistration { server_id, status, message })
    }
}

impl TextForm for ApprovedRegistration {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "approved {}: {}", printable(self.server_id.as_str()), self.status)?;
        self.message.iter().try_for_each(|message| writeln!(out, "{}", printable(message)))
    }
}

impl Operation for DenyRegistration {
    const HINT: Option<&'static str> = UNKNOWN;
    type Reply = DeniedRegistration;

    async fn run(self, call: &OperatorCall) -> Result<DeniedRegistration, Error> {
        let id = RegistrationId::from(&*self.id);
        let server_id = call.kernel.registry.deny(&call.by, call.trace, &id).await?;
        Ok(DeniedRegistration { server_id })
    }
}

line_form!(DeniedRegistration, |it| format_args!("{} is removed", printable(it.server_id.as_str())));

impl Operation for KeepRegistration {
    const HINT: Option<&'static str> = UNKNOWN;
    // A server that lives as long as a session is known only to the running kernel.
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = Self;

    async fn run(self, call: &OperatorCall) -> Result<Self, Error> {
        call.kernel.registry.keep(&call.by, call.trace, &self.server_id).await?;
        Ok(self)
    }
}

line_form!(KeepRegistration, |it| format_args!("{} stays", printable(it.server_id.as_str())));

/// Returns the registered servers that wait for approval, each as a question with the id of the registration.
pub(super) fn questions(registry: &Registry) -> impl Iterator<Item = OpenQuestion> {
    registry.registered().into_iter().filter(|server| !server.is_approved()).map(|server| {
        let id = server.approval_id.as_str().to_owned();
        let row = RegistrationRow::of(&server);
        let message = format!(
            "`{}` registered the server `{}`, which runs `{}`. Start it? Its files are shown by `mgp registrations list \
             --waiting`.",
            visible(&row.registered_by),
            visible(row.server_id.as_str()),
            row.launch
        );
        OpenQuestion {
            id,
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
            max_uses: None,
        }
    })
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
        let id = (!server.is_approved()).then(|| server.approval_id.as_str().to_owned());
        Self {
            server_id: server.id.clone(),
            id,
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

    /// Writes everything on which the decision about a server depends. Nothing is cut, because nothing may be approved
    /// unseen.
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let state = match self.state {
            RegistrationStatus::Waiting => "waiting for approval",
            RegistrationStatus::Approved if self.for_session => "for a session",
            RegistrationStatus::Approved => "approved",
        };
        let by = printable(&self.registered_by);
        writeln!(out, "{}: {state}, registered by {by}", self.server_id)?;
        if let Some(id) = &self.id {
            writeln!(out, "  {:<12}mgp registrations approve {}", "approve", printable(id))?;
        }
        let mut say =
            |what: &str, value: &str| writeln!(out, "  {what:<12}{}", printable(value).replace('\n', " "));
        say("starts", &self.launch)?;
        self.inline_code.iter().try_for_each(|code| say("", code))?;
        self.folder.iter().try_for_each(|folder| say("in", folder))?;
        if !self.env.is_empty() {
            say("variables", &self.env.join(", "))?;
        }
        let permissions: Vec<_> = self.permissions.iter().map(Permission::as_str).collect();
        let permissions = permissions.join(", ");
        say("trust", &self.trust_level.to_string())?;
        say("permissions", if permissions.is_empty() { "none" } else { &permissions })?;
        say("code", self.digest.as_deref().unwrap_or("not inspected"))?;
        self.files.iter().try_for_each(|file| say("", &format!("{}  {}", file.digest, file.path)))?;
        match &self.unconfined {
            Some(why) => say("confined", &format!("no, although it has to be: {why}"))?,
            None => say("confined", if self.confined { "yes, by the system" } else { "no" })?,
        }
        self.justification.iter().try_for_each(|because| say("because", because))
    }
}

/// The hint where a server is named that is not registered.
const UNKNOWN: Option<&str> = Some("`mgp registrations list` shows the registered servers");
