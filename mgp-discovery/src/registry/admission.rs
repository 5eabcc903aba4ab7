//! The policy of registrations, and the checks against it.

use mgp_types::mgp::{Permission, RegisterServer, RiskLevel, ServerId, Timestamp, TrustLevel};
use mgp_types::{AgentGroups, Principal, PrincipalRole};

use super::program::{CommandCode, loads_code};
use super::registration_table::is_same;
use super::{
    Approval, LaunchMethod, ProgramScript, Registrant, RegistrationId, RegistrationTerms, RegistryError,
    Result, ServerRegistration,
};
use crate::catalog::{LONGEST_ID, is_reserved_server, is_written_as_id};
use crate::config::model::{RegistrationSettings, TransportKind};

/// The rules of who may register which servers. The default policy refuses every registration.
#[derive(Debug, Clone, Default)]
pub struct RegistrationPolicy {
    settings: RegistrationSettings,
    configured: Vec<ServerId>,
    groups: AgentGroups,
}

impl RegistrationPolicy {
    /// Creates the policy of `settings`, in which the ids of the `configured` servers are taken.
    ///
    /// An entry of `commands` that begins with `http://` or `https://` is not a program: a server may be registered at
    /// any address that begins so. No address is allowed otherwise.
    pub fn new(settings: &RegistrationSettings, configured: impl IntoIterator<Item = ServerId>) -> Self {
        let (settings, configured) = (settings.clone(), configured.into_iter().collect());
        Self { settings, configured, groups: AgentGroups::default() }
    }

    /// Finds the groups of agents in `groups`.
    #[must_use]
    pub fn with_groups(self, groups: AgentGroups) -> Self {
        Self { groups, ..self }
    }

    /// Returns whether `by` may register servers at all.
    pub fn admits(&self, by: &Principal) -> bool {
        let is_listed = |agent: &str| self.settings.agents.iter().any(|known| known == agent).then_some(());
        by.role() == PrincipalRole::Operator || self.groups.find(by.as_str(), is_listed).is_some()
    }

    fn is_configured(&self, id: &ServerId) -> bool {
        self.configured.iter().any(|known| is_same(known, id))
    }

    fn allows_program(&self, command: &str) -> bool {
        !is_web(command) && self.settings.commands.iter().any(|known| known == command)
    }

    fn allows_variable(&self, name: &str) -> bool {
        self.settings.env.iter().any(|known| known == name)
    }

    /// Returns whether the address is a listed one, or lies below it: `https://host/a` holds for `https://host/a/b` and
    /// not for `https://host/ab`, and `https://host` not for `https://host.evil`.
    fn allows_address(&self, url: &str) -> bool {
        self.settings.commands.iter().filter(|listed| is_web(listed)).any(|listed| {
            url.strip_prefix(listed.as_str())
                .is_some_and(|rest| rest.is_empty() || listed.ends_with('/') || rest.starts_with(['/', '?']))
        })
    }
}

