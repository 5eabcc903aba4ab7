//! The guard of definitions, which combines the checks of names, of hidden instructions and of pins, the findings in the
//! definitions, and the configuration by which findings are accepted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::Object;

use super::order::are_alike;
use super::scan::rule_called;
use super::verdicts::Verdicts;
use super::{
    ApproveError, Definition, DefinitionKind, DefinitionName, DefinitionStatus, PinState, PinnedDefinitions,
    RemarkKind, ServerId, hold, is_flag, well_formed,
};
use crate::tool::MAX_TOOLS;
use crate::{Digest, Finding, Schema, StoreError};

/// The guard that decides which of the tools, prompts, templates and resources of a server may be used.
///
/// A definition is refused for its content, and quarantined for not being the one that was approved; one that is only
/// worded like an attack is flagged, and may be used. A refused definition is not pinned before an operator has
/// [approved](Self::approve) it as it is. Resources are refused for the content of their definitions and never pinned.
#[derive(Debug)]
pub struct DefinitionGuard {
    pins: PinnedDefinitions,
    verdicts: Verdicts,
    /// The findings in the last lists of each server, by kind, whether or not the definitions were approved before.
    found: ArcSwap<HashMap<ServerId, FoundByKind>>,
}

type FoundByKind = [Arc<FoundByName>; DefinitionKind::ALL.len()];

type FoundByName = HashMap<Box<str>, DefinitionFindings>;

/// The decision of the guard about one definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionAdmission {
    /// The status of the definition; `None` if it may be listed and used, and nothing was found in it.
    pub status: Option<DefinitionStatus>,
    /// The digest to approve, if the definition is kept back by its pin.
    pub digest: Option<Digest>,
}

/// The findings in one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionFindings {
    /// The findings, one for each rule that the definition breaks.
    pub findings: Vec<Finding>,
    /// True if the definition must not be used; otherwise it is used, and marked.
    pub is_held: bool,
    /// The definition, if an operator can accept it as it is.
    pub definition: Option<Definition>,
}

impl DefinitionFindings {
    fn held(findings: Vec<Finding>, definition: Option<Definition>) -> Self {
        let can_accept = findings.iter().all(|finding| rule_called(finding.rule).is_some());
        Self { findings, is_held: true, definition: definition.filter(|_| can_accept) }
    }

    /// Returns the findings of a definition that is used, and marked if there are any.
    fn usable(findings: Vec<Finding>, definition: Definition) -> Self {
        Self { findings, is_held: false, definition: Some(definition) }
    }

    /// Returns the definition if it is not held for what was found in it.
    fn admissible(&self) -> Option<&Definition> {
        self.definition.as_ref().filter(|_| !self.is_held)
    }

    /// Returns the status that the findings give the definition, if there are any.
    fn status(&self) -> Option<DefinitionStatus> {
        let status = match self.definition {
            _ if !self.is_held => DefinitionStatus::Flagged,
            Some(_) => DefinitionStatus::Found,
            None => DefinitionStatus::Refused,
        };
        self.rules().next().map(status)
    }

    /// Returns the digest to approve, if an operator can accept the definition as it is.
    pub fn digest(&self) -> Option<Digest> {
        self.definition.as_ref().map(Definition::digest)
    }

    /// Returns the rules that found something.
    pub fn rules(&self) -> impl Iterator<Item = &'static str> {
        self.findings.iter().map(|finding| finding.rule)
    }

    /// Returns the first rule that found something.
    pub fn rule(&self) -> &'static str {
        self.rules().next().unwrap_or_default()
    }

    /// Returns the findings as one text.
    pub fn describe(&self) -> String {
        let findings: Vec<_> = self.findings.iter().map(ToString::to_string).collect();
        findings.join("; ")
    }
}

/// The part of a server's configuration that its definitions are judged by.
///
/// ```
/// use mgp_security::definition::ConfiguredServer;
///
/// let allowed = vec![("read".into(), "secret-request".into())];
/// let configured = ConfiguredServer { allowed, ..ConfiguredServer::default() };
/// assert!(configured.allows(&"read".into(), "secret-request"));
/// assert!(!configured.allows(&"write".into(), "secret-request"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ConfiguredServer {
    /// The digest of how the server is started or reached: definitions that change together with it were changed by the
    /// author of the configuration.
    pub entry: Option<Digest>,
    /// The definitions, each with a rule whose findings in it are accepted.
    pub allowed: Vec<(DefinitionName, Box<str>)>,
    /// True if the server is trusted to add definitions to those of its first list.
    pub grows: bool,
}

