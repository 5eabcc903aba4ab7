//! The options that several commands share: the kernel that a command needs, and the part of a list that it prints.

use clap::Args;
use mgp_types::mgp::ServerId;
use serde::{Deserialize, Serialize};

/// The kernel that a command needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KernelNeed {
    /// The stored data: keys, rules, grants, pins and the audit log.
    State,
    /// The stored data and the configuration.
    Configured,
    /// A kernel that runs already.
    Running,
    /// A kernel with servers. Those that are named are connected, or have failed once, before the work begins.
    Servers(ServersToBegin),
}

impl KernelNeed {
    /// The need for a kernel with servers, none of which has to be connected.
    pub(crate) const ANY_SERVERS: Self = Self::Servers(ServersToBegin::None);

    /// Returns the need for a server, or for all if none is named.
    pub(crate) fn of_server(id: Option<&ServerId>) -> Self {
        Self::Servers(id.map_or(ServersToBegin::All, |id| ServersToBegin::Only(vec![id.clone()])))
    }
}

/// A choice of servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ServersToBegin {
    #[default]
    None,
    All,
    Only(Vec<ServerId>),
}

impl ServersToBegin {
    /// Returns whether the server with this id is one of them.
    pub(crate) fn has(&self, id: &ServerId) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(ids) => ids.contains(id),
        }
    }
}

/// The part of a list that is asked for. Lists are never sent whole: there is no bound on how long they grow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PageRequest {
    /// Skip the first N rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: u64,
    /// List at most N rows
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
}

impl PageRequest {
    /// The largest number of items in a page.
    pub(crate) const MAX_ITEMS: u32 = 1_000;

    /// Returns the page that begins behind `offset` items.
    pub(crate) const fn behind(offset: u64) -> Self {
        Self { offset, limit: None }
    }

    /// Returns the items of this page, and the offset of the next page if there is one.
    pub(crate) fn of<T>(&self, all: impl IntoIterator<Item = T>) -> (Vec<T>, Option<u64>) {
        let limit = self.limit.unwrap_or(Self::MAX_ITEMS).clamp(1, Self::MAX_ITEMS);
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let mut rest = all.into_iter().skip(offset);
        let items: Vec<T> = rest.by_ref().take(limit as usize).collect();
        let next = rest.next().map(|_| self.offset.saturating_add(u64::from(limit)));
        (items, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_comes_in_pages_that_say_where_to_go_on() {
        let page = |offset, limit| PageRequest { offset, limit: Some(limit) }.of(0..5);
        assert_eq!(page(0, 2), (vec![0, 1], Some(2)));
        assert_eq!(page(2, 2), (vec![2, 3], Some(4)));
        assert_eq!(page(4, 2), (vec![4], None));
        assert_eq!(page(9, 2), (vec![], None));
        assert_eq!(page(0, 5), (vec![0, 1, 2, 3, 4], None));
        assert_eq!(PageRequest { offset: u64::MAX, limit: Some(0) }.of(0..5), (vec![], None));
    }
}