fn is_web(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

const MAX_WORDS: usize = 32;

/// Checks a registration against the policy, and returns the server that the policy allows, apart from its code, with the
/// requested variables that are not passed on.
pub(super) fn admit(
    policy: &RegistrationPolicy,
    by: &Principal,
    wanted: RegisterServer,
    terms: RegistrationTerms,
    now: Timestamp,
) -> Result<(ServerRegistration, Vec<String>)> {
    if !policy.admits(by) {
        return Err(forbidden("only operators and the agents listed for it may register servers"));
    }
    check_id(&wanted.id)?;
    if policy.is_configured(&wanted.id) {
        return Err(RegistryError::Taken(wanted.id));
    }
    let is_operator = by.role() == PrincipalRole::Operator;
    let trust = if is_operator { wanted.mgp.trust_level } else { TrustLevel::Sandboxed };
    let (launch, left_out) = launch(policy, &wanted)?;
    let permissions = permissions(wanted.mgp.permissions_required, trust)?;
    if wanted.mgp.extensions.len() > MAX_WORDS || wanted.mgp.extensions.iter().any(|name| !is_word(name)) {
        return Err(malformed(format!("`mgp.extensions` takes up to {MAX_WORDS} short names")));
    }
    let approval = match terms.approved_by {
        Some(by) => Approval::Approved { by, at: now },
        None if trust > TrustLevel::Sandboxed => Approval::Approved { by: by.id().into_owned(), at: now },
        None => Approval::Pending,
    };
    let server = ServerRegistration {
        id: wanted.id,
        launch,
        extensions: wanted.mgp.extensions,
        permissions,
        trust,
        registrant: Registrant::of(by),
        label: words(wanted.created_by, "created_by")?,
        justification: words(wanted.justification, "justification")?,
        registered_at: now,
        approval,
        approval_id: RegistrationId::random(),
        digest: None,
        files: Vec::new(),
        unconfined: None,
        lifetime: terms.lifetime,
    };
    check_code(&server)?;
    Ok((server, left_out))
}

/// Checks whether a server that was allowed before still is.
pub(super) fn check_again(policy: &RegistrationPolicy, server: &ServerRegistration) -> Result<()> {
    if policy.is_configured(&server.id) {
        return Err(RegistryError::Taken(server.id.clone()));
    }
    if let Registrant::Agent(name) = &server.registrant
        && !policy.admits(&Principal::new(name.as_str()))
    {
        return Err(forbidden("the agent that registered the server may not register servers any more"));
    }
    match &server.launch {
        LaunchMethod::Program { command, env, .. } => {
            check_program(policy, command)?;
            let unlisted = env.iter().find(|name| !policy.allows_variable(name));
            unlisted.map_or(Ok(()), |name| {
                Err(forbidden(format!("the variable `{name}` is not listed for registration any more")))
            })
        }
        LaunchMethod::Web { url, .. } => check_address(policy, url),
    }
}

/// Returns the script that is to be inspected, if there is one.
pub(super) fn script(server: &ServerRegistration) -> Option<ProgramScript<'_>> {
    let LaunchMethod::Program { command, args, .. } = &server.launch else { return None };
    match CommandCode::of(command, args) {
        CommandCode::Script(script) if server.trust == TrustLevel::Sandboxed => Some(script),
        _ => None,
    }
}

fn check_id(id: &ServerId) -> Result<()> {
    let text = id.as_str();
    let begins_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
    if !begins_well || !is_written_as_id(text) {
        return Err(malformed(format!(
            "`id` takes up to {LONGEST_ID} letters, digits, `.`, `_` and `-`, and begins with a letter or digit"
        )));
    }
    if is_reserved_server(text) {
        return Err(malformed(
            "an `id` that is `mgp` or `kernel`, or begins so with `.` or `_` behind it, is reserved in any spelling: choose another",
        ));
    }
    Ok(())
}

fn launch(policy: &RegistrationPolicy, wanted: &RegisterServer) -> Result<(LaunchMethod, Vec<String>)> {
    let transport = wanted.transport.as_deref();
    match (&wanted.command, &wanted.url) {
        (Some(command), None) => {
            if !matches!(transport, None | Some("stdio")) {
                return Err(malformed("`transport` of a `command` is `stdio`"));
            }
            check_program(policy, command)?;
            check_args(&wanted.args)?;
            let (env, left_out) = environment(policy, wanted)?;
            let (command, args) = (command.clone(), wanted.args.clone());
            Ok((LaunchMethod::Program { command, args, env }, left_out))
        }
        (None, Some(url)) => {
            let transport = match transport {
                None | Some("http" | "streamable-http" | "streamable_http") => TransportKind::Http,
                Some("sse") => TransportKind::Sse,
                Some(_) => return Err(malformed("`transport` of a `url` is `http` or `sse`")),
            };
            if !wanted.args.is_empty() || !wanted.env.is_empty() {
                return Err(malformed("a server at a `url` takes neither `args` nor `env`"));
            }
            check_address(policy, url)?;
            Ok((LaunchMethod::Web { url: url.clone(), transport }, Vec::new()))
        }
        _ => Err(malformed("a server has either a `command` or a `url`")),
    }
}

const LONGEST_ARG: usize = 4096;

/// Checks that a program is listed with exactly this text, so that no other spelling of a path and no other directory
/// is ever reached.
fn check_program(policy: &RegistrationPolicy, command: &str) -> Result<()> {
    if command.is_empty() || command.len() > LONGEST_ARG || command.contains(char::is_control) {
        return Err(malformed("`command` is the name or the full path of a program, and no more"));
    }
    let is_path = command.contains(['/', '\\']);
    let is_plain = !command.split(['/', '\\']).any(|part| matches!(part, "." | ".."));
    if !is_plain || (is_path && !is_absolute(command)) {
        return Err(malformed("`command` is a bare name or a full path without `.` and `..`"));
    }
    if !policy.allows_program(command) {
        return Err(forbidden(
            "this `command` is not listed for registration; an operator lists it in mgp.toml",
        ));
    }
    Ok(())
}

fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.first() == Some(&b'/')
        || matches!(bytes, [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic())
}

const MAX_ARGS: usize = 64;