impl ConfiguredServer {
    /// Returns whether what `rule` finds in the definition called `name` is accepted.
    pub fn allows(&self, name: &DefinitionName, rule: &str) -> bool {
        self.allowed.iter().any(|(of, allowed)| of == name && **allowed == *rule)
    }
}

impl DefinitionGuard {
    /// Returns a guard that remembers approvals in `pins`, and beside them what was found in definitions.
    ///
    /// # Errors
    /// Fails if the store of the pins cannot be read.
    pub fn new(pins: PinnedDefinitions) -> Result<Self, StoreError> {
        let verdicts = pins.verdicts()?;
        Ok(Self { pins, verdicts, found: ArcSwap::default() })
    }

    /// Returns whether the definition of this name may be used: it is approved, unless its kind is not pinned, and
    /// nothing in the last list holds it.
    pub fn is_admitted(&self, server: &ServerId, kind: DefinitionKind, name: &str) -> bool {
        let found = self.found.load();
        let found = found.get(server).and_then(|kinds| kinds[kind as usize].get(name));
        !found.is_some_and(|found| found.is_held)
            && (!kind.is_pinned() || self.pins.is_approved(server, kind, name))
    }

    /// Returns whether the definition of this name is used although its wording is that of orders to a model.
    pub(super) fn is_flagged(&self, server: &ServerId, kind: DefinitionKind, name: &str) -> bool {
        let found = self.found.load();
        found.get(server).and_then(|kinds| kinds[kind as usize].get(name)).is_some_and(|found| !found.is_held)
    }

    /// Returns whether the definition may be used on any connection to `server`.
    pub fn is_admitted_anywhere(&self, server: &ServerId, kind: DefinitionKind, name: &str) -> bool {
        self.pins.holders(server).iter().any(|holder| self.is_admitted(holder, kind, name))
    }

    /// Returns why the definition called `name` must not be used; `None` if it may be.
    pub fn hold(&self, server: &ServerId, name: &DefinitionName) -> Option<DefinitionStatus> {
        if let Some(found) = self.found_in(server, name).filter(|found| found.is_held) {
            return found.status();
        }
        let is_reconfigured = || self.pins.is_reconfigured(server, name);
        match self.pins.state(server, name) {
            Some(PinState::Approved(_)) => None,
            Some(_) if is_reconfigured() => Some(DefinitionStatus::Reconfigured),
            Some(PinState::Asked(_)) => Some(DefinitionStatus::New),
            Some(PinState::Changed { approved, pending }) => {
                let is_varied = are_alike(&approved, &pending, true);
                Some(if is_varied { DefinitionStatus::Varied } else { DefinitionStatus::Changed })
            }
            None => name.kind().is_pinned().then_some(DefinitionStatus::Unlisted),
        }
    }

    /// Returns the status of the definition called `name`; `None` if it is simply used, or not known.
    pub fn status(&self, server: &ServerId, name: &DefinitionName) -> Option<DefinitionStatus> {
        self.hold(server, name).or_else(|| self.found_in(server, name)?.status())
    }

    /// Returns what was found in the definition called `name` when it was listed last.
    pub fn found_in(&self, server: &ServerId, name: &DefinitionName) -> Option<DefinitionFindings> {
        let found = self.found.load();
        found.get(server)?[name.kind() as usize].get(name.as_str()).cloned()
    }

