//! The guard of definitions: names, hidden instructions and pins together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::Object;

use super::names::check_name;
use super::scan::scan_definition;
use super::{
    Definition, DefinitionKind, DefinitionName, Diff, Hold, PinState, Pins, ServerId, Verdict, hold,
};
use crate::tool::MAX_TOOLS;
use crate::{Digest, Finding, StoreError};

/// Decides which of the tools, prompts, templates and resources that a server lists may be used.
///
/// A definition is refused for what is in it, and quarantined for not being the one that was approved. What is
/// refused is not pinned: it can be approved only after its server has mended it. Resources are refused for what is in
/// their definitions and never pinned.
#[derive(Debug)]
pub struct DefinitionGuard {
    pins: Pins,
    /// What was refused of each server in its last lists, approved before or not, by the number of its kind.
    refused: ArcSwap<HashMap<ServerId, RefusedByKind>>,
    /// Whether tools are called by the name of their server as well.
    qualified: bool,
}

type RefusedByKind = [Arc<RefusedByName>; DefinitionKind::ALL.len()];

type RefusedByName = HashMap<Box<str>, Finding>;

/// What may be done with what is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Admission {
    /// It may be listed and used.
    Admitted,
    /// It is kept back until its definition is approved.
    Quarantined {
        /// Why.
        reason: QuarantineReason,
        /// The digest to approve.
        digest: Digest,
    },
    /// Its definition must not reach a model.
    Refused {
        /// Why not.
        finding: Finding,
    },
}

/// Why a definition is kept back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuarantineReason {
    /// It was never approved.
    New,
    /// It was approved in another form.
    Changed(Diff),
}

/// What the guard says about a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Examined {
    /// One for each definition of the list, in its order.
    pub admissions: Vec<Admission>,
    /// What is pinned and not in the list.
    pub gone: Vec<DefinitionName>,
}

/// A definition that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The server that lists it.
    pub server: ServerId,
    /// Which it is.
    pub name: DefinitionName,
    /// Why.
    pub finding: Finding,
}

/// Which part of a list is examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Page {
    /// All of it, or its beginning: what an earlier list had counts no more.
    First,
    /// What follows.
    Later,
}

impl DefinitionGuard {
    /// A guard that remembers in `pins`.
    pub fn new(pins: Pins) -> Self {
        Self { pins, refused: ArcSwap::default(), qualified: false }
    }

    /// Lets two servers have tools of one name: models call each by the name of its server as well, so that neither passes
    /// for the other.
    #[must_use]
    pub fn with_qualified_names(mut self) -> Self {
        self.qualified = true;
        self
    }

    /// Whether what is defined under this name may be used: it has an approved definition, unless it is of a kind that is not
    /// pinned, and the last list did not change or poison it.
    pub fn is_admitted(&self, server: &ServerId, kind: DefinitionKind, name: &str) -> bool {
        let refused = self.refused.load();
        !refused.get(server).is_some_and(|kinds| kinds[kind as usize].contains_key(name))
            && (!kind.is_pinned() || self.pins.is_approved(server, kind, name))
    }

    /// Whether it may be used on any connection to `server`.
    pub fn is_admitted_anywhere(&self, server: &ServerId, kind: DefinitionKind, name: &str) -> bool {
        self.pins.holders(server).iter().any(|holder| self.is_admitted(holder, kind, name))
    }

    /// Returns why the definition called `name` must not be used; `None` if it may be.
    pub fn hold(&self, server: &ServerId, name: &DefinitionName) -> Option<Hold> {
        let refused = self.refused.load();
        if let Some(finding) =
            refused.get(server).and_then(|kinds| kinds[name.kind() as usize].get(name.as_str()))
        {
            return Some(Hold::Refused(finding.rule));
        }
        match self.pins.state(server, name) {
            Some(PinState::Approved(_)) => None,
            Some(PinState::Asked(_)) => Some(Hold::New),
            Some(PinState::Changed { .. }) => Some(Hold::Changed),
            None => name.kind().is_pinned().then_some(Hold::Unlisted),
        }
    }

    /// Returns the definition that keeps the resource `uri` from being read, and why: its own, or that of a template that it is
    /// one of, unless an approved template of the same server covers it, too.
    pub fn hold_of_uri(&self, server: &ServerId, uri: &str) -> Option<(DefinitionName, Hold)> {
        let own = DefinitionName::new(DefinitionKind::Resource, uri);
        if let Some(hold) = self.hold(server, &own) {
            return Some((own, hold));
        }
        let refused = self.refused.load();
        let refused = refused.get(server).map(|kinds| &kinds[DefinitionKind::Template as usize]);
        let mut held: Vec<_> = refused.into_iter().flat_map(|names| names.keys().cloned()).collect();
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
        let refused = self.refused.load();
        let refused = refused.iter().flat_map(|(server, kinds)| {
            kinds[kind as usize].keys().map(|name| (server.clone(), DefinitionName::new(kind, name.clone())))
        });
        held.extend(refused);
        held
    }

