//! Remarks on pinned definitions, and the configuration that the definitions came with.

use std::sync::Arc;

use mgp_types::canonical::Digest;

use super::{ApproveError, PinWrite, PinnedDefinitions, Snapshot};
use crate::StoreError;
use crate::definition::order::are_alike;
use crate::definition::{
    Definition, DefinitionKind, DefinitionName, DefinitionStatus, PinAnnotations, PinState, Remark,
    RemarkKind, ServerId,
};

impl PinnedDefinitions {
    /// Approves `definition` as it is, although `rules` find something in it.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub(in crate::definition) fn accept(
        &self,
        server: &ServerId,
        definition: &Definition,
        rules: impl Iterator<Item = &'static str>,
    ) -> Result<(), StoreError> {
        let _turn = self.turn.lock();
        let (name, digest) = (definition.name(), definition.digest());
        let is_kept = |remark: &Remark| remark.digest == digest && remark.what != RemarkKind::Reconfigured;
        let accepted = rules.map(|rule| Remark { digest, what: RemarkKind::Accepted(rule.into()) });
        self.remark(server, name, is_kept, accepted)?;
        if name.kind().is_pinned() {
            loop {
                let mut writing = PinWrite::new(self, server, name.kind());
                writing.put(PinState::Approved(definition.clone()));
                if writing.save()? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns whether the definition that has `digest` has this remark.
    pub(in crate::definition) fn has_remark(
        &self,
        server: &ServerId,
        name: &DefinitionName,
        digest: Digest,
        what: RemarkKind,
    ) -> bool {
        self.snapshot.load().beside.on(server, name).contains(&Remark { digest, what })
    }

    /// Allows that the approved definition called `name` comes with its lists in any order and with other figures.
    ///
    /// # Errors
    /// Fails if none is approved, or the store cannot be written.
    pub fn allow_any_order(&self, server: &ServerId, name: &DefinitionName) -> Result<(), ApproveError> {
        let _turn = self.turn.lock();
        let state = self.state(server, name);
        let approved = state.as_ref().and_then(PinState::approved).ok_or(ApproveError::NothingPending)?;
        let remark = Remark { digest: approved.digest(), what: RemarkKind::AnyOrder };
        Ok(self.remark(server, name, |_| true, [remark])?)
    }

    /// Returns whether `now` is the `approved` definition of `server`, but for differences that count as none.
    pub(super) fn is_alike(&self, server: &ServerId, approved: &Definition, now: &Definition) -> bool {
        let is_allowed = self.has_remark(server, approved.name(), approved.digest(), RemarkKind::AnyOrder);
        are_alike(approved, now, is_allowed)
    }

    /// Returns the approved definition of `server` that `now` is, but for differences that count as none.
    pub fn recognized(&self, server: &ServerId, now: &Definition) -> Option<Definition> {
        let state = self.state(server, now.name())?;
        state.approved().filter(|approved| self.is_alike(server, approved, now)).cloned()
    }

    /// Returns whether the definition that waits under this name came with a change of its server's configuration.
    pub(crate) fn is_reconfigured(&self, server: &ServerId, name: &DefinitionName) -> bool {
        let is =
            |pending: &Definition| self.has_remark(server, name, pending.digest(), RemarkKind::Reconfigured);
        self.state(server, name).as_ref().and_then(PinState::pending).is_some_and(is)
    }

    /// Notes the configuration with which a list came. If it differs from that of the list before, the definitions that
    /// wait in this list are remarked, and remarks of earlier changes are removed.
    pub(super) fn note_entry<'a>(
        &self,
        server: &ServerId,
        kind: DefinitionKind,
        entry: Digest,
        judged: impl Iterator<Item = (&'a Definition, &'a Option<DefinitionStatus>)>,
    ) -> Result<(), StoreError> {
        let before = self.snapshot.load().beside.entries.get(&(server.clone(), kind)).copied();
        if before == Some(entry) {
            return Ok(());
        }
        let is_older = |remark: &Remark| remark.what != RemarkKind::Reconfigured;
        for name in self.snapshot.load().beside.reconfigured(server, kind) {
            self.remark(server, &name, is_older, [])?;
        }
        if before.is_some() {
            for (definition, verdict) in judged {
                if matches!(verdict, Some(DefinitionStatus::Changed | DefinitionStatus::New)) {
                    let remark = Remark { digest: definition.digest(), what: RemarkKind::Reconfigured };
                    self.remark(server, definition.name(), is_older, [remark])?;
                }
            }
        }
        // This comes last, so that a list that was only half noted is noted again.
        self.store.save_entry(server, kind, entry)?;
        self.change_beside(|beside| {
            beside.entries.insert((server.clone(), kind), entry);
        });
        Ok(())
    }

    /// Keeps those remarks on a definition that `kept` selects, and adds others.
    pub(super) fn remark(
        &self,
        server: &ServerId,
        name: &DefinitionName,
        kept: impl Fn(&Remark) -> bool,
        added: impl IntoIterator<Item = Remark>,
    ) -> Result<(), StoreError> {
        let before = self.snapshot.load().beside.on(server, name).to_vec();
        let mut remarks: Vec<_> = before.iter().filter(|remark| kept(remark)).cloned().collect();
        for remark in added {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        if remarks == before {
            return Ok(());
        }
        self.store.remark(server, name, &remarks)?;
        self.change_beside(|beside| beside.remark(server, name, remarks));
        Ok(())
    }

    fn change_beside(&self, change: impl FnOnce(&mut PinAnnotations)) {
        let mut snapshot = Snapshot::clone(&self.snapshot.load());
        change(Arc::make_mut(&mut snapshot.beside));
        self.snapshot.store(Arc::new(snapshot));
    }
}