    /// Approves the definition called `name` that has `digest`, the one that the approver has seen, although `rules`
    /// find something in it. Findings of other rules keep it held.
    ///
    /// # Errors
    /// Fails if no definition waits for approval or is flagged, if another definition does, if something was found that
    /// is not among `rules` or cannot be accepted, or if the store cannot be written.
    pub fn approve(
        &self,
        server: &ServerId,
        name: &DefinitionName,
        digest: Digest,
        despite: &[&str],
    ) -> Result<(), ApproveError> {
        let Some(found) = self.found_in(server, name) else { return self.pins.approve(server, name, digest) };
        let definition = found.definition.as_ref().ok_or(ApproveError::Refused(found.rule()))?;
        if definition.digest() != digest {
            return Err(ApproveError::OtherPending(definition.digest()));
        }
        if let Some(unnamed) = found.rules().find(|rule| !despite.contains(rule)) {
            let is_pending = self.pins.state(server, name).is_some_and(|state| state.pending().is_some());
            // A definition that is only flagged stays flagged.
            return if !found.is_held && is_pending {
                self.pins.approve(server, name, digest)
            } else {
                Err(ApproveError::Found(unnamed))
            };
        }
        self.pins.accept(server, definition, found.rules())?;
        self.found.rcu(|all| {
            let mut all = HashMap::clone(all);
            if let Some(kinds) = all.get_mut(server) {
                Arc::make_mut(&mut kinds[name.kind() as usize]).remove(name.as_str());
            }
            all
        });
        Ok(())
    }

    /// Returns the definition that keeps the resource `uri` from being read, and why: the resource's own definition, or
    /// that of a template that matches it, unless an approved template of the same server matches it, too.
    pub fn hold_of_uri(&self, server: &ServerId, uri: &str) -> Option<(DefinitionName, DefinitionStatus)> {
        let own = DefinitionName::new(DefinitionKind::Resource, uri);
        if let Some(hold) = self.hold(server, &own) {
            return Some((own, hold));
        }
        let found = self.found.load();
        let found = found.get(server).map(|kinds| &kinds[DefinitionKind::Template as usize]);
        let found = found.into_iter().flat_map(|names| names.iter());
        let mut held: Vec<_> =
            found.filter(|(_, found)| found.is_held).map(|(name, _)| name.clone()).collect();
        let mut approved = Vec::new();
        for (name, state) in &*self.pins.known(server, DefinitionKind::Template) {
            match state {
                PinState::Approved(_) if held.contains(name) => {}
                PinState::Approved(_) => approved.push(name.clone()),
                PinState::Asked(_) | PinState::Changed { .. } => held.push(name.clone()),
            }
        }
        let template = hold::template_of(uri, &held, &approved)?;
        let name = DefinitionName::new(DefinitionKind::Template, template);
        self.hold(server, &name).map(|why| (name, why))
    }

    /// Returns all definitions of `kind` that are refused or wait for approval, each with the id that it is pinned for.
    pub fn held(&self, kind: DefinitionKind) -> Vec<(ServerId, DefinitionName)> {
        let mut held = self.pins.waiting(kind);
        let mut found = self.found();
        found.retain(|(_, name, found)| found.is_held && name.kind() == kind);
        held.extend(found.into_iter().map(|(server, name, _)| (server, name)));
        // A definition that waits for approval may be refused as well, and would be listed twice.
        held.sort();
        held.dedup();
        held
    }

    /// Returns what was found in the last lists, each with the id for which the definition is pinned and its name, by this
    /// id, kind and name.
    pub fn found(&self) -> Vec<(ServerId, DefinitionName, DefinitionFindings)> {
        let found = self.found.load();
        let all = found.iter().flat_map(|(server, kinds)| {
            let of_kind = |kind: DefinitionKind| kinds[kind as usize].iter().map(move |it| (kind, it));
            DefinitionKind::ALL.into_iter().flat_map(of_kind).map(|(kind, (name, found))| {
                (server.clone(), DefinitionName::new(kind, name.clone()), found.clone())
            })
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        all
    }

    /// Returns the pins, to approve and to inspect.
    pub fn pins(&self) -> &PinnedDefinitions {
        &self.pins
    }

    /// Examines all definitions of `kind` that `server` lists: of a list in pages, all pages together, except for
    /// resources.
    ///
    /// # Errors
    /// Fails if the pins cannot be stored; no definition of the list may be used then that was not approved before.
    pub fn examine(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Object],
    ) -> Result<Vec<DefinitionAdmission>, StoreError> {
        self.examine_page(server, kind, listed, false, &ConfiguredServer::default())
    }

    /// Examines a list as [`examine`](Self::examine) does, or a further page of it, with the configuration of the server.
    /// The findings in the whole list, or its beginning, replace those of an earlier list.
    ///
    /// # Errors
    /// Fails as [`examine`](Self::examine) does.
    pub(super) fn examine_page(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Object],
        is_continued: bool,
        configured: &ConfiguredServer,
    ) -> Result<Vec<DefinitionAdmission>, StoreError> {
        let judged = self.judge(server, kind, listed, configured);
        self.note_found(server, kind, listed, &judged, is_continued);
        let sound: Vec<_> = judged.iter().filter_map(|judged| judged.admissible().cloned()).collect();
        let holds = if kind.is_pinned() {
            self.pins.observe(server, kind, &sound, configured)?
        } else {
            vec![None; sound.len()]
        };
        let mut decided = holds.into_iter().zip(&sound);
        let admissions =
            judged.iter().map(|judged| match if judged.is_held { None } else { decided.next() } {
                Some((Some(hold), now)) => {
                    DefinitionAdmission { status: Some(hold), digest: Some(now.digest()) }
                }
                _ => DefinitionAdmission { status: judged.status(), digest: None },
            });
        Ok(admissions.collect())
    }