    /// All that was refused in the last lists, by server, kind and name.
    pub fn refused(&self) -> Vec<Refused> {
        let refused = self.refused.load();
        let all = refused.iter().flat_map(|(server, kinds)| {
            let of_kind = |kind: DefinitionKind| kinds[kind as usize].iter().map(move |it| (kind, it));
            DefinitionKind::ALL.into_iter().flat_map(of_kind).map(|(kind, (name, finding))| Refused {
                server: server.clone(),
                name: DefinitionName::new(kind, name.clone()),
                finding: finding.clone(),
            })
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|one, other| (&one.server, &one.name).cmp(&(&other.server, &other.name)));
        all
    }

    /// The pins, to approve and to look at.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Examines all that `server` lists of `kind`: of a list in pages, all of them together, but for resources.
    ///
    /// # Errors
    /// The pins cannot be stored; nothing of the list may be used then that was not approved before.
    pub fn examine(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Object],
    ) -> Result<Examined, StoreError> {
        self.examine_page(server, kind, listed, Page::First)
    }

    /// Examines a further page of the resources that `server` lists. What was refused on the pages before stays so.
    ///
    /// # Errors
    /// As [`examine`](Self::examine).
    pub fn examine_more_resources(
        &self,
        server: &ServerId,
        listed: &[Object],
    ) -> Result<Examined, StoreError> {
        self.examine_page(server, DefinitionKind::Resource, listed, Page::Later)
    }

    fn examine_page(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Object],
        page: Page,
    ) -> Result<Examined, StoreError> {
        let findings = self.findings(server, kind, listed);
        self.note_refused(server, kind, listed, &findings, page);
        let sound: Vec<_> = findings.iter().filter_map(|it| it.as_ref().ok().cloned()).collect();
        let verdicts = if kind.is_pinned() { self.pins.observe(server, kind, &sound)? } else { Vec::new() };
        let (of_listed, of_gone) = verdicts.split_at(sound.len().min(verdicts.len()));
        let mut decided = of_listed.iter().zip(&sound);
        let admissions = findings
            .into_iter()
            .map(|sound| match sound {
                Err(finding) => Admission::Refused { finding },
                Ok(_) if !kind.is_pinned() => Admission::Admitted,
                Ok(_) => decided.next().map_or_else(
                    || crowded(kind),
                    |((_, verdict), it)| admission(kind, verdict, it.digest()),
                ),
            })
            .collect();
        let present: HashSet<_> = listed.iter().map(|listed| kind.name_in(listed)).collect();
        let gone = of_gone.iter().map(|(name, _)| name).filter(|name| !present.contains(name.as_str()));
        Ok(Examined { admissions, gone: gone.cloned().collect() })
    }

    /// What is wrong with each of the definitions by itself and beside the others; the definition, if nothing is.
    fn findings(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Object],
    ) -> Vec<Result<Definition, Finding>> {
        let names = self.pins.names();
        let mut known = HashSet::new();
        let judge = |listed: &Object| {
            if kind == DefinitionKind::Tool && !self.qualified {
                check_name(server, &kind.name_in(listed), &names)?;
            }
            scan_definition(kind, listed, &|word| names.is_of_another(server, word))?;
            let definition = Definition::read(kind, listed).map_err(|error| {
                Finding::new("malformed-definition", format!("the definition cannot be pinned: {error}"))
            })?;
            if kind.is_pinned() && !known.insert(definition.name().clone()) {
                return Err(Finding::new(
                    "shadowed-name",
                    format!("the server lists two {kind}s of this name"),
                ));
            }
            Ok(definition)
        };
        listed.iter().map(judge).collect()
    }

    fn note_refused(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        listed: &[Object],
        findings: &[Result<Definition, Finding>],
        page: Page,
    ) {
        // Of two of one name the first may be sound; the second is refused by itself.
        let sound: HashSet<_> = findings.iter().flatten().map(|it| it.name().as_str()).collect();
        let refused = listed.iter().zip(findings).filter_map(|(listed, finding)| {
            let name = kind.name_in(listed);
            let is_usable = name.is_empty() || sound.contains(&*name);
            let finding = finding.as_ref().err().filter(|_| !is_usable)?;
            Some((Box::<str>::from(name), finding.clone()))
        });
        let refused: Vec<_> = refused.collect();
        self.refused.rcu(|all| {
            let mut all = HashMap::clone(all);
            let kinds = all.entry(server.clone()).or_default();
            let names = Arc::make_mut(&mut kinds[kind as usize]);
            if page == Page::First {
                names.clear();
            }
            let room = MAX_TOOLS.saturating_sub(names.len());
            names.extend(refused.iter().take(room).cloned());
            all
        });
    }
}

fn admission(kind: DefinitionKind, verdict: &Verdict, digest: Digest) -> Admission {
    match verdict {
        Verdict::Known | Verdict::FirstSeen { approved: true } => Admission::Admitted,
        Verdict::FirstSeen { approved: false } => {
            Admission::Quarantined { reason: QuarantineReason::New, digest }
        }
        Verdict::Changed { diff } => {
            Admission::Quarantined { reason: QuarantineReason::Changed(diff.clone()), digest }
        }
        Verdict::Crowded | Verdict::Gone => crowded(kind),
    }
}

fn crowded(kind: DefinitionKind) -> Admission {
    let rule = match kind {
        DefinitionKind::Tool => "too-many-tools",
        _ => "too-many-definitions",
    };
    Admission::Refused {
        finding: Finding::new(
            rule,
            format!("the server has listed more {kind}s than are pinned of one server"),
        ),
    }
}

#[cfg(test)]
mod tests;
