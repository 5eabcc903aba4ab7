//! The transactions that are remembered: a table without a clock, a disk or a lock.

use std::collections::HashMap;
use std::time::Duration;

use mgp_types::canonical::Digest;
use mgp_types::ext::TransactionId;
use mgp_types::ext::transaction::TransactionState;
use mgp_types::mgp::Timestamp;
use mgp_types::{Error, Principal};

use super::event::Beginning;
use super::refusal;
use super::transaction_state::Transaction;
#[cfg(feature = "store")]
use super::{event::TransactionEvent, log::LoggedEvent};

#[derive(Debug, Default)]
pub(super) struct TransactionTable {
    pub(super) transactions: HashMap<Digest, Transaction>,
    /// The transactions of each owner, the oldest first.
    owners: HashMap<Digest, Vec<Digest>>,
}

impl TransactionTable {
    /// Returns the table that the events make. Events of a transaction whose beginning was not stored mean nothing.
    #[cfg(feature = "store")]
    pub(super) fn restore(events: Vec<LoggedEvent>) -> Self {
        let mut table = Self::default();
        for (id, at, event) in events {
            if let TransactionEvent::Begun(beginning) = &event {
                table.insert(id, Transaction::new(beginning.clone(), at));
            }
            if let Some(transaction) = table.transactions.get_mut(&id) {
                transaction.apply(event, at);
            }
        }
        table.transactions.values_mut().for_each(Transaction::interrupt);
        table
    }

    /// Adds a transaction, and returns those that were forgotten for it.
    ///
    /// # Errors
    /// 2021 if there is one with the id, 3001 if the owner has too many.
    pub(super) fn begin(
        &mut self,
        beginning: Beginning,
        now: Timestamp,
    ) -> Result<(Digest, Vec<Digest>), Error> {
        let id = transaction_key(&beginning.owner.0, &beginning.id);
        let owner = owner_key(&beginning.owner.0);
        let mut forgotten = self.forget(owner, now);
        if self.transactions.contains_key(&id) {
            return Err(refusal::taken(&beginning.id));
        }
        let own = self.owners.get(&owner).map_or(&[][..], Vec::as_slice);
        let is_open = |id: &&Digest| self.transactions.get(*id).is_some_and(|one| one.ended_at.is_none());
        if own.iter().filter(is_open).count() >= MAX_OPEN {
            return Err(refusal::too_many("too many transactions are open; commit one, or roll one back"));
        }
        if own.len() >= MAX_OF_OWNER {
            let settled = own.iter().copied().find(|id| {
                self.transactions.get(id).is_some_and(|one| {
                    one.ended_at.is_some() && one.state() != TransactionState::PartiallyRolledBack
                })
            });
            let full = "too many transactions were rolled back in part; an operator has to look at them";
            let settled = settled.ok_or_else(|| refusal::too_many(full))?;
            self.remove(&settled);
            forgotten.push(settled);
        }
        if self.transactions.len() >= MAX_REMEMBERED {
            let owners: Vec<_> = self.owners.keys().copied().collect();
            for owner in owners {
                forgotten.extend(self.forget(owner, now));
            }
            if self.transactions.len() >= MAX_REMEMBERED {
                return Err(refusal::too_many("too many transactions are remembered"));
            }
        }
        self.insert(id, Transaction::new(beginning, now));
        Ok((id, forgotten))
    }

    fn insert(&mut self, id: Digest, transaction: Transaction) {
        let owner = owner_key(&transaction.beginning.owner.0);
        self.owners.entry(owner).or_default().push(id);
        self.transactions.insert(id, transaction);
    }

    /// Forgets what ended a day ago, but for what somebody has to look after.
    fn forget(&mut self, owner: Digest, now: Timestamp) -> Vec<Digest> {
        let is_old = |id: &&Digest| {
            self.transactions.get(*id).is_some_and(|one| {
                one.ended_at.is_some_and(|ended_at| now.since(ended_at) >= REMEMBERED)
                    && one.state() != TransactionState::PartiallyRolledBack
            })
        };
        let old: Vec<_> = self.owners.get(&owner).into_iter().flatten().filter(is_old).copied().collect();
        for id in &old {
            self.remove(id);
        }
        old
    }

    pub(super) fn remove(&mut self, id: &Digest) {
        let Some(transaction) = self.transactions.remove(id) else { return };
        let owner = owner_key(&transaction.beginning.owner.0);
        if let Some(own) = self.owners.get_mut(&owner) {
            own.retain(|other| other != id);
            if own.is_empty() {
                self.owners.remove(&owner);
            }
        }
    }
}

/// Returns the digest that stands for the transaction `id` of `owner`.
pub(super) fn transaction_key(owner: &Principal, id: &TransactionId) -> Digest {
    let parts = ["mgp transaction 1", owner.kind().as_str(), owner.as_str(), id.as_str()];
    Digest::of_parts(parts.map(str::as_bytes))
}

fn owner_key(owner: &Principal) -> Digest {
    Digest::of_parts(["mgp owner 1", owner.kind().as_str(), owner.as_str()].map(str::as_bytes))
}

/// The transactions of an owner that are open at once.
const MAX_OPEN: usize = 16;

/// The transactions of an owner that are remembered.
const MAX_OF_OWNER: usize = 1000;

/// All transactions that are remembered.
const MAX_REMEMBERED: usize = 20_000;

/// The time for which a transaction is remembered after its end.
const REMEMBERED: Duration = Duration::from_hours(24);