    /// Judges each of the definitions, by itself and beside the others.
    fn judge(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Object],
        configured: &ConfiguredServer,
    ) -> Vec<DefinitionFindings> {
        let verdicts = self.verdicts.of(kind, listed);
        let mut known = HashSet::new();
        let judge = |(listed, verdict): (&Object, Arc<[Finding]>)| {
            let held = |finding: Finding| DefinitionFindings::held(vec![finding], None);
            if let Err(fault) = well_formed(kind, listed) {
                return held(Finding::new("malformed-definition", fault.to_string()));
            }
            if let Some(schema) = listed.get("inputSchema").filter(|_| kind == DefinitionKind::Tool)
                && Schema::unfolds_too_far(&schema)
            {
                let message = "the schema of its arguments unfolds to more than can be checked";
                return held(Finding::new("costly-schema", message));
            }
            let definition = match Definition::read(kind, listed) {
                Ok(definition) => definition,
                Err(error) => {
                    let message = format!("the definition cannot be pinned: {error}");
                    return held(Finding::new("malformed-definition", message));
                }
            };
            let approved = self.pins.recognized(server, &definition);
            let digest = approved.as_ref().unwrap_or(&definition).digest();
            let is_accepted = |finding: &&Finding| {
                let (name, rule) = (definition.name(), finding.rule);
                configured.allows(name, rule)
                    || self.pins.has_remark(server, name, digest, RemarkKind::Accepted(rule.into()))
            };
            let findings: Vec<_> = verdict.iter().filter(|it| !is_accepted(it)).cloned().collect();
            // What a server says of itself stands above all that a model reads, and nothing is lost without it.
            let is_held = |finding: &Finding| kind == DefinitionKind::Text || !is_flag(finding.rule);
            if findings.iter().any(is_held) {
                return DefinitionFindings::held(findings, Some(definition));
            }
            if kind.is_pinned() && !known.insert(definition.name().clone()) {
                let message = format!("the server lists two {kind}s of this name");
                return held(Finding::new("shadowed-name", message));
            }
            DefinitionFindings::usable(findings, definition)
        };
        listed.iter().zip(verdicts).map(judge).collect()
    }

    fn note_found(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Object],
        judged: &[DefinitionFindings],
        is_continued: bool,
    ) {
        // Of two definitions of one name the first may be sound; the second is refused by itself.
        let usable: HashSet<_> =
            judged.iter().filter_map(|judged| Some(judged.admissible()?.name().as_str())).collect();
        let found = listed.iter().zip(judged).enumerate().filter_map(|(place, (listed, judged))| {
            let name = kind.name_at(place, listed);
            let is_other = judged.is_held && usable.contains(&*name);
            let is_found = !judged.findings.is_empty() && !is_other;
            is_found.then(|| (Box::<str>::from(name), judged.clone()))
        });
        let found: Vec<_> = found.collect();
        self.found.rcu(|all| {
            let mut all = HashMap::clone(all);
            let kinds = all.entry(server.clone()).or_default();
            let names = Arc::make_mut(&mut kinds[kind as usize]);
            if !is_continued {
                names.clear();
            }
            let room = MAX_TOOLS.saturating_sub(names.len());
            names.extend(found.iter().take(room).cloned());
            all
        });
    }
}

#[cfg(test)]
mod tests;