fn check_args(args: &[String]) -> Result<()> {
    if args.len() > MAX_ARGS || args.iter().any(|arg| arg.len() > LONGEST_ARG) {
        return Err(malformed(format!("`args` takes up to {MAX_ARGS} texts of {LONGEST_ARG} bytes")));
    }
    if args.iter().any(|arg| arg.contains(char::is_control)) {
        return Err(malformed("`args` must not hold line breaks or other control characters"));
    }
    Ok(())
}

/// Returns the variables that are passed on, and those that are not because they are not listed.
///
/// The values are the kernel's own: a value from the caller would be stored in the clear, and `${OTHER}` would reveal a
/// variable that is not listed.
fn environment(policy: &RegistrationPolicy, wanted: &RegisterServer) -> Result<(Vec<String>, Vec<String>)> {
    if wanted.env.len() > MAX_WORDS || wanted.env.keys().any(|name| !is_word(name)) {
        return Err(malformed(format!("`env` takes up to {MAX_WORDS} names of variables")));
    }
    for (name, value) in &wanted.env {
        let is_own = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) == Some(name.as_str());
        if !is_own && !value.is_empty() {
            return Err(malformed(format!(
                "`env.{name}` has the value of the kernel's variable: write \"${{{name}}}\""
            )));
        }
    }
    if let Some(name) = wanted.env.keys().find(|name| loads_code(name)) {
        return Err(forbidden(format!(
            "`env.{name}` makes programs load code that is not inspected: a server that needs it stands in mgp.toml"
        )));
    }
    Ok(wanted.env.keys().cloned().partition(|name| policy.allows_variable(name)))
}

fn check_address(policy: &RegistrationPolicy, url: &str) -> Result<()> {
    let plain = url.len() <= LONGEST_ARG && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if !is_web(url) || !plain {
        return Err(malformed("`url` begins with `http://` or `https://` and holds no spaces"));
    }
    let behind = url.split_once("://").map_or("", |(_, behind)| behind);
    let (host, path) = behind.split_at(behind.find(['/', '?', '#']).unwrap_or(behind.len()));
    let climbs = |part: &str| {
        let part = part.to_ascii_lowercase().replace("%2e", ".");
        part == "." || part == ".." || part.contains("%2f") || part.contains("%5c")
    };
    if host.is_empty() || host.contains('@') || path.contains('#') || path.split(['/', '?']).any(climbs) {
        return Err(malformed("`url` has a host and a plain path: no user, no `..`, no fragment"));
    }
    if !policy.allows_address(url) {
        return Err(forbidden(
            "this `url` is not listed for registration; an operator lists what it begins with in mgp.toml",
        ));
    }
    Ok(())
}

/// Returns the permissions of a server. A sandboxed server gets no dangerous permission, and an unknown permission
/// counts as dangerous.
fn permissions(asked: Vec<Permission>, trust: TrustLevel) -> Result<Vec<Permission>> {
    if asked.len() > MAX_WORDS || asked.iter().any(|permission| !is_word(permission.as_str())) {
        return Err(malformed(format!("`mgp.permissions_required` takes up to {MAX_WORDS} short names")));
    }
    if trust == TrustLevel::Sandboxed
        && let Some(dangerous) = asked.iter().find(|permission| permission.risk() == RiskLevel::Dangerous)
    {
        return Err(forbidden(format!("a sandboxed server cannot have the permission `{dangerous}`")));
    }
    Ok(asked)
}

/// Checks that the code of a sandboxed server can be inspected.
fn check_code(server: &ServerRegistration) -> Result<()> {
    let LaunchMethod::Program { command, args, .. } = &server.launch else { return Ok(()) };
    match CommandCode::of(command, args) {
        CommandCode::Hidden(why) if server.trust == TrustLevel::Sandboxed => Err(forbidden(format!(
            "the code of a sandboxed server has to be a script that can be inspected: {why}"
        ))),
        _ => Ok(()),
    }
}

const LONGEST_TEXT: usize = 1000;

/// Returns a text of the caller's, unless it is too long.
pub(super) fn words(text: Option<String>, member: &str) -> Result<Option<String>> {
    if text.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
        return Err(malformed(format!("`{member}` takes up to {LONGEST_TEXT} bytes")));
    }
    Ok(text)
}

const LONGEST_WORD: usize = 128;

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_WORD && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn forbidden(why: impl Into<String>) -> RegistryError {
    RegistryError::Forbidden(why.into())
}

fn malformed(why: impl Into<String>) -> RegistryError {
    RegistryError::Malformed(why.into())
}
